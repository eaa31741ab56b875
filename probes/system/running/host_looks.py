"""What the host did between two looks: CPUs, pressure, paging, disks, cards, NFS, and the processes that did most.

One look reads seven small files, a file a Lustre server, the first CPUs' heat counters, and /proc/PID/stat and io of
each process (14 microseconds each).
"""

import time
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import NamedTuple

import msgspec

from hostdx.probes.number_text import parse_unsigned
from hostdx.probes.reading.host import Host
from hostdx.probes.system.disk.diskstats import DiskCounters
from hostdx.probes.system.processor.throttle import throttle_reader
from hostdx.probes.system.pulse import HostCounters, read_host_counters
from hostdx.probes.system.running.cgroup import control_group_of
from hostdx.probes.system.running.culprit import (
    MIN_BYTES_PER_S,
    MIN_CPUS,
    BusyProcess,
    Resource,
    rank_commands,
)
from hostdx.probes.system.running.processes import (
    Process,
    ProcessTable,
    is_same_process,
    read_process_table,
    user_of,
)
from hostdx.probes.system.running.tasks import find_blocked_tasks, read_task_stack
from hostdx.probes.types import Absent

MAX_GROUP = 256  # characters of a control group that a look keeps
MAX_COMMANDS = 8  # of each resource, a look
MAX_USERS = 3  # of each command
MAX_WAITING, MAX_FUNCTIONS = 20, 6
MAX_SERVERS = 256  # of Lustre: each costs a read of some ten microseconds
_LUSTRE_STATS = ("/proc/fs/lustre/[mo][ds]c/*/stats", "/sys/kernel/debug/lustre/[mo][ds]c/*/stats")
_MIN_RATES: dict[Resource, float] = {"cpu": MIN_CPUS, "io": MIN_BYTES_PER_S, "faults": 1.0}
_PAGING = {  # by the beginning of the name: Linux 3.10 counts scans by zone, 4.8 and later stalls by zone
    "pswpin": "pages swapped in",
    "pswpout": "pages swapped out",
    "allocstall": "allocation stalls",
    "pgscan_direct": "pages scanned directly",
}
_NOT_PAGING = "pgscan_direct_throttle"  # how often, not how many pages
_CARD_COUNTERS = {  # place among the numbers of a line of /proc/net/dev (net/core/net-procfs.c)
    0: "received bytes", 2: "receive errors", 3: "receive drops", 8: "sent bytes", 10: "send errors", 11: "send drops",
}  # fmt: skip


class ProcessUse(msgspec.Struct, frozen=True, array_like=True):
    """What all processes of a name and a user did a second between two looks: CPUs (1.0 is one whole CPU), bytes read
    and written, major faults (pages that they waited for).

    `pid`, `group`: of the one that did most. `user` is "" if it is not known, and for all but
    the MAX_USERS who used most.
    """

    name: str
    pid: int
    user: str
    group: str
    cpus: float
    io_rate: float
    major_faults: float = 0.0


class HostLook(msgspec.Struct, frozen=True, kw_only=True, tag="look"):
    """`values`: by subject and metric as in `incidents/watched.toml`, for the `seconds` before.

    `wall_s` is of the epoch, `boot_s` of CLOCK_BOOTTIME. `total`: CPUs, bytes and major faults a second of all
    processes; `processes`: those that did most.
    """

    wall_s: float
    boot_s: float
    seconds: float
    cpus: int
    values: dict[str, dict[str, float]]
    total: tuple[float, ...] = (0.0, 0.0)
    processes: tuple[ProcessUse, ...] = ()


class LookState(NamedTuple):
    """The counters of one moment."""

    wall_s: float
    boot_s: float
    host: HostCounters
    paging: dict[str, int]
    card_counters: dict[str, tuple[int, ...]]
    nfs: tuple[int, int] | None
    lustre: tuple[int, int] | None
    heat_slowdowns: int | None
    processes: ProcessTable


def read_look_state(host: Host, *, waiting: bool = True) -> LookState:
    """Never raises; what cannot be read is missing. `waiting`: as in `read_process_table`."""
    boot_s = time.clock_gettime(time.CLOCK_BOOTTIME)
    return LookState(
        wall_s=time.time(),
        boot_s=boot_s,
        host=read_host_counters(host, boot_s),
        paging=_read_paging_counters(host),
        card_counters=_read_card_counters(host),
        nfs=_read_nfs_calls_and_resends(host),
        lustre=_read_lustre_requests_and_wait_us(host),
        heat_slowdowns=throttle_reader(host).read_heat_slowdowns(),
        processes=read_process_table(host, io=True, waiting=waiting),
    )


def _read_lines(host: Host, path: str) -> list[str]:
    text = host.read_file_text(path, 1 << 20)
    return [] if isinstance(text, Absent) else text.splitlines()


def _read_paging_counters(host: Host) -> dict[str, int]:
    counters: dict[str, int] = {}
    for line in _read_lines(host, "/proc/vmstat"):
        name, _, number = line.partition(" ")
        metric = next((m for prefix, m in _PAGING.items() if name.startswith(prefix)), None)
        if metric and name != _NOT_PAGING and (count := parse_unsigned(number)) is not None:
            counters[metric] = counters.get(metric, 0) + count
    return counters


def _read_card_counters(host: Host) -> dict[str, tuple[int, ...]]:
    """Return the columns of /proc/net/dev by network card; the loopback is no card."""
    cards: dict[str, tuple[int, ...]] = {}
    for line in _read_lines(host, "/proc/net/dev")[2:]:
        name, _, rest = line.partition(":")
        numbers = [parse_unsigned(word) for word in rest.split()]
        if len(numbers) >= 16 and None not in numbers and name.strip() != "lo":
            cards[name.strip()] = tuple(number or 0 for number in numbers)
    return cards


def _read_nfs_calls_and_resends(host: Host) -> tuple[int, int] | None:
    """Calls and calls sent again of the NFS client (net/sunrpc/stats.c: `rpc CALLS RETRANS REFRESHES`)."""
    for line in _read_lines(host, "/proc/net/rpc/nfs"):
        words = line.split()
        if words[:1] == ["rpc"] and len(words) > 2:
            calls, again = parse_unsigned(words[1]), parse_unsigned(words[2])
            return (calls, again) if calls is not None and again is not None else None
    return None


def _read_lustre_requests_and_wait_us(host: Host) -> tuple[int, int] | None:
    """Requests that were answered, and the microseconds that they waited, of all servers; None without Lustre.

    `req_waittime 1885503 samples [usec] 32 4826358 908745020 …`: least, most and sum (a client's stats of a server).
    """
    requests = waited_us = 0
    paths = [path for pattern in _LUSTRE_STATS for path in host.glob_paths(pattern)]
    for path in paths[:MAX_SERVERS]:
        line = next((line for line in _read_lines(host, path) if line.startswith("req_waittime ")), "")
        words = line.split()
        if len(words) > 6 and words[3] == "[usec]":
            count, total = parse_unsigned(words[1]), parse_unsigned(words[6])
            requests += count or 0
            waited_us += total or 0
    return (requests, waited_us) if requests else None


def look_between_states(host: Host, before: LookState, after: LookState) -> HostLook:
    """Return what happened in between. A counter that ran backwards is nothing."""
    seconds = max(after.boot_s - before.boot_s, 1e-3)
    values: dict[str, dict[str, float]] = {}
    for subject, metric, value in _subject_metric_values(host, before, after, seconds):
        values.setdefault(subject, {})[metric] = round(value, 6)
    total, processes = _totals_and_uses(host, before.processes, after.processes)
    return HostLook(
        wall_s=round(after.wall_s, 3), boot_s=round(after.boot_s, 3), seconds=round(seconds, 3), cpus=after.host.cpus,
        values=values, total=total, processes=processes,
    )  # fmt: skip


def _subject_metric_values(
    host: Host, before: LookState, after: LookState, seconds: float
) -> Iterator[tuple[str, str, float]]:
    yield from _cpu_values(before.host, after.host)
    for resource, name in (("cpu", "CPU"), ("io", "I/O"), ("memory", "memory")):
        was, now = (getattr(counters, f"psi_{resource}") for counters in (before.host, after.host))
        if was is not None and now is not None:
            yield "host", f"{name} pressure", min(1.0, max(0.0, now - was) / seconds)
    if after.host.running is not None:
        yield "host", "run queue", float(max(0, after.host.running - 1))
    if after.host.blocked is not None:
        yield "host", "blocked tasks", float(after.host.blocked)
    yield "host", "stuck tasks", float(_count_stuck_processes(before.processes, after.processes))
    for metric, count in after.paging.items():
        if metric in before.paging:
            yield "host", metric, max(0, count - before.paging[metric]) / seconds
    if before.nfs is not None and after.nfs is not None:
        yield "host", "NFS calls", max(0, after.nfs[0] - before.nfs[0]) / seconds
        yield "host", "NFS calls sent again", max(0, after.nfs[1] - before.nfs[1]) / seconds
    if before.lustre is not None and after.lustre is not None and after.lustre[0] > before.lustre[0]:
        requests, waited_us = (now - was for was, now in zip(before.lustre, after.lustre, strict=True))
        yield "host", "Lustre request time", max(0, waited_us) / requests / 1e6
    if (
        before.heat_slowdowns is not None
        and after.heat_slowdowns is not None
        and after.heat_slowdowns > before.heat_slowdowns
    ):
        yield "CPU", "slowed by heat", (after.heat_slowdowns - before.heat_slowdowns) / seconds
    for card, numbers in after.card_counters.items():
        for place, metric in _CARD_COUNTERS.items() if card in before.card_counters else ():
            change = max(0, numbers[place] - before.card_counters[card][place]) / seconds
            if change:
                yield f"net:{card}", metric, change
    names = host.list_names("/sys/block")
    for name, counters in after.host.disks.items():
        was_counters = before.host.disks.get(name)
        # partitions are not there
        if was_counters is not None and (isinstance(names, Absent) or name in names):
            yield from _disk_values(name, was_counters, counters, seconds)


def _count_stuck_processes(before: ProcessTable, after: ProcessTable) -> int:
    """Processes that wait in the kernel in both looks, and in between used no CPU time and moved no byte.

    A log on a slow disk uses less than a tick of CPU time for its writes: it is slow, not stuck.
    Pressure and `blocked tasks` count only waits for I/O: a frozen file system or a dead file server shows in neither.
    """
    return sum(
        process.state == "D"
        and process.own_s == was.own_s
        and process.io == was.io
        and not process.kernel_thread
        for pid, process in after.processes.items()
        if (was := before.processes.get(pid)) is not None
        and was.state == "D"
        and is_same_process(was, process)
    )


def _cpu_values(before: HostCounters, after: HostCounters) -> Iterator[tuple[str, str, float]]:
    if before.cpu is None or after.cpu is None:
        return
    used = after.cpu.subtract_earlier(before.cpu)
    if used.total_s > 0:
        for metric in ("user", "system", "idle", "iowait", "steal"):
            yield "CPU", f"{metric} share", getattr(used, f"{metric}_s") / used.total_s


def _disk_values(
    name: str, before: DiskCounters, after: DiskCounters, seconds: float
) -> Iterator[tuple[str, str, float]]:
    operations = after.total_operations - before.total_operations
    in_flight = after.in_flight > 0
    if operations <= 0 and not in_flight:
        return
    yield f"disk:{name}", "utilisation", min(1.0, max(0.0, after.busy_s - before.busy_s) / seconds)
    yield f"disk:{name}", "read rate", max(0, after.read_bytes - before.read_bytes) / seconds
    yield f"disk:{name}", "write rate", max(0, after.write_bytes - before.write_bytes) / seconds
    if operations > 0:
        yield f"disk:{name}", "latency", max(0.0, after.waited_s - before.waited_s) / operations


def _totals_and_uses(
    host: Host, before: ProcessTable, after: ProcessTable
) -> tuple[tuple[float, ...], tuple[ProcessUse, ...]]:
    """A child that was reaped in between counts for its parent, without what it had done before."""
    workers = frozenset(pid for pid, p in after.processes.items() if _is_kernel_worker(p))
    totals, rates = [0.0] * len(_MIN_RATES), dict[tuple[str, str], list[float]]()
    pids = dict[tuple[str, str], int]()
    owner: Callable[[int], str] = cache(user_of) if host.live else lambda _pid: ""
    for place, (resource, least) in enumerate(_MIN_RATES.items()):
        commands = rank_commands(before, after, resource, workers if resource == "io" else frozenset())
        totals[place] = sum(process.rate for processes in commands for process in processes)
        for processes in commands[:MAX_COMMANDS]:
            if sum(process.rate for process in processes) <= least:
                continue
            for user, own in group_by_user(processes, owner).items():
                key = processes[0].name[:64], user
                pids.setdefault(key, max(own, key=lambda process: process.rate).pid)
                rates.setdefault(key, [0.0] * len(_MIN_RATES))[place] += sum(p.rate for p in own)
    uses = (
        ProcessUse(
            name,
            pids[name, user],
            user,
            control_group_of(host, pids[name, user])[:MAX_GROUP],
            round(cpus, 4),
            round(io),
            round(faults, 1),
        )
        for (name, user), (cpus, io, faults) in rates.items()
    )
    return tuple(round(total, 4) for total in totals), tuple(uses)


def group_by_user(
    processes: Sequence[BusyProcess], owner: Callable[[int], str]
) -> dict[str, list[BusyProcess]]:
    """Return the processes of a command by the user that `owner` returns for a process id; those of all but the
    MAX_USERS who used most are under "".
    """
    groups: dict[str, list[BusyProcess]] = {}
    for process in processes:
        groups.setdefault(owner(process.pid), []).append(process)
    ranked = sorted(groups, key=lambda user: -sum(process.rate for process in groups[user]))
    others = [process for user in ranked[MAX_USERS:] for process in groups.pop(user)]
    if others:
        groups.setdefault("", []).extend(others)
    return groups


def _is_kernel_worker(process: Process) -> bool:
    """True for the kernel's workers: what one of them moves for a loop device counts for the process that asked too."""
    return process.kernel_thread and process.name.startswith(("kworker/", "loop"))


class BlockedTasksLook(msgspec.Struct, frozen=True, kw_only=True, tag="close"):
    """The tasks in uninterruptible sleep at one moment: name, process id, kernel functions with the innermost first."""

    wall_s: float
    boot_s: float
    waiting: tuple[tuple[str, int, tuple[str, ...]], ...]


def look_at_blocked_tasks(host: Host) -> BlockedTasksLook:
    """The kernel functions need root; without it they are empty."""
    scan = find_blocked_tasks(host)
    tasks = () if isinstance(scan, Absent) else scan.tasks[:MAX_WAITING]
    waiting = []
    for task in tasks:
        stack = read_task_stack(host, task)
        functions = () if isinstance(stack, Absent) else stack[:MAX_FUNCTIONS]
        waiting.append((task.comm[:64], task.pid, functions))
    return BlockedTasksLook(
        wall_s=round(time.time(), 3),
        boot_s=round(time.clock_gettime(time.CLOCK_BOOTTIME), 3),
        waiting=tuple(waiting),
    )
