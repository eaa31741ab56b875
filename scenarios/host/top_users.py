"""Who uses most of the CPUs, the disks or the memory right now: the processes to be named beside a pressure."""

import os
import time
from typing import Literal, TypeAlias

import msgspec

from probes import units
from probes.host import Host
from probes.number_text import whole
from probes.system.running.culprit import ranking
from probes.system.running.processes import ProcessTable, look, own_family, owner_of
from probes.system.running.tasks import tasks_hidden
from probes.types import Absent
from scenarios.finding import Remedy
from scenarios.rules.texts import texts

MOST = 3
BETWEEN_S = 0.25  # between two looks: triage takes about a second
LEAST_SHARE = 0.02  # of the memory


class User(msgspec.Struct, frozen=True):
    """`words`: what it uses, with its unit."""

    pid: int
    name: str
    owner: str
    words: str
    kernel_thread: bool = False


def top_users(host: Host, kind: str) -> tuple[User, ...]:
    """The processes outside our own family that use most, at most MOST; `kind`: cpu, io or memory."""
    if kind == "memory":
        return _by_memory(host)
    before, after = host.once(_two_looks)
    found = ranking(before, after, "cpu" if kind == "cpu" else "io", frozenset(own_family(host)))
    return tuple(
        User(
            one.pid,
            one.name,
            owner_of(one.pid) or "no longer known",
            f"{one.rate:.1f} CPUs over {BETWEEN_S:g} s"
            if kind == "cpu"
            else f"{units.rate(one.rate)} read and written over {BETWEEN_S:g} s",
            after.processes[one.pid].kernel_thread,
        )
        for one in found[:MOST]
    )


def last_look(host: Host) -> ProcessTable:
    """The processes as they were seen for it."""
    return host.once(_two_looks)[1]


def _two_looks(host: Host) -> tuple[ProcessTable, ProcessTable]:
    before = look(host, io=True)
    time.sleep(BETWEEN_S)
    return before, look(host, io=True, waiting=not before.hung)


def _by_memory(host: Host) -> tuple[User, ...]:
    """Resident pages, /proc/PID/statm field 2 (proc_pid_statm(5))."""
    page = os.sysconf("SC_PAGE_SIZE")
    all_pages = os.sysconf("SC_PHYS_PAGES")
    sizes: list[tuple[int, int, str]] = []
    for pid, process in look(host, io=False).processes.items():
        text = host.text(f"/proc/{pid}/statm", 4096)
        fields = [] if isinstance(text, Absent) else text.split()
        resident = whole(fields[1]) if len(fields) > 1 else None
        if resident is not None and resident > LEAST_SHARE * all_pages:
            sizes.append((resident, pid, process.name))
    return tuple(
        User(pid, name, owner_of(pid) or "no longer known", f"{units.size(pages * page)} of memory")
        for pages, pid, name in sorted(sizes, reverse=True)[:MOST]
    )


SAYS = texts("host")

Cause: TypeAlias = Literal["namespace", "hidden", "unreadable", "kept", "quiet"]


class Unseen(msgspec.Struct, frozen=True):
    """`quiet`: all can be seen, and none uses much at this moment."""

    cause: Cause

    @property
    def sentence(self) -> str:
        return SAYS.text(self.cause)

    @property
    def remedy(self) -> Remedy:
        match self.cause:
            case "namespace":
                return SAYS.remedy("namespace")
            case "hidden" | "unreadable":
                return SAYS.remedy("as-root")
        return SAYS.remedy("look-on")


def unseen(host: Host, kind: str, seen: ProcessTable) -> Unseen:
    return Unseen(cause(tasks_hidden(host), kind, seen.unreadable, root=os.geteuid() == 0))


def cause(hidden: Absent | None, kind: str, unreadable: int, *, root: bool) -> Cause:
    """`hidden`: why other tasks may not show; `unreadable`: processes whose I/O we may not read."""
    if hidden is not None:
        return "namespace" if hidden.kind == "container" else "hidden"
    if kind == "io" and unreadable:
        return "kept" if root else "unreadable"
    return "quiet"
