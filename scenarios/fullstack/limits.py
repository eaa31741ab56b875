"""Which part limits a stream: the fastest way is held against what disk and network do alone, by the run's verdicts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from hostdx.probes import units
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.fullstack.loads import DISK, MIN_GROUPS, NETWORK
from hostdx.scenarios.fullstack.machine import Bound, StreamBounds
from hostdx.scenarios.fullstack.measurement.messages import PATHS, Direction
from hostdx.scenarios.fullstack.results import WORDS, SideRate, StreamLimit

NEAR = 0.85  # of what a part does alone: what comes so near to it is limited by it
FULL = 0.90  # of a CPU's time
OWN_CPU_SHARE = 0.80  # of the CPUs' busy time: below it others take them, and no limit of the streams is told


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
    def shown_ratio(self) -> tuple[float | None, tuple[float, float] | None]:
        """Nothing of fewer groups than a load is judged by: their interval reaches anywhere."""
        v = self.verdict
        return (None, None) if v is None or v.groups < MIN_GROUPS else (v.ratio, v.ci95)


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
    limiting_part, evidence, reason = _name_limit(direction, best, by_side, disk, network, machine, private)
    return StreamLimit(
        direction=direction,
        path=best.side,
        what=limiting_part,
        rate=best.rate,
        of_disk=disk.shown_ratio[0],
        of_disk_ci95=disk.shown_ratio[1],
        of_network=network.shown_ratio[0],
        of_network_ci95=network.shown_ratio[1],
        evidence=tuple(evidence),
        reason=reason,
    )


def _name_limit(
    direction: Direction,
    best: SideRate,
    by_side: Mapping[str, SideRate],
    disk: _PartComparison,
    network: _PartComparison,
    machine: StreamBounds,
    private: bool,
) -> tuple[str, list[str], str]:
    if disk.is_near and network.is_near:
        return "both", [], ""
    if disk.is_near and network.is_far:
        return _limit_by_bound("disk", by_side[DISK], machine.disk.get(direction, ()))
    if network.is_near and disk.is_far:
        alone = by_side[NETWORK]
        if private and _are_cpus_full(alone):
            return (
                "CPU",
                [f"network alone: {_cpus_text(alone)}; a private link has no wire, so the CPUs bound it"],
                "",
            )
        return _limit_by_bound("network", alone, machine.network)
    if disk.is_far and network.is_far:
        return _limit_between_parts(best)
    why = next((v.reason for v in (disk.verdict, network.verdict) if v is not None and v.reason), None)
    return "open", [], why or "the measurements are too noisy; try a larger --budget"


def _limit_by_bound(part: str, alone: SideRate, bounds: Sequence[Bound]) -> tuple[str, list[str], str]:
    """With the lowest bound that it comes near to."""
    for bound in sorted(bounds, key=lambda candidate: candidate.bytes_per_s):
        if alone.rate >= NEAR * bound.bytes_per_s:
            bound_text = f"{bound.words} ({bound.source}): {units.format_rate(bound.bytes_per_s)}"
            return bound.what, [f"{WORDS[part]} alone does {units.format_rate(alone.rate)}", bound_text], ""
    return part, [], ""


def _limit_between_parts(best: SideRate) -> tuple[str, list[str], str]:
    """Neither part: what lies between them."""
    if best.softirq >= FULL:
        return (
            "interrupts",
            [f"one CPU spent {units.format_percent(best.softirq)} of its time in soft interrupts"],
            "",
        )
    if best.worker >= FULL:
        return (
            "CPU",
            [f"the busiest stream ran on a CPU for {units.format_percent(best.worker)} of the time"],
            "",
        )
    if _are_cpus_full(best):
        return "CPU", [_cpus_text(best)], ""
    if best.busy >= FULL:
        return (
            "open",
            [],
            f"others took the CPUs: all were busy for {units.format_percent(best.busy)}, {_cpus_text(best)}",
        )
    return "streams", ["slower than disk and network alone, with CPU time left"], ""


def _are_cpus_full(level: SideRate) -> bool:
    return level.busy >= FULL and level.cpus + level.softirq / 2 >= OWN_CPU_SHARE * level.busy


def _cpus_text(level: SideRate) -> str:
    return f"the streams took {units.format_percent(level.cpus)} of all CPUs' time"
