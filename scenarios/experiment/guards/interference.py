"""What was foreign in a train or block, and whether it disturbed: a pure function of the run's recorded counters.

CPU: everything less our process family. Device I/O: what the leaf devices' counters moved, less what our processes
asked for. What our writes cause beside that (a 4 KiB fdatasync moves 148 KiB on btrfs) is ours: there only what the
same load does not usually cause counts, and what other processes are known to have moved.
"""

from collections.abc import Collection, Sequence
from math import inf
from statistics import median
from typing import NamedTuple

import msgspec

from hostdx.probes.engine.measured import Measured
from hostdx.probes.system.processor.throttle import ThrottleCounters
from hostdx.probes.system.pulse import HostCounters
from hostdx.scenarios.contract.disturbance import Disturbance
from hostdx.scenarios.contract.surroundings import MeasuredSurroundings
from hostdx.scenarios.experiment.guards.thresholds import (
    BLOCKS_BEFORE_JUDGING,
    CPUS_PER_READY_TASK,
    LOUDER,
    MAX_CAUSED_BYTES,
    MAX_WRITE_COPIES,
    MIN_OPERATIONS_PER_S,
    PAGE_BYTES,
    QUIET_SHARE,
    TAIL,
    Kind,
    guard_threshold,
)


class HostReading(msgspec.Struct, frozen=True):
    """In a gap: the host, our family's CPU seconds and bytes (read, written), and what holds the CPUs back."""

    host: HostCounters
    ours_cpu_s: float
    throttle: ThrottleCounters
    ours_io: tuple[int, int] = (0, 0)
    nfs_bytes: int = 0  # everybody's: I/O of processes, but none of a disk


class OthersUse(NamedTuple):
    """CPUs and bytes a second of other processes; `io` is None where some cannot be read and the rest did nothing.

    hidden  not all processes of this machine show: both are at least so many.
    for_us  CPUs that the kernel's threads used for us: for loop devices of ours, and to end our own I/O.
    io_for_us  bytes a second that those threads moved.
    """

    cpus: float
    io: float | None
    hidden: bool = False
    for_us: float = 0.0
    io_for_us: float = 0.0


class InterferenceExcess(NamedTuple):
    """Something beyond its limit. sudden: beyond the run's own quiet level too, so that measuring again may help."""

    kind: Kind
    disturbance: Disturbance
    sudden: bool


def compute_surroundings(
    before: HostReading,
    after: HostReading,
    measured: Measured | None,
    devices: Sequence[str],
    *,
    load: str = "",
    exact: bool = False,
    uneven: bool = False,
    others: OthersUse | None = None,
    loops: Collection[str] = (),
) -> MeasuredSurroundings:
    """Between two gaps. Without a measurement nothing of ours ran. `loops`: of ours, whose files lie on `devices`."""
    seconds = max(after.host.time_s - before.host.time_s, 1e-3)
    cpu = steal = users = None
    full = 0.0
    if before.host.cpu is not None and after.host.cpu is not None:
        capacity = after.host.cpu.total_s - before.host.cpu.total_s
        if capacity > 0:
            busy = after.host.cpu.busy_s - before.host.cpu.busy_s
            our_cpu_s = after.ours_cpu_s - before.ours_cpu_s
            if measured is not None:
                our_cpu_s = max(our_cpu_s, measured.cpu_s + (measured.onset.cpu_s if measured.onset else 0.0))
            if others is not None:
                our_cpu_s += others.for_us * seconds
            cpu = max(0.0, busy - our_cpu_s) / capacity
            users = None if others is None else min(cpu, others.cpus * seconds / capacity)
            full = busy / capacity
            steal = max(0.0, after.host.cpu.steal_s - before.host.cpu.steal_s) / capacity
    read, written, requests, elsewhere = _moved_between(before.host, after.host, devices)
    earlier, later = before.host.disks, after.host.disks
    through = sum(
        later[name].total_bytes - earlier[name].total_bytes
        for name in loops
        if name in later and name in earlier
    )
    own_read, own_written = (max(0, b - a) for a, b in zip(before.ours_io, after.ours_io, strict=True))
    if others is not None:
        own_written += int(others.io_for_us * seconds)
    own_bytes = max(own_read + own_written, measured.bytes if measured is not None else 0)
    attributed = None
    if others is not None and others.io is not None and read is not None:
        elsewhere += max(0, after.nfs_bytes - before.nfs_bytes)
        attributed = max(0, int(others.io * seconds) - elsewhere)
    own = (
        0 if measured is None else measured.operations + (measured.onset.operations if measured.onset else 0)
    )
    heat = _counter_increase(before.throttle.thermal, after.throttle.thermal)
    held = _counter_increase(before.throttle.quota_s, after.throttle.quota_s)
    memory = _counter_increase(before.host.psi_memory, after.host.psi_memory)
    running = [r for r in (before.host.running, after.host.running) if r is not None]
    return MeasuredSurroundings(
        seconds=round(seconds, 4),
        load=load,
        cpu=round_share(cpu),
        users_cpu=round_share(users),
        hidden=others is not None and others.hidden,
        full=round(full, 4),
        steal=round_share(steal),
        memory=None if memory is None else round_share(memory / seconds),
        queue=max(0, min(running) - 1) if running else None,
        cpus=after.host.cpus,
        device_bytes=None if read is None else read + written,
        device_written=written,
        device_operations=requests,
        own_bytes=own_bytes,
        own_written=own_written,
        beside=None if read is None or not loops else max(0, read + written - through),
        attributed=attributed,
        operations=own,
        exact=exact,
        uneven=uneven,
        khz=after.throttle.khz,
        heat=None if heat is None else int(heat),
        quota=None if held is None else round_share(held / seconds),
    )


# Whose bytes are those of other devices, or of none.
_LAYERED = ("dm-", "md", "loop", "zram", "ram")


class _MovedBytes(NamedTuple):
    """Bytes read (None: not known) and written on the devices, requests there, and bytes on all other disks."""

    read: int | None
    written: int
    requests: int
    elsewhere: int


def _moved_between(before: HostCounters, after: HostCounters, devices: Sequence[str]) -> _MovedBytes:
    read = written = requests = elsewhere = 0
    has_counters = False
    disks = {*after.disks, *devices}
    for name, now in after.disks.items():
        then = before.disks.get(name)
        if then is None:
            continue
        if name in devices:
            has_counters = True
            read += max(0, now.read_bytes - then.read_bytes)
            written += max(0, now.write_bytes - then.write_bytes)
            requests += max(0, now.total_operations - then.total_operations)
        elif not name.startswith(_LAYERED) and not _is_partition_of(name, disks):
            elsewhere += max(0, now.total_bytes - then.total_bytes)
    return _MovedBytes(read if has_counters else None, written, requests, elsewhere)


def _is_partition_of(name: str, disks: Collection[str]) -> bool:
    """Of one of the disks, whose counters have its bytes too: sda1, nvme0n1p1."""
    stem = name.rstrip("0123456789")
    return stem != name and (stem in disks or stem.removesuffix("p") in disks)


def _counter_increase(before: float | None, after: float | None) -> float | None:
    return None if before is None or after is None else max(0.0, after - before)


def round_share(share: float | None) -> float | None:
    return None if share is None else round(share, 4)


def foreign_bytes_per_s(history: Sequence[MeasuredSurroundings], now: MeasuredSurroundings) -> float | None:
    """Others' bytes a second on the devices, as far as they are surely not ours; None where nothing can be told."""
    if now.device_bytes is None:
        return None
    # What ours wrote into the page cache meanwhile (a command of the user's) reaches the device later.
    pending = max(0, sum(b.own_written - b.device_written for b in history[-TAIL:]))
    surplus = min(max(0, now.device_bytes - now.own_bytes - pending), _max_others_bytes(now))
    if now.exact:
        return surplus / now.seconds
    most_caused = MAX_WRITE_COPIES * now.own_bytes + MAX_CAUSED_BYTES * now.operations
    certain_bytes = float(max(now.device_bytes - most_caused, min(now.attributed or 0, surplus)))
    each = _usual_per_operation(history, now, "device_bytes")
    if each is not None:
        certain_bytes = max(certain_bytes, now.device_bytes - each * now.operations)
    return min(max(0.0, certain_bytes), _max_others_bytes(now)) / now.seconds


def _max_others_bytes(now: MeasuredSurroundings) -> float:
    """Bytes: who uses our loop device beside us shows by what it asks for; what its file system adds is ours."""
    return inf if now.beside is None or now.attributed is None else now.beside + now.attributed


def foreign_operations_per_s(now: MeasuredSurroundings) -> float | None:
    """Others' operations a second on the devices, at least; None where our own cannot be counted (writes).

    No request of ours is smaller than a page, nor one of others on average: what they moved bounds their number.
    """
    if not now.exact or now.device_bytes is None:
        return None
    surplus = now.device_operations - max(now.operations, now.own_bytes // PAGE_BYTES)
    if now.attributed is not None:  # a checkpoint of the journal is the kernel's, and may be ours
        surplus = min(surplus, now.attributed // PAGE_BYTES)
    return max(0, surplus) / now.seconds


def list_excesses(
    history: Sequence[MeasuredSurroundings], now: MeasuredSurroundings
) -> list[InterferenceExcess]:
    """Return what disturbed `now`, after all that the run saw before (all loads, and looks while nothing ran)."""
    excesses = [*_users_cpu_over_limit(history, now), *_bytes_over_limit(history, now)]
    rule = guard_threshold("memory")
    if now.memory is not None and now.memory > rule.limit:
        usual = _lower_quartile_of_known([b.memory for b in history])
        sudden = usual is not None and now.memory - usual > rule.limit
        excesses.append(InterferenceExcess("memory", Disturbance("memory", figure=now.memory), sudden))
    rule = guard_threshold("queue")
    most = max(rule.limit, now.cpus / CPUS_PER_READY_TASK)
    if now.queue is not None and now.queue >= most and now.full >= rule.floor:
        excesses.append(InterferenceExcess("queue", Disturbance("queue", figure=now.queue), False))
    alike = [b for b in history if b.load == now.load]
    excesses += [
        excess
        for excess in _excesses_over_usual(alike, now)
        if not any(excess.kind == other.kind for other in excesses)
    ]
    rule = guard_threshold("cpu")
    is_cpu_unattributed = (now.users_cpu is None or now.hidden) and all(
        excess.kind != "cpu" for excess in excesses
    )
    if is_cpu_unattributed and now.cpu is not None and now.cpu > rule.limit:
        unread = "which ones cannot be read here; the kernel's own threads may be among them"
        excesses.append(InterferenceExcess("cpu", Disturbance("cpu", figure=now.cpu, text=unread), False))
    if now.heat:
        excesses.append(InterferenceExcess("heat", Disturbance("heat"), True))
    return excesses


def _users_cpu_over_limit(
    history: Sequence[MeasuredSurroundings], now: MeasuredSurroundings
) -> list[InterferenceExcess]:
    rule = guard_threshold("cpu")
    if now.users_cpu is None or now.users_cpu <= rule.limit:
        return []
    usual = _lower_quartile_of_known([b.users_cpu for b in history])
    sudden = usual is not None and now.users_cpu - usual > rule.limit and now.full >= rule.floor
    return [
        InterferenceExcess(
            "cpu", Disturbance("cpu", figure=now.users_cpu, usual=usual if sudden else None), sudden
        )
    ]


def _bytes_over_limit(
    history: Sequence[MeasuredSurroundings], now: MeasuredSurroundings
) -> list[InterferenceExcess]:
    foreign = foreign_bytes_per_s(history, now)
    if foreign is None or now.device_bytes is None:
        return []
    rule = guard_threshold("device")
    least = max(rule.floor, rule.limit * (now.device_bytes / now.seconds - foreign))
    if foreign <= least:
        return _requests_over_limit(history, now)
    usual = _lower_quartile_of_known([foreign_bytes_per_s((), b) for b in history if b.exact])
    sudden = usual is not None and foreign > max(usual + least, LOUDER * usual)
    disturbance = Disturbance("device", figure=foreign, usual=usual if sudden else None, unit="B/s")
    return [InterferenceExcess("device", disturbance, sudden)]


def _requests_over_limit(
    history: Sequence[MeasuredSurroundings], now: MeasuredSurroundings
) -> list[InterferenceExcess]:
    """Small requests are few bytes, and keep a disk's head as busy as large ones."""
    foreign = foreign_operations_per_s(now)
    least = max(MIN_OPERATIONS_PER_S, guard_threshold("device").limit * now.operations / now.seconds)
    if foreign is None or foreign <= least:
        return []
    usual = _lower_quartile_of_known([foreign_operations_per_s(b) for b in history])
    sudden = usual is not None and foreign > max(usual + least, LOUDER * usual)
    return [InterferenceExcess("device", Disturbance("device", figure=foreign, unit="IOPS"), sudden)]


def _excesses_over_usual(
    alike: Sequence[MeasuredSurroundings], now: MeasuredSurroundings
) -> list[InterferenceExcess]:
    """Return what can only be told from other blocks of the same load and variant: where some were seen."""
    if len(alike) < BLOCKS_BEFORE_JUDGING:
        return []
    excesses: list[InterferenceExcess] = []

    def add_if_above(kind: Kind, excess: float, limit: float, disturbance: Disturbance) -> None:
        if excess > limit:
            excesses.append(InterferenceExcess(kind, disturbance, True))

    usual = _median_of_known([b.cpu for b in alike])
    rule = guard_threshold("cpu")
    if now.cpu is not None and usual is not None and now.full >= rule.floor:
        add_if_above("cpu", now.cpu - usual, rule.limit, Disturbance("cpu", figure=now.cpu, usual=usual))
    usual = _median_of_known([b.steal for b in alike])
    if now.steal is not None and usual is not None:
        disturbance = Disturbance("steal", figure=now.steal, usual=usual)
        add_if_above("steal", now.steal - usual, guard_threshold("steal").limit, disturbance)
    each = _usual_per_operation(alike, now, "device_operations")
    if now.device_bytes is not None and each is not None:
        surplus = min(max(0, now.device_bytes - now.own_bytes), _max_others_bytes(now))
        foreign = min(now.device_operations - each * now.operations, surplus / PAGE_BYTES) / now.seconds
        usual = max(MIN_OPERATIONS_PER_S, median(b.device_operations / b.seconds for b in alike))
        disturbance = Disturbance("device", figure=foreign / usual)
        if foreign > MIN_OPERATIONS_PER_S:
            add_if_above("device", foreign / usual, guard_threshold("device").limit, disturbance)
    usual = _median_of_known([b.khz for b in alike])
    if now.khz and usual:
        disturbance = Disturbance("frequency", figure=1e3 * now.khz, usual=1e3 * usual, unit="Hz")
        add_if_above("frequency", 1 - now.khz / usual, guard_threshold("frequency").limit, disturbance)
    usual = _median_of_known([b.quota for b in alike])
    if now.quota is not None and usual is not None:
        add_if_above(
            "quota", now.quota - usual, guard_threshold("quota").limit, Disturbance("quota", figure=now.quota)
        )
    return excesses


def _usual_per_operation(
    history: Sequence[MeasuredSurroundings], now: MeasuredSurroundings, field: str
) -> float | None:
    """Return how much of the device one operation of this load usually moves; None where too few blocks of it were
    seen, or where it moves later, many at once.
    """
    if now.uneven:
        return None
    alike = [b for b in history if b.load == now.load and b.device_bytes is not None]
    each = [getattr(b, field) / b.operations for b in alike if b.operations > 0]
    if len(alike) < BLOCKS_BEFORE_JUDGING:
        return None
    return median(each) if each else 0.0


def _lower_quartile_of_known(values: Sequence[float | None]) -> float | None:
    """The run's own quiet level: what a quarter of all looks were below; None before the first one."""
    known_values = sorted(v for v in values if v is not None)
    return known_values[int(QUIET_SHARE * (len(known_values) - 1))] if known_values else None


def _median_of_known(values: Sequence[float | None]) -> float | None:
    known_values = [v for v in values if v is not None]
    return median(known_values) if known_values else None


def is_worth_repeating(
    excesses: Sequence[InterferenceExcess], repeated: int, judged: int, limits: tuple[float, float]
) -> bool:
    """Return whether a train or block is measured again: not what lasts, and not so often that too little is left to
    decide.

    most  at least so many of a load, and at most this share of those judged.
    """
    least, share = limits
    return any(excess.sudden for excess in excesses) and repeated < max(least, share * judged)
