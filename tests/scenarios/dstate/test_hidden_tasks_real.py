"""A user from whom /proc hides the tasks of others (proc(5), hidepid): nothing about them is called well."""

import codecs
import ctypes
import os
import pickle
from collections.abc import Callable

import pytest

from hostdx.probes.reading.host import Host
from hostdx.probes.system.running.tasks import BlockedTaskScan, explain_hidden_tasks, find_blocked_tasks
from hostdx.probes.types import Absent
from hostdx.scenarios.contract.rule import HostRule
from hostdx.scenarios.dstate.rules import find_tasks_stuck_in_d
from hostdx.scenarios.triage.triage import apply_rule
from tests.needs import ROOT, needs, not_here


def as_nobody(prepare: Callable[[], None]) -> tuple[BlockedTaskScan | Absent, str]:
    """What a process of no rights sees of the tasks after `prepare`, and how the rule about them goes."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            prepare()
            codecs.lookup("ascii")  # loaded from a folder that nobody may not read
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)
            host = Host()
            rule = HostRule("iosched.tasks-in-d", "iosched", "tasks in D now", find_tasks_stuck_in_d)
            event = list(apply_rule(rule, host, lambda: 0.0))[-1]
            os.write(writer, pickle.dumps((find_blocked_tasks(host), getattr(event, "state", ""))))
        except BaseException as error:
            os.write(writer, pickle.dumps((Absent(repr(error)), "")))
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as answer:
        data = answer.read()
    os.waitpid(child, 0)
    loads: tuple[BlockedTaskScan | Absent, str] = pickle.loads(data)
    return loads


def own_proc(options: str) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    for call in (
        lambda: libc.unshare(0x00020000),  # CLONE_NEWNS: nobody else sees it
        lambda: libc.mount(b"none", b"/", None, 1 << 18 | 1 << 14, None),  # MS_PRIVATE | MS_REC
        lambda: libc.mount(b"proc", b"/proc", b"proc", 0, options.encode()),
    ):
        if call() != 0:
            raise OSError(ctypes.get_errno(), "mount")


@pytest.mark.real("cpu")
@needs(ROOT)
@pytest.mark.parametrize("options", ["hidepid=1", "hidepid=2"])
def test_nothing_is_well_where_others_tasks_are_hidden(options: str) -> None:
    if explain_hidden_tasks(Host()) is not None:
        not_here("tasks are hidden from this test as well")
    scan, state = as_nobody(lambda: own_proc(options))
    assert isinstance(scan, BlockedTaskScan) and scan.hidden is not None and state == "unreadable"
    scan, state = as_nobody(lambda: own_proc("hidepid=0"))
    assert (
        isinstance(scan, BlockedTaskScan) and scan.hidden is None and state != "unreadable"
    )  # whoever is in D now
