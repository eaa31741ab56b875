"""Which part limits a stream: the fastest way is held against what disk and network do alone, by the run's verdicts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from probes import units
from probes.bench.streams.messages import PATHS, Direction
from scenarios import events as ev
from scenarios.fullstack.loads import DISK, LEAST_GROUPS, NETWORK
from scenarios.fullstack.machine import Bound, Machine
from scenarios.fullstack.results import WORDS, Limit, SideRate

NEAR = 0.85  # of what a part does alone: what comes so near to it is limited by it
FULL = 0.90  # of a CPU's time
OURS = 0.80  # of the CPUs' busy time: below it others take them, and no limit of the streams is told


class _Held(NamedTuple):
    """A way against one part alone."""

    verdict: ev.RunVerdict | None

    @property
    def near(self) -> bool:
        v = self.verdict
        return v is not None and v.ci95 is not None and v.ci95[0] >= NEAR

    @property
    def far(self) -> bool:
        """Slower beyond doubt, and by more than what counts as near."""
        v = self.verdict
        return v is not None and v.is_slower and v.ratio is not None and v.ratio < NEAR

    @property
    def shown(self) -> tuple[float | None, tuple[float, float] | None]:
        """Nothing of fewer groups than a load is judged by: their interval reaches anywhere."""
        v = self.verdict
        return (None, None) if v is None or v.groups < LEAST_GROUPS else (v.ratio, v.ci95)


def limit(
    direction: Direction,
    levels: Iterable[SideRate],
    verdicts: Sequence[ev.RunVerdict],
    found: Machine,
    *,
    private: bool,
) -> Limit | None:
    """None where no way or neither part was measured. `verdicts`: of the streams of this direction."""
    by_side = {one.side: one for one in levels if one.direction == direction}
    paths = [by_side[path] for path in PATHS[direction] if path in by_side]
    if not paths or DISK not in by_side or NETWORK not in by_side:
        return None
    best = max(paths, key=lambda one: one.rate)
    of = {(v.baseline, v.variant): v for v in verdicts}
    disk, network = _Held(of.get((DISK, best.side))), _Held(of.get((NETWORK, best.side)))
    what, evidence, reason = _named(direction, best, by_side, disk, network, found, private)
    return Limit(
        direction=direction,
        path=best.side,
        what=what,
        rate=best.rate,
        of_disk=disk.shown[0],
        of_disk_ci95=disk.shown[1],
        of_network=network.shown[0],
        of_network_ci95=network.shown[1],
        evidence=tuple(evidence),
        reason=reason,
    )


def _named(
    direction: Direction,
    best: SideRate,
    by_side: Mapping[str, SideRate],
    disk: _Held,
    network: _Held,
    found: Machine,
    private: bool,
) -> tuple[str, list[str], str]:
    if disk.near and network.near:
        return "both", [], ""
    if disk.near and network.far:
        return _by_bound("disk", by_side[DISK], found.disk.get(direction, ()))
    if network.near and disk.far:
        alone = by_side[NETWORK]
        if private and _full(alone):
            return (
                "CPU",
                [f"network alone: {_cpus(alone)}; a private link has no wire, so the CPUs bound it"],
                "",
            )
        return _by_bound("network", alone, found.network)
    if disk.far and network.far:
        return _between(best)
    why = next((v.reason for v in (disk.verdict, network.verdict) if v is not None and v.reason), None)
    return "open", [], why or "the intervals do not tell which part it comes near to (raise --budget)"


def _by_bound(what: str, alone: SideRate, bounds: Sequence[Bound]) -> tuple[str, list[str], str]:
    """With the lowest bound that it comes near to."""
    for bound in sorted(bounds, key=lambda one: one.bytes_per_s):
        if alone.rate >= NEAR * bound.bytes_per_s:
            told = f"{bound.words} ({bound.source}): {units.rate(bound.bytes_per_s)}"
            return bound.what, [f"{WORDS[what]} alone does {units.rate(alone.rate)}", told], ""
    return what, [], ""


def _between(best: SideRate) -> tuple[str, list[str], str]:
    """Neither part: what lies between them."""
    if best.softirq >= FULL:
        return (
            "interrupts",
            [f"one CPU spent {units.percent(best.softirq)} of its time in soft interrupts"],
            "",
        )
    if best.worker >= FULL:
        return "CPU", [f"the busiest stream ran on a CPU for {units.percent(best.worker)} of the time"], ""
    if _full(best):
        return "CPU", [_cpus(best)], ""
    if best.busy >= FULL:
        return (
            "open",
            [],
            f"others took the CPUs: all were busy for {units.percent(best.busy)}, {_cpus(best)}",
        )
    return "streams", ["slower than disk and network alone, with CPU time left"], ""


def _full(one: SideRate) -> bool:
    return one.busy >= FULL and one.cpus + one.softirq / 2 >= OURS * one.busy


def _cpus(one: SideRate) -> str:
    return f"the streams took {units.percent(one.cpus)} of all CPUs' time"
