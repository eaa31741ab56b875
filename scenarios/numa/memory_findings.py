"""What the memory's figures mean: a slow link, slow memory and slow cores, told from each other by the matrix of nodes.

The distance slows an access only where both the same cores in their own memory and the same memory's own cores are
faster.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from probes import units
from scenarios.finding import Evidence, Finding
from scenarios.numa.measurement.figures import RoundsFigure
from scenarios.numa.measurement.memory import MemoryResult, NodeReach
from scenarios.rules.texts import texts

SAYS = texts("numa")
FAR_SUSPECT = 0.35  # remote memory gives half to four fifths of the bandwidth; less means a narrow link
UNEVEN_SPEAKS = 0.75


class Speed(NamedTuple):
    """More is better; `low` to `high` is its 95 % interval."""

    value: float
    low: float
    high: float


class Measure(NamedTuple):
    """`told` is the line about one pair of nodes, `compared` about the slow node and the fast one."""

    figure: Callable[[NodeReach], RoundsFigure | None]
    shown: Callable[[float], str]
    told: str
    compared: str
    less_is_better: bool = False

    def speed(self, reach: NodeReach) -> Speed | None:
        """None without an interval."""
        found = self.figure(reach)
        if found is None or found.low is None or found.high is None:
            return None
        if self.less_is_better:
            return Speed(1 / found.value, 1 / found.high, 1 / found.low)
        return Speed(found.value, found.low, found.high)

    def evidence(self, reach: NodeReach) -> Evidence:
        found = self.figure(reach)
        assert found is not None and found.low is not None and found.high is not None
        value, low, high = map(self.shown, (found.value, found.low, found.high))
        at = {"cpus": reach.cpu_node, "memory": reach.memory_node}
        cores = units.counted(reach.workers, "core")
        return SAYS.evidence(self.told, value=value, low=low, high=high, cores=cores, **at)

    def against(self, reach: NodeReach, best: NodeReach) -> str:
        slow, fast = self.figure(reach), self.figure(best)
        assert slow is not None and fast is not None
        share = units.percent(slow.value / fast.value)
        slowly, quickly = self.shown(slow.value), self.shown(fast.value)
        return SAYS.text(self.compared, share=share, slow=slowly, fast=quickly, best=best.cpu_node)


BANDWIDTH = Measure(lambda reach: reach.copied_bytes_per_s, units.rate, "copied", "bandwidth-of")
LATENCY = Measure(
    lambda reach: reach.latency_ns, "{:.0f}".format, "loaded", "latency-of", less_is_better=True
)


def memory_findings(result: MemoryResult) -> Iterator[Finding]:
    yield from _far(result.reaches)
    yield from _uneven(result.reaches)


def _far(reaches: Sequence[NodeReach]) -> Iterator[Finding]:
    """Against the slower of the two that are near: the same cores, and the same memory."""
    own = {r.cpu_node: r for r in reaches if r.near}
    for reach in reaches:
        seen, here, there = BANDWIDTH.speed(reach), own.get(reach.cpu_node), own.get(reach.memory_node)
        near = [
            (r, speed) for r in (here, there) if r is not None and (speed := BANDWIDTH.speed(r)) is not None
        ]
        if reach.near or seen is None or not near or here is None:
            continue
        base, usual = min(near, key=lambda pair: pair[1].low)
        if seen.high >= FAR_SUSPECT * usual.low:
            continue
        why = "narrow-link" if there is not None else "narrow-or-memory"
        yield SAYS.finding(
            "memory-far",
            subject=f"node {reach.cpu_node} to node {reach.memory_node}",
            cpus=reach.cpu_node,
            memory=reach.memory_node,
            share=seen.value / usual.value,
            whose="its own" if base is here else "that memory's own cores",
            why=SAYS.text(why, memory=reach.memory_node),
            evidence=[BANDWIDTH.evidence(r) for r in (*(r for r, _ in near), reach)],
        )
        return  # the link is said once, not for each pair of nodes behind it


def _uneven(reaches: Sequence[NodeReach]) -> Iterator[Finding]:
    """Bandwidth of nodes with the same number of copying cores only: fewer cores fill fewer channels."""
    own = [r for r in reaches if r.near]
    for reach in own:
        alike = [r for r in own if r.workers == reach.workers]
        for measure, among in ((BANDWIDTH, alike), (LATENCY, own)):
            if (best := _faster(reach, among, measure)) is not None:
                yield _slow_node(reach, best, _across(reaches, best, reach), measure)
                break


def _faster(reach: NodeReach, among: Sequence[NodeReach], measure: Measure) -> NodeReach | None:
    """The fastest node in its own memory, where it is clearly faster than this one."""
    seen = measure.speed(reach)
    known = [(speed.low, r) for r in among if (speed := measure.speed(r)) is not None]
    if seen is None or not known:
        return None
    low, best = max(known, key=lambda pair: pair[0])
    return best if seen.high < UNEVEN_SPEAKS * low else None


def _across(reaches: Sequence[NodeReach], best: NodeReach, reach: NodeReach) -> NodeReach | None:
    """The slow node's memory from the fast node's cores; None where that was not measured."""
    pair = (best.cpu_node, reach.memory_node)
    return next((r for r in reaches if (r.cpu_node, r.memory_node) == pair), None)


def _slow_node(reach: NodeReach, best: NodeReach, across: NodeReach | None, measure: Measure) -> Finding:
    """Its memory is slow; or its cores are, where another node's are faster in that memory."""
    node, seen = reach.cpu_node, measure.speed(reach)
    crossed = measure.speed(across) if across is not None else None
    cores = seen is not None and crossed is not None and crossed.low > seen.high
    told = (best, reach, across) if across is not None and crossed is not None else (best, reach)
    name = "memory-or-cores" if crossed is None else "cores-uneven" if cores else "memory-uneven"
    return SAYS.finding(
        name,
        subject=f"node {node}",
        node=node,
        size=measure.against(reach, best),
        best=best.cpu_node,
        evidence=[measure.evidence(one) for one in told],
    )
