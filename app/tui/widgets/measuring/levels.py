"""The levels of each side of a load, block by block, as they are drawn: few enough for the room, seldom moving."""

import math
from collections.abc import Sequence
from statistics import fmean, median
from typing import NamedTuple

from app.recording.session import Session
from app.recording.values import counts
from app.report.figures.verdict_table import rows
from app.tui.widgets.measuring.block_plot import leading_metric, variants
from probes import units
from probes.units import Quantity
from scenarios import events as ev

MOST_WAITING = 3  # sides that have a row before they have a value


class SideLevels(NamedTuple):
    """`shares`: its levels over the highest of all sides, oldest first; `level` the median of its blocks so far."""

    variant: str
    marker: str
    role: str
    shares: tuple[float, ...]
    level: Quantity | None


def sides(session: Session, workload: str, room: int) -> list[SideLevels]:
    """In the plan's order; before the first block those that the plan compares, as long as these are few."""
    marks = variants(session)
    metric, unit = leading_metric(session, workload)
    blocks = session.blocks.get(workload, [])
    blocks = [b for b in blocks if b.phase not in ("warmup", "onset")] or blocks
    values: dict[str, list[float]] = {}
    for block in blocks:
        if math.isfinite(value := block.values.get(metric, math.nan)):
            values.setdefault(block.variant, []).append(value)
    top = max((max(own) for own in values.values()), default=0.0)
    judged = _judged(session, workload, metric)
    planned = [v.id for v in session.variants] or list(marks)
    found = planned if len(planned) <= MOST_WAITING else [v for v in planned if v in values]
    out = []
    for variant in found:
        own = values.get(variant, [])
        drawn = binned(own, room) if _under_way(session, workload) else spread(own, room)
        shares = tuple(max(0.0, v / top) for v in drawn) if top > 0 else ()
        level = judged.get(variant) or _level(blocks, metric, unit, variant)
        out.append(SideLevels(variant, *marks[variant], shares, level))
    return out


def _judged(session: Session, workload: str, metric: str) -> dict[str, Quantity | None]:
    """As the verdict's table has it, which leaves out what was measured after it decided."""
    told: dict[str, Quantity | None] = {}
    if any((key[0], key[1]) == (workload, metric) for key in session.verdicts):
        for row in rows(session):
            if (row.verdict.workload, row.verdict.metric) == (workload, metric):
                told |= {row.verdict.baseline: row.left, row.verdict.variant: row.right}
    return told


def _level(blocks: Sequence[ev.Block], metric: str, unit: str, variant: str) -> Quantity | None:
    own = [
        value
        for b in blocks
        if b.variant == variant and counts(b) and math.isfinite(value := b.values.get(metric, math.nan))
    ]
    return units.amount(median(own), unit) if own else None


def binned(values: Sequence[float], room: int) -> list[float]:
    """Several cells a value while there are few, then the means of neighbours; a power of two of them, so that what is
    drawn moves seldom."""
    if 0 < len(values) <= room:
        return [value for value in values for _ in range(room // len(values))]
    each = bins(len(values), room)
    return [fmean(values[at : at + each]) for at in range(0, len(values), each)]


def spread(values: Sequence[float], room: int) -> list[float]:
    """All of a load that is over in all of the room: each cell the mean of its part."""
    if not values or room < 1:
        return []
    parts = [(n * len(values) // room, (n + 1) * len(values) // room) for n in range(room)]
    return [fmean(values[low : max(high, low + 1)]) for low, high in parts]


def _under_way(session: Session, workload: str) -> bool:
    return session.ended is None and session.workload == workload


def bins(count: int, room: int) -> int:
    each = 1
    while count > each * max(1, room):
        each *= 2
    return each


def group_marks(session: Session, workload: str, room: int) -> tuple[str, int]:
    """A mark a group (or a power of two of them), `!` where one was disturbed; how many groups a mark stands for."""
    groups = session.groups.get(workload, ())
    each = bins(len(groups), room)
    parts = [groups[at : at + each] for at in range(0, len(groups), each)]
    return "".join("!" if any(g.disturbed for g in part) else "✓" for part in parts), each
