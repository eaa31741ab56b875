"""From what each load's course shows to the disk's caps: IOPS or MB/s, who set them where the kernel knows."""

from collections.abc import Mapping, Sequence
from statistics import fmean
from types import MappingProxyType

import msgspec

from probes.bench.disk.storage import LARGE_BYTES
from probes.bench.workloads import load_of
from probes.system.running.cgroup import IoLimit
from scenarios.storage.throttling.detection import LEAST_BLOCKS, BlockCompletions, Cap, cap_of

SAME = 0.05  # two loads at one cap
ALIKE = 0.015  # two even ones: so near only at one cap
NEAR = 0.03  # an even one at a limit that is written down
IN_STEP = 0.3  # of the workers: so near to one operation of each a period
AT_LIMIT = (0.9, 1.1)  # of a limit that the kernel knows
CONTROL = "cpu"
# A virtual machine whose CPU quota is used up pauses as a metered disk does: seen were 28 ms of every 100, with 7 % of
# the CPU time stolen (a CPU that has nothing to run meanwhile counts none).
WITHHELD = 0.1  # of the share of the time that is paused
LEAST_CONTROL_S = 2.0


class Limit(msgspec.Struct, frozen=True):
    """A cap that is written down: `unit` is IOPS or MB/s, `kinds` are the loads' kinds that it holds for."""

    unit: str
    value: float
    kinds: tuple[str, ...]
    where: str
    file: str = (
        ""  # the kernel's own setting, which holds; without one an offer's, which may be another disk's
    )


class Throttle(msgspec.Struct, frozen=True, kw_only=True):
    """A cap of a disk: `value` in `unit` (IOPS, MB/s) under these loads; `caps` as each was seen, where it was."""

    unit: str
    value: float
    loads: tuple[str, ...]
    caps: tuple[Cap, ...]
    limit: Limit | None = None


def limits_of(found: Sequence[IoLimit], devnos: Sequence[str]) -> list[Limit]:
    """The control group's for these devices (major:minor), in the loads' units."""
    names = {
        "rbps": ("MB/s", "read"),
        "wbps": ("MB/s", "write"),
        "riops": ("IOPS", "read"),
        "wiops": ("IOPS", "write"),
    }
    limits = []
    for one in found:
        if one.devno in devnos and one.what in names and one.value:
            unit, kind = names[one.what]
            value = one.value / 1e6 if unit == "MB/s" else float(one.value)
            file = f"{one.group}/{one.file}"
            limits.append(Limit(unit, value, (kind,), f"{file}: {one.devno} {one.value}", file))
    return limits


def throttles(
    courses: Mapping[str, Sequence[BlockCompletions]],
    limits: Sequence[Limit],
    *,
    virtual: bool,
    turns: int = 1,
    withheld: Mapping[str, float] = MappingProxyType({}),
) -> list[Throttle]:
    """The caps of one disk, by load as measured.

    `virtual`: a disk whose evenness means anything; a physical one's link or platter is even as well. `turns`: how many
    disks were served in turn: what is saved up meanwhile lets a disk go so many times its limit while it is served.
    Of several, and where the CPU itself may be metered, only a limit that the kernel knows is believed. `withheld`: by
    load, the share of the CPU time that the hypervisor or a quota took.
    """
    loads = looked_at(courses)
    told = loads if turns == 1 and cpu_unmetered(courses) else []
    seen = {name: cap for name in told if (cap := cap_of(courses[name], load_of(name).workers))}
    held = {
        name: cap
        for name, cap in seen.items()
        if _credible(name, cap, seen, limits, virtual, withheld.get(name, 0.0))
    }
    found: list[Throttle] = []
    for name, cap in held.items():
        limit = _written(name, cap.rate, limits, SAME)
        unit = limit.unit if limit else _unit(name, held)
        _add(
            found,
            Throttle(unit=unit, value=_value(name, cap.rate, unit), loads=(name,), caps=(cap,), limit=limit),
        )
    for name in loads:
        if name not in held and (limit := _reached(name, courses[name], limits, turns)):
            _add(found, Throttle(unit=limit.unit, value=limit.value, loads=(name,), caps=(), limit=limit))
    return found


def looked_at(courses: Mapping[str, Sequence[BlockCompletions]]) -> list[str]:
    """The loads that can run into a disk's cap."""
    return [name for name in courses if load_of(name).kind in ("read", "write") and not load_of(name).sync]


def watched_s(
    courses: Mapping[str, Sequence[BlockCompletions]], withheld: Mapping[str, float] = MappingProxyType({})
) -> float:
    """Seconds of load in which a throttle would have been named."""
    paused = paused_by_cpu(courses, withheld)
    loads = [name for name in looked_at(courses) if name not in paused] if cpu_unmetered(courses) else []
    parts = {name: [part for block in courses[name] for part in block.cut()] for name in loads}
    return sum(part.seconds for cut in parts.values() if len(cut) > LEAST_BLOCKS for part in cut)


def cpu_unmetered(courses: Mapping[str, Sequence[BlockCompletions]]) -> bool:
    """Whether the control was measured and did not pause: under a CPU quota every load pauses."""
    control = courses.get(CONTROL, ())
    cap = cap_of(control)
    return sum(c.seconds for c in control) >= LEAST_CONTROL_S and (cap is None or cap.form != "pauses")


def by_cpu(cap: Cap, withheld: float) -> bool:
    """Whether these pauses are the CPUs' own: not given to this machine or to our group."""
    return cap.form == "pauses" and withheld >= WITHHELD * cap.pause_s / cap.period_s


def paused_by_cpu(
    courses: Mapping[str, Sequence[BlockCompletions]], withheld: Mapping[str, float]
) -> dict[str, Cap]:
    """By load, the pauses in which this machine was given no CPU."""
    seen = {name: cap_of(courses[name], load_of(name).workers) for name in looked_at(courses)}
    return {name: cap for name, cap in seen.items() if cap and by_cpu(cap, withheld.get(name, 0.0))}


def _credible(
    name: str, cap: Cap, seen: Mapping[str, Cap], limits: Sequence[Limit], virtual: bool, withheld: float
) -> bool:
    if _written(name, cap.rate, limits, NEAR) is not None:
        return True
    if by_cpu(cap, withheld):
        return False
    if (
        cap.form == "pauses"
    ):  # one operation of each worker a pause: workers in step, on a disk of even latency
        workers = load_of(name).workers
        return abs(cap.rate * cap.period_s - workers) > max(1.0, IN_STEP * workers)
    others = [(other, there) for other, there in seen.items() if other != name]
    alike = any(
        near(cap.rate, there.rate, ALIKE)
        or near(_value(name, cap.rate, "MB/s"), _value(other, there.rate, "MB/s"), ALIKE)
        for other, there in others
    )
    return virtual and (alike or cap.burst_operations > 0)


def _unit(name: str, held: Mapping[str, Cap]) -> str:
    """Loads of another block size tell it: at the same bytes a second, or as many operations."""
    own = load_of(name).block_bytes
    for unit in ("MB/s", "IOPS"):
        value = _value(name, held[name].rate, unit)
        for other, cap in held.items():
            if load_of(other).block_bytes != own and near(value, _value(other, cap.rate, unit), SAME):
                return unit
    return "MB/s" if own >= LARGE_BYTES else "IOPS"


def _value(name: str, rate: float, unit: str) -> float:
    return rate * load_of(name).block_bytes / 1e6 if unit == "MB/s" else rate


def _written(name: str, rate: float, limits: Sequence[Limit], within: float) -> Limit | None:
    fitting = [
        one
        for one in limits
        if load_of(name).kind in one.kinds and near(_value(name, rate, one.unit), one.value, within)
    ]
    return min(
        fitting,
        key=lambda one: (not one.file, abs(_value(name, rate, one.unit) / one.value - 1)),
        default=None,
    )


def _reached(
    name: str, blocks: Sequence[BlockCompletions], limits: Sequence[Limit], turns: int
) -> Limit | None:
    """The kernel's own limit that this load stands at, whatever its course looks like."""
    seconds = sum(block.seconds for block in blocks)
    rate = sum(block.operations for block in blocks) / seconds if seconds > 0 else 0.0
    for one in limits:
        low, high = AT_LIMIT[0] * one.value, AT_LIMIT[1] * turns * one.value
        if one.file and load_of(name).kind in one.kinds and low <= _value(name, rate, one.unit) <= high:
            return one
    return None


def _add(found: list[Throttle], one: Throttle) -> None:
    """Together with what was found at the same cap."""
    for at, known in enumerate(found):
        if known.unit == one.unit and near(known.value, one.value, SAME):
            value = fmean([*[known.value] * len(known.loads), one.value])
            found[at] = msgspec.structs.replace(
                known, value=value, loads=(*known.loads, *one.loads), caps=(*known.caps, *one.caps),
                limit=known.limit or one.limit,
            )  # fmt: skip
            return
    found.append(one)


def near(value: float, other: float, within: float) -> bool:
    return abs(value - other) <= within * max(value, other)
