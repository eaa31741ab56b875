"""Who uses the CPUs or the memory that others wait for, without waiting: by what each process used since it started.

A process is named only where it surely uses a quarter or more of what is used. Who comes and goes, and whose I/O it is,
takes two looks some seconds apart: `cpuwatch` and `checkup` take them, a triage does not wait.
"""

import os
from typing import Literal, TypeAlias

import msgspec

from hostdx.probes import units
from hostdx.probes.number_text import parse_unsigned
from hostdx.probes.reading.host import Host
from hostdx.probes.system.processor.cpu_times import TICKS_PER_S
from hostdx.probes.system.running.culprit import NAMED_SHARE
from hostdx.probes.system.running.processes import (
    ProcessTable,
    own_process_family,
    read_process_table,
    user_of,
)
from hostdx.probes.system.running.tasks import explain_hidden_tasks
from hostdx.probes.types import Absent
from hostdx.scenarios.contract.finding import Remedy
from hostdx.scenarios.triage.rules.texts import finding_texts

MAX_USERS = 3
MIN_LIFE_S = 2.0  # a younger process has no figure yet


class TopUser(msgspec.Struct, frozen=True):
    """`used`: how much, with its unit; `since`: over which time, where it is an average."""

    pid: int
    name: str
    owner: str
    used: str
    since: str = ""
    kernel_thread: bool = False
    start_ticks: int = 0


def top_users(host: Host, kind: str) -> tuple[TopUser, ...]:
    """The processes outside our own family that use most, at most MOST; `kind`: cpu, io (nobody) or memory."""
    if kind == "memory":
        return _heavy_memory_users(host)
    return _heavy_cpu_users(host) if kind == "cpu" else ()


def process_table_of_look(host: Host) -> ProcessTable:
    """The processes as they were seen for it."""
    return host.compute_once(_processes_with_io)


def _processes_with_io(host: Host) -> ProcessTable:
    return read_process_table(host, io=True)


def _heavy_cpu_users(host: Host) -> tuple[TopUser, ...]:
    """Over its own life a process had at most all CPUs: a quarter of them is a quarter of what others used, or more."""
    table = process_table_of_look(host)
    our_pids = own_process_family(host)
    heavy_processes = []
    for pid, process in table.processes.items():
        life_s = table.uptime_s - process.start_ticks / TICKS_PER_S
        if (
            pid not in our_pids
            and life_s >= MIN_LIFE_S
            and process.own_s >= NAMED_SHARE * table.cpus * life_s > 0
        ):
            heavy_processes.append((process.own_s / life_s, life_s, process))
    return tuple(
        TopUser(
            process.pid,
            process.name,
            user_of(process.pid) or "no longer known",
            f"{rate:.1f} of {table.cpus} CPUs",
            f" on average since it started {units.format_duration(life_s)} ago",
            process.kernel_thread,
            process.start_ticks,
        )
        for rate, life_s, process in sorted(heavy_processes, key=lambda each: -each[0])[:MAX_USERS]
    )


def _heavy_memory_users(host: Host) -> tuple[TopUser, ...]:
    """Resident pages, /proc/PID/statm field 2 (proc_pid_statm(5)); from a quarter of all memory on."""
    page = os.sysconf("SC_PAGE_SIZE")
    all_pages = os.sysconf("SC_PHYS_PAGES")
    sizes: list[tuple[int, int, str]] = []
    for pid, process in read_process_table(host, io=False).processes.items():
        text = host.read_file_text(f"/proc/{pid}/statm", 4096)
        fields = [] if isinstance(text, Absent) else text.split()
        resident = parse_unsigned(fields[1]) if len(fields) > 1 else None
        if resident is not None and resident >= NAMED_SHARE * all_pages:
            sizes.append((resident, pid, process.name))
    return tuple(
        TopUser(pid, name, user_of(pid) or "no longer known", f"{units.format_size(pages * page)} of memory")
        for pages, pid, name in sorted(sizes, reverse=True)[:MAX_USERS]
    )


SAYS = finding_texts("triage/host")

Cause: TypeAlias = Literal["namespace", "hidden", "unreadable", "quiet"]


class NobodyNamed(msgspec.Struct, frozen=True):
    """`quiet`: all can be seen, and none is named by what it used since it started."""

    cause: Cause
    kind: str = "cpu"

    @property
    def reason_sentence(self) -> str:
        return SAYS.text(f"quiet-{self.kind}" if self.cause == "quiet" else self.cause)

    @property
    def next_remedy(self) -> Remedy:
        match self.cause:
            case "namespace":
                return SAYS.remedy("namespace")
            case "hidden" | "unreadable":
                return SAYS.remedy("as-root")
        return SAYS.remedy(f"look-on-{self.kind}")


def reason_nobody_is_named(host: Host, kind: str, table: ProcessTable) -> NobodyNamed:
    return NobodyNamed(
        unnamed_cause(explain_hidden_tasks(host), kind, table.unreadable, root=os.geteuid() == 0), kind
    )


def unnamed_cause(hidden: Absent | None, kind: str, unreadable: int, *, root: bool) -> Cause:
    """`hidden`: why other tasks may not show; `unreadable`: processes whose I/O we may not read."""
    if hidden is not None:
        return "namespace" if hidden.kind == "container" else "hidden"
    return "unreadable" if kind == "io" and unreadable and not root else "quiet"
