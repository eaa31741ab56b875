"""Tasks in D from captured trees, hostile names among them, and the priorities that processes ask for."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from hostdx.probes.reading.host import Host
from hostdx.probes.system.running.ioprio import decode_io_priority, read_io_priorities
from hostdx.probes.system.running.tasks import BlockedTaskScan, explain_hidden_tasks, find_blocked_tasks
from hostdx.probes.types import Absent
from tests.every_case import every_case


def stat_line(pid: int, comm: str, state: str, flags: int = 0, threads: int = 1, start: int = 77) -> str:
    rest = ["2" if flags else "1", *["1"] * 49]  # a kernel thread's parent is kthreadd
    rest[5], rest[16], rest[18] = str(flags), str(threads), str(start)
    return f"{pid} ({comm}) {state} {' '.join(rest)}\n"


def process(root: Path, pid: int, comm: str, state: str, wchan: str = "0", **more: int) -> None:
    for folder in (root / "proc" / str(pid), root / "proc" / str(pid) / "task" / str(pid)):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "stat").write_text(stat_line(pid, comm, state, **more))
        (folder / "wchan").write_text(wchan)
        (folder / "status").write_text(f"Name:\t{comm}\nvoluntary_ctxt_switches:\t12\nnonvol: 1\n")


def test_only_tasks_in_d_are_found(tmp_path: Path) -> None:
    process(tmp_path, 1, "init", "S")
    process(tmp_path, 20, "xrootd", "D", "percpu_rwsem_wait")
    process(tmp_path, 30, "kworker/0:1", "I", flags=0x00200000)
    process(tmp_path, 40, "make", "D", "kernel_clone")  # a vfork parent, for a millisecond
    process(tmp_path, 50, "kswapd0", "D", "0", flags=0x00200000)
    scan = find_blocked_tasks(Host(str(tmp_path)))
    assert isinstance(scan, BlockedTaskScan) and scan.processes == 5
    assert [(t.pid, t.comm, t.kernel_thread) for t in scan.tasks] == [
        (20, "xrootd", False),
        (50, "kswapd0", True),
    ]
    assert scan.tasks[0].wchan == "percpu_rwsem_wait" and scan.tasks[0].switches == 12
    assert isinstance(scan.tasks[1].wchan, Absent)  # "0" is no channel


@every_case(
    ("value", "nice", "expected"),
    [
        (0, 0, None),
        (4, 0, None),
        ((2 << 13) | 4, 0, None),
        ((2 << 13) | 0, -20, None),  # what follows the nice value was not asked for
        ((2 << 13) | 0, 0, ("best-effort", 0)),
        ((1 << 13) | 2, 0, ("real-time", 2)),
        (3 << 13, 0, ("idle", 0)),
    ],
)
def test_priorities_are_decoded(value: int, nice: int, expected: tuple[str, int] | None) -> None:
    assert decode_io_priority(value, nice) == expected


@pytest.mark.real("cpu")
def test_a_process_of_ours_with_idle_priority_is_found() -> None:
    code = (
        "import sys, psutil; psutil.Process().ionice(psutil.IOPRIO_CLASS_IDLE); "
        "print(1, flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=dict(os.environ)
    ) as child:
        assert child.stdout is not None and child.stdin is not None
        child.stdout.readline()
        priorities = read_io_priorities(Host())
        child.stdin.close()
    assert not isinstance(priorities, Absent)
    assert (child.pid, "idle") in {(p.pid, p.kind) for p in priorities}


class NamespaceHost(Host):
    """A live host whose /proc shows what is given: the pid namespace, and whether process 1 can be read."""

    def __init__(self, namespace: str | Absent, first: str | Absent) -> None:
        super().__init__()
        self.answers: dict[str, str | Absent] = {"/proc/self/ns/pid": namespace, "/proc/1/stat": first}

    def read_link(self, path: str) -> str | Absent:
        return self.answers[path] if path in self.answers else super().read_link(path)

    def read_file_text(self, path: str, *args: int, **more: bool) -> str | Absent:
        return self.answers[path] if path in self.answers else super().read_file_text(path, *args, **more)


MACHINE, CONTAINER = "pid:[4026531836]", "pid:[4026532281]"
NO = Absent("no such file")


@every_case(
    ("namespace", "first", "kind"),
    [
        (MACHINE, stat_line(1, "systemd", "S"), ""),
        (NO, stat_line(1, "init", "S"), ""),  # a kernel without pid namespaces
        (MACHINE, NO, "permission"),
        (MACHINE, Absent("no", "permission"), "permission"),
        (CONTAINER, stat_line(1, "sh", "S"), "container"),
    ],
)
def test_whether_other_users_tasks_are_hidden(
    namespace: str | Absent, first: str | Absent, kind: str
) -> None:
    host = NamespaceHost(namespace, first)
    hidden = explain_hidden_tasks(host)
    assert (hidden.kind if hidden is not None else "") == kind
    host.close()
