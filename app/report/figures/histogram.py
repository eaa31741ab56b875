"""How long a load's operations took: a histogram a side on one logarithmic axis, and its lines of cells."""

from __future__ import annotations

import math

from app.recordings.session import RunSession
from app.report import wording
from app.report.figures.latency import describe_latency, pool_histograms, summarise_side
from app.terminal.glyphs import spark_cell
from app.terminal.lines import Line, cell_width, crop_line, pad_line, text_line
from probes import units
from scenarios.contract.results.document import Histogram

BUCKETS = 48
MIN_OPERATIONS = 100  # operations a side: fewer have no shape
_NAME = 30


def latency_histograms(session: RunSession, workload: str) -> tuple[Histogram, ...]:
    """None where a side has too few operations, or nobody kept their times."""
    sides = pool_histograms(session, workload)
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
        describe_latency(summarise_side(workload, variant, side)) for variant, side in sides.items()
    )
    return (Histogram(title, low, high, tuple(rows), captions),)


def histogram_lines(histogram: Histogram, width: int) -> list[Line]:
    """A line a side, each by its own highest bucket, and the axis."""
    names = min(_NAME, max(cell_width(text_line(name)) for name, _ in histogram.rows))
    out: list[Line] = []
    for number, (name, filled) in enumerate(histogram.rows):
        drawn = "".join(spark_cell(count / max(filled)) if count else " " for count in filled)
        out.append([*pad_line(text_line(name), names), ("  ", "text"), (drawn, "abcd"[number % 4])])
    ends = [units.format_latency(end) for end in (histogram.low_ns, histogram.high_ns)]
    across = f"{ends[0]}{ends[1]:>{len(histogram.rows[0][1]) - len(ends[0])}}"
    out.append([(" " * (names + 2), "text"), (across, "dim")])
    return [crop_line(line, width) for line in out]
