"""Who used most of the CPUs or the disks between two looks at the processes.

wait(2) adds the whole life of a child to its parent's account, hours of CPU in the moment of the reaping: what such a
child had used by the first look is taken off again. Children that were born and reaped in between count for their
parent: nobody else is there to be named.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Literal

import msgspec

from hostdx.probes.system.processor.cpu_times import TICKS_PER_S
from hostdx.probes.system.running.processes import Process, ProcessTable, is_same_process

Resource = Literal["cpu", "io", "faults"]  # faults: major ones, of its own threads alone

MAX_IDS = 4  # of processes of one name
NAMED_SHARE = 0.25  # of what all others use together: who uses less is not the cause
MIN_CPUS = 0.05
MIN_BYTES_PER_S = 65536.0
ROUNDED_S = 0.03  # both parts of a child's time, at both looks: whole ticks of 10 ms
# Children of two CPUs' worth may seem to have used a little more than two: ticks and uptime are rounded to 10 ms, and a
# look takes its time. What lies beyond that was used before, by a child that was reaped while a look was under way.
MORE_THAN_ALL_CPUS = 1.25


def label_processes(name: str, pids: Sequence[int]) -> str:
    """Return `python [71, 72]` for processes of one name, those that use most first; of more than four how many."""
    ids = ", ".join(map(str, pids[:MAX_IDS]))
    return f"{name} [{ids}]" if len(pids) <= MAX_IDS else f"{name} ({len(pids)} processes, most of it: {ids})"


class BusyProcess(msgspec.Struct, frozen=True):
    """`rate`: CPUs (1.0 is one whole CPU) or bytes a second, between the two looks. `start_ticks`: of `Process`."""

    pid: int
    name: str
    rate: float
    start_ticks: int = 0

    @property
    def label(self) -> str:
        return f"{self.name} [{self.pid}]"


def find_dominant_process(
    before: ProcessTable,
    after: ProcessTable,
    resource: Resource,
    own_pids: frozenset[int],
    raised_floor: float | None = None,
) -> BusyProcess | None:
    """The process outside `own_pids` that used most in between, its short-lived children included.

    One of the kernel's own threads, which may work for us, only where no other did. None where nobody used
    `raised_floor` (a
    twentieth of a CPU, or 64 KiB/s) and a quarter of what all others used, or where it cannot be read.
    """
    everybody = list(measure_process_use(before, after, resource, own_pids))
    people = [user for user in everybody if not after.processes[user.pid].kernel_thread]
    asked = people if _rank_above_floor(people, resource, raised_floor) else everybody
    busiest = next(iter(_rank_above_floor(asked, resource, raised_floor)), None)
    # Of all that was used, also by those who used little each: three hundred of them are not one daemon's fault.
    used = sum(user.rate for user in asked)
    return busiest if busiest is not None and busiest.rate >= NAMED_SHARE * used else None


def used_quarter_of_total(
    before: ProcessTable,
    after: ProcessTable,
    resource: Resource,
    own_pids: frozenset[int],
    process: BusyProcess,
) -> bool:
    """Return whether the process used a quarter of what all outside `own_pids` used in between."""
    rates = {
        (user.pid, user.start_ticks): user.rate
        for user in measure_process_use(before, after, resource, own_pids)
    }
    return rates.get((process.pid, process.start_ticks), 0.0) >= NAMED_SHARE * sum(rates.values()) > 0


_MANAGERS = frozenset(("systemd", "init", "containerd-shim", "conmon", "dockerd", "sshd"))


class BusyGroup(msgspec.Struct, frozen=True):
    """Processes that share `key`; `rate`: CPUs that they used together."""

    key: str
    rate: float
    processes: int


def find_dominant_family(
    before: ProcessTable, after: ProcessTable, own_pids: frozenset[int]
) -> BusyProcess | None:
    """The process whose descendants used most CPU time together with it, where no process used a quarter alone.

    The one farthest from process 1 of those that used a quarter of what all others used: a `make` of 300 compilers, not
    the shell that started it. `rate` is of all of them. None where they are children of process 1 (daemons, orphans).
    """
    parents = {pid: process.parent for pid, process in after.processes.items()}
    names = {pid: process.name for pid, process in after.processes.items()}
    rates, total = _groups_and_total_by(
        before, after, own_pids, lambda pid: [str(each) for each in _self_and_ancestors(pid, parents, names)]
    )
    enough = [int(key) for key, group in rates.items() if _is_enough_to_name(group, total)]
    outer = {each for pid in enough for each in _self_and_ancestors(pid, parents, names) if each != pid}
    inner = [pid for pid in enough if pid not in outer and pid not in own_pids and pid in after.processes]
    if not inner:
        return None
    pid = max(inner, key=lambda each: rates[str(each)].rate)
    process = after.processes[pid]
    return BusyProcess(pid, process.name, rates[str(pid)].rate, process.start_ticks)


def find_dominant_group(
    before: ProcessTable,
    after: ProcessTable,
    own_pids: frozenset[int],
    key_of: Callable[[int], str],
) -> BusyGroup | None:
    """The processes that share what `key_of` returns of each (its user, its control group; "" of none) and used most
    CPU time together. None where no such group used a quarter of what all others used.
    """
    rates, total = _groups_and_total_by(before, after, own_pids, lambda pid: [key_of(pid)])
    largest = max((group for key, group in rates.items() if key), key=lambda group: group.rate, default=None)
    return largest if largest is not None and _is_enough_to_name(largest, total) else None


def _is_enough_to_name(group: BusyGroup, total: float) -> bool:
    return group.rate >= max(MIN_CPUS, NAMED_SHARE * total)


def _groups_and_total_by(
    before: ProcessTable,
    after: ProcessTable,
    own_pids: frozenset[int],
    keys_of: Callable[[int], list[str]],
) -> tuple[dict[str, BusyGroup], float]:
    """By each key of a process what those with it used together, and what all used. Without the kernel's threads."""
    groups: dict[str, BusyGroup] = {}
    total = 0.0
    for user in measure_process_use(before, after, "cpu", own_pids):
        if after.processes[user.pid].kernel_thread:
            continue
        total += user.rate
        for key in keys_of(user.pid):
            group = groups.get(key, BusyGroup(key, 0.0, 0))
            groups[key] = BusyGroup(key, group.rate + user.rate, group.processes + 1)
    return groups, total


def _self_and_ancestors(pid: int, parents: dict[int, int], names: dict[int, str]) -> Iterator[int]:
    """The process and those above it, up to what starts everybody's: process 1, a service manager, a container's."""
    visited_pids: set[int] = set()
    while pid > 2 and pid not in visited_pids and names.get(pid) not in _MANAGERS:
        visited_pids.add(pid)
        yield pid
        pid = parents.get(pid, 0)


def rank_processes(
    before: ProcessTable,
    after: ProcessTable,
    resource: Resource,
    own_pids: frozenset[int],
    raised_floor: float | None = None,
) -> list[BusyProcess]:
    """As `find_dominant_process`, all that used `raised_floor`: who used most first."""
    return _rank_above_floor(measure_process_use(before, after, resource, own_pids), resource, raised_floor)


def _rank_above_floor(
    users: Iterable[BusyProcess], resource: Resource, raised_floor: float | None
) -> list[BusyProcess]:
    usual = MIN_CPUS if resource == "cpu" else MIN_BYTES_PER_S
    floor = usual if raised_floor is None else max(raised_floor, usual)
    return sorted((user for user in users if user.rate > floor), key=lambda user: -user.rate)


def rank_commands(
    before: ProcessTable, after: ProcessTable, resource: Resource, own_pids: frozenset[int]
) -> list[list[BusyProcess]]:
    """Return the processes of each command that used something; the command whose processes used most comes first."""
    commands: defaultdict[str, list[BusyProcess]] = defaultdict(list)
    for user in measure_process_use(before, after, resource, own_pids):
        commands[user.name].append(user)
    return sorted(commands.values(), key=lambda users: -sum(user.rate for user in users))


def measure_process_use(
    before: ProcessTable, after: ProcessTable, resource: Resource, own_pids: frozenset[int]
) -> Iterator[BusyProcess]:
    """Yield each process that used something between the two looks, however little, but our own."""
    between_s = max(after.uptime_s - before.uptime_s, 0.01)
    all_cpus = between_s * after.cpus if after.cpus else float("inf")
    inherited = _reaped_use_by_reaper(before, after)
    for pid, process in after.processes.items():
        if pid in own_pids:
            continue
        earlier = before.processes.get(pid)
        if not is_same_process(earlier, process):
            earlier = None
            if process.start_ticks / TICKS_PER_S < before.uptime_s - 1.0:
                continue  # older than the first look, which could not see it
        used = _usage_since(earlier, process, resource, inherited.get(pid), all_cpus)
        if used:
            yield BusyProcess(pid, process.name, used / between_s, process.start_ticks)


def loop_worker_pids(loops: Collection[str], *looks: ProcessTable) -> frozenset[int]:
    """The kernel's threads that name one of these loop devices: what they do was asked of it or of its file system.

    A worker is named for what it did last: kworker/u8:7-loop0, kworker/0:1-xfs-inodegc/loop0, kworker/u8:0-flush-7:0.
    """
    pattern = re.compile(r"(?:^|[-+/])(?:loop|flush-7:)([0-9]+)(?:-[0-9]+)?$")
    return frozenset(
        process.pid
        for look in looks
        for process in look.processes.values()
        if process.kernel_thread and (match := pattern.search(process.name)) and f"loop{match[1]}" in loops
    )


# Work queues in which a file system ends what somebody has read or written: fs/ext4/super.c, fs/direct-io.c,
# fs/xfs/xfs_super.c, fs/btrfs/disk-io.c (Linux 6.1). Written back (flush-8:0) is what anybody changed before.
_COMPLETIONS = re.compile(
    r"[-+](?:ext4-rsv-conv|dio/|xfs-(?:conv|buf|cil)|btrfs-(?:endio|worker|dio|compressed))"
)


def completion_threads(before: ProcessTable, after: ProcessTable, own_pids: frozenset[int]) -> frozenset[int]:
    """The kernel's threads that ended our own I/O: those that end anybody's, where no other process moved a byte."""
    _, others_io = others_cpus_and_io_rate(before, after, own_pids)
    if others_io is None or others_io > 0:
        return frozenset()
    return frozenset(
        process.pid
        for process in after.processes.values()
        if process.kernel_thread and _COMPLETIONS.search(process.name)
    )


def others_cpus_and_io_rate(
    before: ProcessTable, after: ProcessTable, own_pids: frozenset[int]
) -> tuple[float, float | None]:
    """CPUs and bytes a second that all processes outside `own_pids` used in between, without the kernel's own threads.

    The bytes are at least so many: None where some may not be read, and the others moved nothing.
    """
    resources: tuple[Resource, ...] = ("cpu", "io")
    rates = {
        resource: sum(
            user.rate
            for user in measure_process_use(before, after, resource, own_pids)
            if not after.processes[user.pid].kernel_thread
        )
        for resource in resources
    }
    return rates["cpu"], rates["io"] if rates["io"] or not after.unreadable else None


class _ReapedUse(msgspec.Struct):
    """What processes that are gone had used by the first look: whoever reaped them did not use it in between."""

    cpu_s: float = 0.0
    io: int = 0
    io_known: bool = True

    def add_process(self, process: Process) -> None:
        self.cpu_s += process.cpu_s
        self.io += sum(process.io or (0, 0))
        self.io_known = self.io_known and process.io is not None


def _reaped_use_by_reaper(before: ProcessTable, after: ProcessTable) -> dict[int, _ReapedUse]:
    """By the process that may have reaped them."""
    by_reaper: dict[int, _ReapedUse] = {}
    for pid, ended in before.processes.items():
        if is_same_process(ended, after.processes.get(pid)):
            continue
        for reaper in _possible_reapers(ended, before, after):
            by_reaper.setdefault(reaper, _ReapedUse()).add_process(ended)
    return by_reaper


def _possible_reapers(ended: Process, before: ProcessTable, after: ProcessTable) -> Iterator[int]:
    """Its parent. Where that is gone as well: any ancestor, for a subreaper adopts (prctl(2)), or init."""
    visited_pids = {ended.pid}
    at = ended
    while at.parent not in visited_pids and (parent := before.processes.get(at.parent)) is not None:
        visited_pids.add(parent.pid)
        if is_same_process(parent, after.processes.get(parent.pid)):
            yield parent.pid
            if at is ended:
                return
        at = parent


def _usage_since(
    earlier: Process | None,
    now: Process,
    resource: Resource,
    inherited: _ReapedUse | None,
    all_cpus: float,
) -> float | None:
    """CPU seconds, bytes or faults since `earlier` (None: since its start, which lies in between); None: not known."""
    if resource == "faults":
        return max(0.0, float(now.major_faults - (earlier.major_faults if earlier else 0)))
    own = now.own_s - (earlier.own_s if earlier else 0.0)
    children = now.children_s - (earlier.children_s if earlier else 0.0)
    reaped = inherited or _ReapedUse()
    of_children = max(0.0, children - reaped.cpu_s)
    impossible = of_children > MORE_THAN_ALL_CPUS * all_cpus
    if resource == "cpu":
        return min(max(0.0, own) + (0.0 if impossible else of_children), all_cpus)
    if children < ROUNDED_S and reaped.cpu_s > 2 * ROUNDED_S:
        reaped = _ReapedUse()  # it did not wait for them: it ignores SIGCHLD, or another one adopted them
    if impossible or now.io is None or not reaped.io_known:
        return None
    if earlier is None:
        return float(sum(now.io))
    return None if earlier.io is None else max(0.0, float(sum(now.io) - sum(earlier.io) - reaped.io))
