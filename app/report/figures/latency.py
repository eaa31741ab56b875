"""How long a load's operations took on each side: percentiles of its pooled histograms. Shown, never judged."""

from __future__ import annotations

import math
from collections import Counter
from typing import NamedTuple

from hostdx.app.recordings.session import RunSession
from hostdx.app.recordings.values import is_counted, last_group_by_variant
from hostdx.app.report import wording
from hostdx.app.report.figures.verdict_table import list_verdict_rows as verdict_rows
from hostdx.app.terminal.glyphs import spark_cell
from hostdx.app.terminal.lines import Line, cell_width, crop_line, fit_line, text_line
from hostdx.probes import units
from hostdx.scenarios.contract.results.document import Histogram, Table
from hostdx.scenarios.experiment.statistics.stats import percentile_ns
from hostdx.scenarios.experiment.wording import mark_if_control

MIN_OPERATIONS_ABOVE = 5  # operations beyond a percentile: one or two say how the worst one went
SHARES = (("p50", 0.5), ("p99", 0.99), ("p99.9", 0.999))
MEANING = (
    "p99: 1 % of the operations took longer than this; –: fewer than five operations did. Latencies are for "
    "information: no verdict is based on them."
)


class LatencySummary(NamedTuple):
    """A side of a load. A percentile is None where fewer than LEAST_ABOVE operations took longer."""

    workload: str
    variant: str
    operations: int
    p50_ns: int | None
    p99_ns: int | None
    p999_ns: int | None


def pool_latency_histograms(session: RunSession, workload: str) -> dict[str, Counter[int]]:
    """By variant, of the blocks that its value is of: upper bounds in ns and how many operations. A slice batch keeps
    its times as a whole, so the last one may reach some groups further."""
    sides: dict[str, Counter[int]] = {}
    first, last = session.counted_from.get(workload, 0), last_group_by_variant(session, workload)
    for block in session.blocks.get(workload, ()):
        if (
            is_counted(block)
            and block.histogram
            and first <= block.group <= last.get(block.variant, block.group)
        ):
            side = sides.setdefault(block.variant, Counter())
            for bound, count in block.histogram:
                if bound > 0 and count > 0:
                    side[bound] += count
    return {variant: sides[variant] for variant in session.order_variants(sides) if sides[variant].total()}


def latency_summaries(session: RunSession) -> list[LatencySummary]:
    """Of every load that has them, in the order measured."""
    return [
        summarise_latencies(workload, variant, side)
        for workload in session.blocks
        for variant, side in pool_latency_histograms(session, workload).items()
    ]


def summarise_latencies(workload: str, variant: str, histogram: Counter[int]) -> LatencySummary:
    total = histogram.total()
    enough = (round(total * (1 - share)) >= MIN_OPERATIONS_ABOVE for _, share in SHARES)
    estimates_ns = (percentile_ns(histogram.items(), share) for _, share in SHARES)
    p50, p99, p999 = (ns if is_enough else None for ns, is_enough in zip(estimates_ns, enough, strict=True))
    return LatencySummary(workload, variant, total, p50, p99, p999)


def latency_table(session: RunSession) -> Table | None:
    """A row a load where two sides were measured, else a row a side; None where nobody kept the times."""
    # as in the table of effects
    judged = dict.fromkeys(row.verdict.workload for row in verdict_rows(session))
    by_load: dict[str, list[LatencySummary]] = {load: [] for load in judged}
    for summary in latency_summaries(session):
        by_load.setdefault(summary.workload, []).append(summary)
    by_load = {load: sides for load, sides in by_load.items() if sides}
    pairs = {tuple(summary.variant for summary in sides) for sides in by_load.values()}
    if not pairs:
        return None
    names = tuple(name for name, _ in SHARES)
    if len(pairs) == 1 and len(pair := next(iter(pairs))) == 2:
        suffix = f", {pair[0]} → {pair[1]}"
        header = ("load", f"operations{suffix}", *(f"{name}{suffix}" for name in names))
        rows = [
            (_latency_title(session, load), *map(_pair_with_arrow, *map(_operations_and_latencies, sides)))
            for load, sides in by_load.items()
        ]
        return Table(header, tuple(rows), frozenset({1, 2, 3, 4})).without_empty_columns()
    rows = [
        (_latency_title(session, summary.workload), summary.variant, *_operations_and_latencies(summary))
        for sides in by_load.values()
        for summary in sides
    ]
    header = ("load", "variant", "operations", *names)
    return Table(header, tuple(rows), frozenset({2, 3, 4, 5})).without_empty_columns()


def _latency_title(session: RunSession, workload: str) -> str:
    load = session.find_workload(workload)
    return mark_if_control(
        wording.workload_title(session, workload), control=load is not None and load.control
    )


def _pair_with_arrow(left: str, right: str) -> str:
    return left if left == right == "–" else f"{left} → {right}"


def describe_latency(summary: LatencySummary) -> str:
    """`p50 84 µs, p99 1.2 ms; 9.63 k operations`."""
    operations, *times = _operations_and_latencies(summary)
    parts = [f"{name} {time}" for (name, _), time in zip(SHARES, times, strict=True) if time != "–"]
    return "; ".join(filter(None, (", ".join(parts), f"{operations} operations")))


def _operations_and_latencies(summary: LatencySummary) -> tuple[str, ...]:
    return (
        units.format_prefixed(summary.operations).strip(),
        *(
            "–" if ns is None else units.format_latency(ns)
            for ns in (summary.p50_ns, summary.p99_ns, summary.p999_ns)
        ),
    )


BUCKETS = 48
MIN_OPERATIONS = 100  # operations a side: fewer have no shape
_NAME = 30


def latency_figure(session: RunSession, workload: str) -> tuple[Histogram, ...]:
    """Empty where a side has too few operations, or nobody kept their times."""
    sides = pool_latency_histograms(session, workload)
    bounds = [bound for side in sides.values() for bound in side]
    if not bounds or min(side.total() for side in sides.values()) < MIN_OPERATIONS:
        return ()
    low, high = min(bounds) / 1.05, max(bounds) * 1.05
    rows = []
    for variant, side in sides.items():
        filled = [0] * BUCKETS
        for bound, count in side.items():
            filled[int(BUCKETS * math.log(bound / low) / math.log(high / low))] += count
        rows.append((wording.variant_title(session, variant), tuple(filled)))
    title = wording.workload_title(session, workload)
    captions = tuple(
        describe_latency(summarise_latencies(workload, variant, side)) for variant, side in sides.items()
    )
    return (Histogram(title, low, high, tuple(rows), captions),)


def histogram_lines(histogram: Histogram, width: int) -> list[Line]:
    """A line a side, each by its own highest bucket, and the axis."""
    names = min(_NAME, max(cell_width(text_line(name)) for name, _ in histogram.rows))
    out: list[Line] = []
    for number, (name, filled) in enumerate(histogram.rows):
        drawn = "".join(spark_cell(count / max(filled)) if count else " " for count in filled)
        out.append([*fit_line(text_line(name), names), ("  ", "text"), (drawn, "abcd"[number % 4])])
    ends = [units.format_latency(end) for end in (histogram.low_ns, histogram.high_ns)]
    across = f"{ends[0]}{ends[1]:>{len(histogram.rows[0][1]) - len(ends[0])}}"
    out.append([(" " * (names + 2), "text"), (across, "dim")])
    return [crop_line(line, width) for line in out]
