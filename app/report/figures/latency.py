"""How long a load's operations took on each side: percentiles of its pooled histograms. Shown, never judged."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from app.recording.session import Session
from app.recording.values import counts, last_groups
from app.report import wording
from app.report.figures.verdict_table import rows as verdict_rows
from probes import units
from scenarios.experiment.statistics.stats import percentile_ns
from scenarios.experiment.wording import title_of_workload
from scenarios.results.document import Table

LEAST_ABOVE = 5  # operations beyond a percentile: one or two say how the worst one went
SHARES = (("p50", 0.5), ("p99", 0.99), ("p99.9", 0.999))
MEANING = (
    "p99: one operation in a hundred took longer; – where fewer than five did. Latencies are never judged."
)


class Latency(NamedTuple):
    """A side of a load. A percentile is None where fewer than LEAST_ABOVE operations took longer."""

    workload: str
    variant: str
    operations: int
    p50_ns: int | None
    p99_ns: int | None
    p999_ns: int | None


def pooled(session: Session, workload: str) -> dict[str, Counter[int]]:
    """By variant, of the blocks that its value is of: upper bounds in ns and how many operations. A slice batch keeps
    its times as a whole, so the last one may reach some groups further."""
    sides: dict[str, Counter[int]] = {}
    first, last = session.counted_from.get(workload, 0), last_groups(session, workload)
    for block in session.blocks.get(workload, ()):
        if counts(block) and block.histogram and first <= block.group <= last.get(block.variant, block.group):
            side = sides.setdefault(block.variant, Counter())
            for bound, count in block.histogram:
                if bound > 0 and count > 0:
                    side[bound] += count
    return {variant: sides[variant] for variant in session.ordered(sides) if sides[variant].total()}


def percentiles(session: Session) -> list[Latency]:
    """Of every load that has them, in the order measured."""
    return [
        of_side(workload, variant, side)
        for workload in session.blocks
        for variant, side in pooled(session, workload).items()
    ]


def of_side(workload: str, variant: str, side: Counter[int]) -> Latency:
    total = side.total()
    enough = (round(total * (1 - share)) >= LEAST_ABOVE for _, share in SHARES)
    found = (percentile_ns(side.items(), share) for _, share in SHARES)
    p50, p99, p999 = (ns if known else None for ns, known in zip(found, enough, strict=True))
    return Latency(workload, variant, total, p50, p99, p999)


def table(session: Session) -> Table | None:
    """A row a load where two sides were measured, else a row a side; None where nobody kept the times."""
    judged = dict.fromkeys(
        row.verdict.workload for row in verdict_rows(session)
    )  # as in the table of effects
    by_load: dict[str, list[Latency]] = {load: [] for load in judged}
    for one in percentiles(session):
        by_load.setdefault(one.workload, []).append(one)
    by_load = {load: sides for load, sides in by_load.items() if sides}
    pairs = {tuple(one.variant for one in sides) for sides in by_load.values()}
    if not pairs:
        return None
    names = tuple(name for name, _ in SHARES)
    if len(pairs) == 1 and len(pair := next(iter(pairs))) == 2:
        apart = f", {pair[0]} → {pair[1]}"
        header = ("load", f"operations{apart}", *(f"{name}{apart}" for name in names))
        rows = [(_title(session, load), *map(_pair, *map(_cells, sides))) for load, sides in by_load.items()]
        return Table(header, tuple(rows), frozenset({1, 2, 3, 4})).without_empty_columns()
    rows = [
        (_title(session, one.workload), one.variant, *_cells(one))
        for sides in by_load.values()
        for one in sides
    ]
    header = ("load", "side", "operations", *names)
    return Table(header, tuple(rows), frozenset({2, 3, 4, 5})).without_empty_columns()


def _title(session: Session, workload: str) -> str:
    load = session.load(workload)
    return title_of_workload(
        wording.workload_title(session, workload), control=load is not None and load.control
    )


def _pair(left: str, right: str) -> str:
    return left if left == right == "–" else f"{left} → {right}"


def words(one: Latency) -> str:
    """`p50 84 µs, p99 1.2 ms; 9.63 k operations`."""
    operations, *times = _cells(one)
    told = [f"{name} {time}" for (name, _), time in zip(SHARES, times, strict=True) if time != "–"]
    return "; ".join(filter(None, (", ".join(told), f"{operations} operations")))


def _cells(one: Latency) -> tuple[str, ...]:
    return (
        units.prefixed(one.operations).strip(),
        *("–" if ns is None else units.elapsed(ns) for ns in (one.p50_ns, one.p99_ns, one.p999_ns)),
    )
