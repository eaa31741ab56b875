"""How long a load's operations took: a histogram a side on one logarithmic axis, and its lines of cells."""

from __future__ import annotations

import math

from app.glyphs import spark
from app.lines import Line, cells, crop, pad, text
from app.recording.session import Session
from app.report import wording
from app.report.figures.latency import of_side, pooled, words
from probes import units
from scenarios.results.document import Histogram

BUCKETS = 48
LEAST = 100  # operations a side: fewer have no shape
_NAME = 30


def latencies(session: Session, workload: str) -> tuple[Histogram, ...]:
    """None where a side has too few operations, or nobody kept their times."""
    sides = pooled(session, workload)
    found = [bound for side in sides.values() for bound in side]
    if not found or min(side.total() for side in sides.values()) < LEAST:
        return ()
    low, high = min(found) / 1.05, max(found) * 1.05
    rows = []
    for variant, side in sides.items():
        filled = [0] * BUCKETS
        for bound, count in side.items():
            filled[int(BUCKETS * math.log(bound / low) / math.log(high / low))] += count
        rows.append((wording.variant_title(session, variant), tuple(filled)))
    title = wording.workload_title(session, workload)
    told = tuple(words(of_side(workload, variant, side)) for variant, side in sides.items())
    return (Histogram(title, low, high, tuple(rows), told),)


def histogram_lines(found: Histogram, width: int) -> list[Line]:
    """A line a side, each by its own highest bucket, and the axis."""
    names = min(_NAME, max(cells(text(name)) for name, _ in found.rows))
    out: list[Line] = []
    for number, (name, filled) in enumerate(found.rows):
        drawn = "".join(spark(count / max(filled)) if count else " " for count in filled)
        out.append([*pad(text(name), names), ("  ", "text"), (drawn, "abcd"[number % 4])])
    ends = [units.elapsed(end) for end in (found.low_ns, found.high_ns)]
    across = f"{ends[0]}{ends[1]:>{len(found.rows[0][1]) - len(ends[0])}}"
    out.append([(" " * (names + 2), "text"), (across, "dim")])
    return [crop(line, width) for line in out]
