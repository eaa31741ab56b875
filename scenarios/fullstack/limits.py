"""Which part limits a stream: the fastest way is held against what disk and network do alone, by the run's verdicts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from hostdx.probes import units
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.fullstack.loads import DISK, MIN_GROUPS, NETWORK
from hostdx.scenarios.fullstack.machine import RateBound, StreamBounds
from hostdx.scenarios.fullstack.measurement.messages import PATHS, Direction
from hostdx.scenarios.fullstack.results import WORDS, SideRate, StreamLimit

NEAR = 0.85  # of what a part does alone: what comes so near to it is limited by it
FULL = 0.90  # of a CPU's time
OWN_CPU_SHARE = 0.80  # of the CPUs' busy time: below it others take them, and no limit of the streams is told


class _NamedLimit(NamedTuple):
    """What bounds the streams; `evidence` that it does, or the reason why that is open."""

    what: str
    evidence: tuple[str, ...] = ()
    reason: str = ""


class _ShownRatio(NamedTuple):
    """A ratio with its interval, as far as they are shown."""

    ratio: float | None = None
    ci95: tuple[float, float] | None = None


class _PartComparison(NamedTuple):
    """A way against one part alone."""

    verdict: ev.RunVerdict | None

    @property
    def is_near(self) -> bool:
        v = self.verdict
        return v is not None and v.ci95 is not None and v.ci95[0] >= NEAR

    @property
    def is_far(self) -> bool:
        """Slower beyond doubt, and by more than what counts as near."""
        v = self.verdict
        return v is not None and v.is_slower and v.ratio is not None and v.ratio < NEAR

    @property
    def shown_ratio(self) -> _ShownRatio:
        """Nothing of fewer groups than a load is judged by, unless they decided: their interval reaches anywhere."""
        v = self.verdict
        is_shown = v is not None and (v.groups >= MIN_GROUPS or v.is_decided)
        return _ShownRatio(v.ratio, v.ci95) if v is not None and is_shown else _ShownRatio()


def stream_limit(
    direction: Direction,
    levels: Iterable[SideRate],
    verdicts: Sequence[ev.RunVerdict],
    machine: StreamBounds,
    *,
    private: bool,
) -> StreamLimit | None:
    """None where no way or neither part was measured. `verdicts`: of the streams of this direction."""
    by_side = {level.side: level for level in levels if level.direction == direction}
    paths = [by_side[path] for path in PATHS[direction] if path in by_side]
    if not paths or DISK not in by_side or NETWORK not in by_side:
        return None
    best = max(paths, key=lambda level: level.rate)
    of = {(v.baseline, v.variant): v for v in verdicts}
    disk, network = _PartComparison(of.get((DISK, best.side))), _PartComparison(of.get((NETWORK, best.side)))
    limit = _name_limit(direction, best, by_side, disk, network, machine, private)
    disk_ratio, network_ratio = disk.shown_ratio, network.shown_ratio
    return StreamLimit(
        direction=direction,
        path=best.side,
        what=limit.what,
        rate=best.rate,
        of_disk=disk_ratio.ratio,
        of_disk_ci95=disk_ratio.ci95,
        of_network=network_ratio.ratio,
        of_network_ci95=network_ratio.ci95,
        evidence=limit.evidence,
        reason=limit.reason,
    )


def _name_limit(
    direction: Direction,
    best: SideRate,
    by_side: Mapping[str, SideRate],
    disk: _PartComparison,
    network: _PartComparison,
    machine: StreamBounds,
    private: bool,
) -> _NamedLimit:
    if disk.is_near and network.is_near:
        return _NamedLimit("both")
    if disk.is_near and network.is_far:
        return _limit_by_bound("disk", by_side[DISK], machine.disk.get(direction, ()))
    if network.is_near and disk.is_far:
        alone = by_side[NETWORK]
        if private and _are_cpus_full(alone):
            words = f"network alone: {_cpus_text(alone)}; a private link has no wire, so the CPUs bound it"
            return _NamedLimit("CPU", (words,))
        return _limit_by_bound("network", alone, machine.network)
    if disk.is_far and network.is_far:
        return _limit_between_parts(best)
    why = next((v.reason for v in (disk.verdict, network.verdict) if v is not None and v.reason), None)
    return _NamedLimit("open", reason=why or "the measurements are too noisy; try a larger --budget")


def _limit_by_bound(part: str, alone: SideRate, bounds: Sequence[RateBound]) -> _NamedLimit:
    """With the lowest bound that it comes near to."""
    for bound in sorted(bounds, key=lambda candidate: candidate.bytes_per_s):
        if alone.rate >= NEAR * bound.bytes_per_s:
            bound_text = f"{bound.words} ({bound.source}): {units.format_rate(bound.bytes_per_s)}"
            alone_text = f"{WORDS[part]} alone does {units.format_rate(alone.rate)}"
            return _NamedLimit(bound.kind, (alone_text, bound_text))
    return _NamedLimit(part)


def _limit_between_parts(best: SideRate) -> _NamedLimit:
    """Neither part: what lies between them."""
    if best.softirq >= FULL:
        words = f"one CPU spent {units.format_percent(best.softirq)} of its time in soft interrupts"
        return _NamedLimit("interrupts", (words,))
    if best.worker >= FULL:
        words = f"the busiest stream ran on a CPU for {units.format_percent(best.worker)} of the time"
        return _NamedLimit("CPU", (words,))
    if _are_cpus_full(best):
        return _NamedLimit("CPU", (_cpus_text(best),))
    if best.busy >= FULL:
        busy_share = units.format_percent(best.busy)
        reason = f"others took the CPUs: all were busy for {busy_share}, {_cpus_text(best)}"
        return _NamedLimit("open", reason=reason)
    return _NamedLimit("streams", ("slower than disk and network alone, with CPU time left",))


def _are_cpus_full(level: SideRate) -> bool:
    return level.busy >= FULL and level.cpus + level.softirq / 2 >= OWN_CPU_SHARE * level.busy


def _cpus_text(level: SideRate) -> str:
    return f"the streams took {units.format_percent(level.cpus)} of all CPUs' time"
