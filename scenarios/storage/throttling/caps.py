"""From what each load's course shows to the disk's caps: IOPS or MB/s, who set them where the kernel knows."""

from collections.abc import Mapping, Sequence
from statistics import fmean
from types import MappingProxyType

import msgspec

from hostdx.probes.engine.disk.storage import LARGE_BYTES
from hostdx.probes.engine.workloads import engine_load
from hostdx.probes.system.running.cgroup import IoLimit
from hostdx.scenarios.storage.throttling.detection import MIN_BLOCKS, BlockCompletions, DiskCap, find_cap

SAME = 0.05  # two loads at one cap
ALIKE = 0.015  # two even ones: so near only at one cap
NEAR = 0.03  # an even one at a limit that is written down
IN_STEP = 0.3  # of the workers: so near to one operation of each a period
AT_LIMIT = (0.9, 1.1)  # of a limit that the kernel knows
CONTROL = "cpu"
# A virtual machine whose CPU quota is used up pauses as a metered disk does: seen were 28 ms of every 100, with 7 % of
# the CPU time stolen (a CPU that has nothing to run meanwhile counts none).
WITHHELD = 0.1  # of the share of the time that is paused
MIN_CONTROL_S = 2.0


class DiskLimit(msgspec.Struct, frozen=True):
    """A cap that is written down: `unit` is IOPS or MB/s, `kinds` are the loads' kinds that it holds for."""

    unit: str
    value: float
    kinds: tuple[str, ...]
    source: str
    # the kernel's own setting, which holds; without one an offer's, which may be another disk's
    file: str = ""


class Throttle(msgspec.Struct, frozen=True, kw_only=True):
    """A cap of a disk: `value` in `unit` (IOPS, MB/s) under these loads; `caps` as each was seen, where it was."""

    unit: str
    value: float
    loads: tuple[str, ...]
    caps: tuple[DiskCap, ...]
    limit: DiskLimit | None = None


def limits_of_devices(io_limits: Sequence[IoLimit], devnos: Sequence[str]) -> list[DiskLimit]:
    """The control group's for these devices (major:minor), in the loads' units."""
    names = {
        "rbps": ("MB/s", "read"),
        "wbps": ("MB/s", "write"),
        "riops": ("IOPS", "read"),
        "wiops": ("IOPS", "write"),
    }
    limits = []
    for io_limit in io_limits:
        if io_limit.devno in devnos and io_limit.limit_name in names and io_limit.value:
            unit, kind = names[io_limit.limit_name]
            value = io_limit.value / 1e6 if unit == "MB/s" else float(io_limit.value)
            file = f"{io_limit.group}/{io_limit.file}"
            limits.append(DiskLimit(unit, value, (kind,), f"{file}: {io_limit.devno} {io_limit.value}", file))
    return limits


def find_throttles(
    series: Mapping[str, Sequence[BlockCompletions]],
    limits: Sequence[DiskLimit],
    *,
    virtual: bool,
    turns: int = 1,
    cpu_taken: Mapping[str, float] = MappingProxyType({}),
) -> list[Throttle]:
    """The caps of one disk, by load as measured.

    `virtual`: a disk whose evenness means anything; a physical one's link or platter is even as well. `turns`: how many
    disks were served in turn: what is saved up meanwhile lets a disk go so many times its limit while it is served.
    Of several, and where the CPU itself may be metered, only a limit that the kernel knows is believed. `cpu_taken`: by
    load, the share of the CPU time that the hypervisor or a quota took.
    """
    loads = list_cappable_loads(series)
    judged_loads = loads if turns == 1 and has_no_cpu_quota(series) else []
    seen_caps = {
        name: cap for name in judged_loads if (cap := find_cap(series[name], engine_load(name).workers))
    }
    held = {
        name: cap
        for name, cap in seen_caps.items()
        if _is_cap_credible(name, cap, seen_caps, limits, virtual, cpu_taken.get(name, 0.0))
    }
    disk_throttles: list[Throttle] = []
    for name, cap in held.items():
        limit = _find_limit_near(name, cap.rate, limits, SAME)
        unit = limit.unit if limit else _cap_unit(name, held)
        _merge_into_throttles(
            disk_throttles,
            Throttle(
                unit=unit, value=_iops_in_unit(name, cap.rate, unit), loads=(name,), caps=(cap,), limit=limit
            ),
        )
    for name in loads:
        if name not in held and (limit := _find_reached_limit(name, series[name], limits, turns)):
            _merge_into_throttles(
                disk_throttles,
                Throttle(unit=limit.unit, value=limit.value, loads=(name,), caps=(), limit=limit),
            )
    return disk_throttles


def list_cappable_loads(series: Mapping[str, Sequence[BlockCompletions]]) -> list[str]:
    """The loads that can run into a disk's cap."""
    return [
        name for name in series if engine_load(name).kind in ("read", "write") and not engine_load(name).sync
    ]


def watched_s(
    series: Mapping[str, Sequence[BlockCompletions]], cpu_taken: Mapping[str, float] = MappingProxyType({})
) -> float:
    """Seconds of load in which a throttle would have been named."""
    paused = find_cpu_pauses(series, cpu_taken)
    loads = (
        [name for name in list_cappable_loads(series) if name not in paused]
        if has_no_cpu_quota(series)
        else []
    )
    parts = {name: [part for block in series[name] for part in block.cut_into_parts()] for name in loads}
    return sum(part.seconds for cut in parts.values() if len(cut) > MIN_BLOCKS for part in cut)


def has_no_cpu_quota(series: Mapping[str, Sequence[BlockCompletions]]) -> bool:
    """Return whether the control was measured and did not pause: under a CPU quota every load pauses."""
    control = series.get(CONTROL, ())
    cap = find_cap(control)
    return sum(c.seconds for c in control) >= MIN_CONTROL_S and (cap is None or cap.form != "pauses")


def is_paused_by_cpu(cap: DiskCap, cpu_taken: float) -> bool:
    """Return whether these pauses are the CPUs' own: not given to this machine or to our group."""
    return cap.form == "pauses" and cpu_taken >= WITHHELD * cap.pause_s / cap.period_s


def find_cpu_pauses(
    series: Mapping[str, Sequence[BlockCompletions]], cpu_taken: Mapping[str, float]
) -> dict[str, DiskCap]:
    """By load, the pauses in which this machine was given no CPU."""
    seen_caps = {
        name: find_cap(series[name], engine_load(name).workers) for name in list_cappable_loads(series)
    }
    return {n: cap for n, cap in seen_caps.items() if cap and is_paused_by_cpu(cap, cpu_taken.get(n, 0.0))}


def _is_cap_credible(
    name: str,
    cap: DiskCap,
    seen_caps: Mapping[str, DiskCap],
    limits: Sequence[DiskLimit],
    virtual: bool,
    cpu_taken: float,
) -> bool:
    if _find_limit_near(name, cap.rate, limits, NEAR) is not None:
        return True
    if is_paused_by_cpu(cap, cpu_taken):
        return False
    # one operation of each worker a pause: workers in step, on a disk of even latency
    if cap.form == "pauses":
        workers = engine_load(name).workers
        return abs(cap.rate * cap.period_s - workers) > max(1.0, IN_STEP * workers)
    others = [(other, there) for other, there in seen_caps.items() if other != name]
    alike = any(
        are_rates_near(cap.rate, there.rate, ALIKE)
        or are_rates_near(
            _iops_in_unit(name, cap.rate, "MB/s"), _iops_in_unit(other, there.rate, "MB/s"), ALIKE
        )
        for other, there in others
    )
    return virtual and (alike or cap.burst_operations > 0)


def _cap_unit(name: str, held: Mapping[str, DiskCap]) -> str:
    """Loads of another block size tell it: at the same bytes a second, or as many operations."""
    own = engine_load(name).block_bytes
    for unit in ("MB/s", "IOPS"):
        value = _iops_in_unit(name, held[name].rate, unit)
        for other, cap in held.items():
            if engine_load(other).block_bytes != own and are_rates_near(
                value, _iops_in_unit(other, cap.rate, unit), SAME
            ):
                return unit
    return "MB/s" if own >= LARGE_BYTES else "IOPS"


def _iops_in_unit(name: str, rate: float, unit: str) -> float:
    return rate * engine_load(name).block_bytes / 1e6 if unit == "MB/s" else rate


def _find_limit_near(name: str, rate: float, limits: Sequence[DiskLimit], within: float) -> DiskLimit | None:
    fitting = [
        limit
        for limit in limits
        if engine_load(name).kind in limit.kinds
        and are_rates_near(_iops_in_unit(name, rate, limit.unit), limit.value, within)
    ]
    return min(
        fitting,
        key=lambda limit: (not limit.file, abs(_iops_in_unit(name, rate, limit.unit) / limit.value - 1)),
        default=None,
    )


def _find_reached_limit(
    name: str, blocks: Sequence[BlockCompletions], limits: Sequence[DiskLimit], turns: int
) -> DiskLimit | None:
    """The kernel's own limit that this load stands at, whatever its course looks like."""
    seconds = sum(block.seconds for block in blocks)
    rate = sum(block.operation_count for block in blocks) / seconds if seconds > 0 else 0.0
    for limit in limits:
        low, high = AT_LIMIT[0] * limit.value, AT_LIMIT[1] * turns * limit.value
        if (
            limit.file
            and engine_load(name).kind in limit.kinds
            and low <= _iops_in_unit(name, rate, limit.unit) <= high
        ):
            return limit
    return None


def _merge_into_throttles(throttle_list: list[Throttle], throttle: Throttle) -> None:
    """Together with what was found at the same cap."""
    for at, existing in enumerate(throttle_list):
        if existing.unit == throttle.unit and are_rates_near(existing.value, throttle.value, SAME):
            value = fmean([*[existing.value] * len(existing.loads), throttle.value])
            throttle_list[at] = msgspec.structs.replace(
                existing, value=value, loads=(*existing.loads, *throttle.loads), caps=(*existing.caps, *throttle.caps),
                limit=existing.limit or throttle.limit,
            )  # fmt: skip
            return
    throttle_list.append(throttle)


def are_rates_near(value: float, other: float, tolerance: float) -> bool:
    return abs(value - other) <= tolerance * max(value, other)
