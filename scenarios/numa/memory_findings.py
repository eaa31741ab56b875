"""What the memory's figures mean: a slow link, slow memory and slow cores, told from each other by the matrix of nodes.

The distance slows an access only where both the same cores in their own memory and that memory's own cores are faster.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from hostdx.probes import units
from hostdx.scenarios.contract.finding import Evidence, Finding
from hostdx.scenarios.numa.measurement.figures import RoundsFigure
from hostdx.scenarios.numa.measurement.memory import MemoryResult, NodeReach
from hostdx.scenarios.triage.rules.texts import finding_texts

SAYS = finding_texts("numa")
FAR_SUSPECT = 0.35  # remote memory gives half to four fifths of the bandwidth; less means a narrow link
UNEVEN_SPEAKS = 0.75


class SpeedWithInterval(NamedTuple):
    """More is better; `low` to `high` is its 95 % interval."""

    value: float
    low: float
    high: float


class SpeedMeasure(NamedTuple):
    """`pair_text` is the line about one pair of nodes, `compared` about the slow node and the fast one."""

    figure: Callable[[NodeReach], RoundsFigure | None]
    shown: Callable[[float], str]
    pair_text: str
    compared: str
    less_is_better: bool = False

    def speed_of(self, reach: NodeReach) -> SpeedWithInterval | None:
        """None without an interval."""
        measured = self.figure(reach)
        if measured is None or measured.low is None or measured.high is None:
            return None
        if self.less_is_better:
            return SpeedWithInterval(1 / measured.value, 1 / measured.high, 1 / measured.low)
        return SpeedWithInterval(measured.value, measured.low, measured.high)

    def pair_evidence(self, reach: NodeReach) -> Evidence:
        measured = self.figure(reach)
        assert measured is not None and measured.low is not None and measured.high is not None
        value, low, high = map(self.shown, (measured.value, measured.low, measured.high))
        at = {"cpus": reach.cpu_node, "memory": reach.memory_node}
        cores = units.count_noun(reach.workers, "core")
        return SAYS.evidence(self.pair_text, value=value, low=low, high=high, cores=cores, **at)

    def compare_with_best_text(self, reach: NodeReach, best: NodeReach) -> str:
        slow, fast = self.figure(reach), self.figure(best)
        assert slow is not None and fast is not None
        share = units.format_percent(slow.value / fast.value)
        slowly, quickly = self.shown(slow.value), self.shown(fast.value)
        return SAYS.text(self.compared, share=share, slow=slowly, fast=quickly, best=best.cpu_node)


BANDWIDTH = SpeedMeasure(lambda reach: reach.copied_bytes_per_s, units.format_rate, "copied", "bandwidth-of")
LATENCY = SpeedMeasure(
    lambda reach: reach.latency_ns, "{:.0f}".format, "loaded", "latency-of", less_is_better=True
)


def memory_findings(result: MemoryResult) -> Iterator[Finding]:
    yield from _slow_far_memory_findings(result.reaches)
    yield from _slow_node_findings(result.reaches)


def _slow_far_memory_findings(reaches: Sequence[NodeReach]) -> Iterator[Finding]:
    """Against the slower of the two that are near: the same cores, and the same memory."""
    own = {r.cpu_node: r for r in reaches if r.is_near}
    for reach in reaches:
        reach_speed, here, there = (
            BANDWIDTH.speed_of(reach),
            own.get(reach.cpu_node),
            own.get(reach.memory_node),
        )
        near = [
            (r, speed)
            for r in (here, there)
            if r is not None and (speed := BANDWIDTH.speed_of(r)) is not None
        ]
        if reach.is_near or reach_speed is None or not near or here is None:
            continue
        base, usual = min(near, key=lambda pair: pair[1].low)
        if reach_speed.high >= FAR_SUSPECT * usual.low:
            continue
        why = "narrow-link" if there is not None else "narrow-or-memory"
        yield SAYS.finding(
            "memory-far",
            subject=f"node {reach.cpu_node} to node {reach.memory_node}",
            cpus=reach.cpu_node,
            memory=reach.memory_node,
            share=reach_speed.value / usual.value,
            whose="its own" if base is here else "that memory's own cores",
            why=SAYS.text(why, memory=reach.memory_node),
            evidence=[BANDWIDTH.pair_evidence(r) for r in (*(r for r, _ in near), reach)],
        )
        return  # the link is said once, not for each pair of nodes behind it


def _slow_node_findings(reaches: Sequence[NodeReach]) -> Iterator[Finding]:
    """Bandwidth of nodes with the same number of copying cores only: fewer cores fill fewer channels."""
    own = [r for r in reaches if r.is_near]
    for reach in own:
        alike = [r for r in own if r.workers == reach.workers]
        for measure, among in ((BANDWIDTH, alike), (LATENCY, own)):
            if (best := _find_faster_node(reach, among, measure)) is not None:
                yield _slow_node_finding(reach, best, _find_crossed_reach(reaches, best, reach), measure)
                break


def _find_faster_node(
    reach: NodeReach, among: Sequence[NodeReach], measure: SpeedMeasure
) -> NodeReach | None:
    """The fastest node in its own memory, where it is clearly faster than this one."""
    reach_speed = measure.speed_of(reach)
    speeds = [(speed.low, r) for r in among if (speed := measure.speed_of(r)) is not None]
    if reach_speed is None or not speeds:
        return None
    low, best = max(speeds, key=lambda pair: pair[0])
    return best if reach_speed.high < UNEVEN_SPEAKS * low else None


def _find_crossed_reach(reaches: Sequence[NodeReach], best: NodeReach, reach: NodeReach) -> NodeReach | None:
    """The slow node's memory from the fast node's cores; None where that was not measured."""
    pair = (best.cpu_node, reach.memory_node)
    return next((r for r in reaches if (r.cpu_node, r.memory_node) == pair), None)


def _slow_node_finding(
    reach: NodeReach, best: NodeReach, across: NodeReach | None, measure: SpeedMeasure
) -> Finding:
    """Its memory is slow; or its cores are, where another node's are faster in that memory."""
    node, reach_speed = reach.cpu_node, measure.speed_of(reach)
    crossed = measure.speed_of(across) if across is not None else None
    cores = reach_speed is not None and crossed is not None and crossed.low > reach_speed.high
    shown_reaches = (best, reach, across) if across is not None and crossed is not None else (best, reach)
    name = "memory-or-cores" if crossed is None else "cores-uneven" if cores else "memory-uneven"
    return SAYS.finding(
        name,
        subject=f"node {node}",
        node=node,
        size=measure.compare_with_best_text(reach, best),
        best=best.cpu_node,
        evidence=[measure.pair_evidence(shown_reach) for shown_reach in shown_reaches],
    )
