"""The levels of each side of a load, block by block, as they are drawn: few enough for the room, seldom moving."""

import math
from collections.abc import Sequence
from statistics import fmean, median
from typing import NamedTuple

from hostdx.app.recordings.session import RunSession
from hostdx.app.recordings.values import shown_variant_value
from hostdx.app.tui.widgets.measuring.variants import leading_metric_and_unit, variant_marks
from hostdx.probes import units
from hostdx.probes.units import DisplayQuantity

MAX_WAITING_VARIANTS = 3  # sides that have a row before they have a value

MIN_GROUPS_TO_TELL = 2  # and the one under way: a variant that they have not is none of the load's


class VariantLevels(NamedTuple):
    """`shares`: its levels over the highest of all sides, oldest first; `level` the median of its blocks so far,
    `lowest` and `highest` the ends of what is drawn.
    """

    variant: str
    marker: str
    role: str
    shares: tuple[float, ...]
    level: DisplayQuantity | None
    lowest: DisplayQuantity | None = None
    highest: DisplayQuantity | None = None


def variant_levels(session: RunSession, workload: str, room: int) -> list[VariantLevels]:
    """In the plan's order; before the first block those that the plan compares, as long as these are few."""
    marks = variant_marks(session)
    metric, unit = leading_metric_and_unit(session, workload)
    blocks = session.blocks.get(workload, [])
    blocks = [b for b in blocks if b.phase not in ("warmup", "onset")] or blocks
    values: dict[str, list[float]] = {}
    for block in blocks:
        if math.isfinite(value := block.values.get(metric, math.nan)):
            values.setdefault(block.variant, []).append(value)
    top = max((max(own) for own in values.values()), default=0.0)
    planned = [v.id for v in session.planned_variants] or list(marks)
    absent = _variants_missing_here(session, workload)
    few = len(planned) <= MAX_WAITING_VARIANTS
    shown_variants = [v for v in planned if v in values or (few and v not in absent)]
    under_way = session.ended is None and session.workload == workload
    out = []
    for variant in shown_variants:
        own = values.get(variant, [])
        drawn = bin_values(own, room) if under_way else spread_values(own, room)
        shares = tuple(max(0.0, v / top) for v in drawn) if top > 0 else ()
        level = shown_variant_value(session, workload, metric, variant)
        level = median(own) if level is None and own else level  # the warm-up, as long as it is all there is
        shown = None if level is None else units.metric_quantity(level, unit)
        ends = (
            [units.metric_quantity(end, unit) for end in (min(drawn), max(drawn))] if drawn else [None, None]
        )
        out.append(VariantLevels(variant, *marks[variant], shares, shown, *ends))
    return out


def _variants_missing_here(session: RunSession, workload: str) -> set[str]:
    """Return those that two groups of this load went without, though other loads have them."""
    own = session.blocks.get(workload, ())
    if len({block.group for block in own}) <= MIN_GROUPS_TO_TELL:
        return set()
    others = {block.variant for blocks in session.blocks.values() for block in blocks}
    return others - {block.variant for block in own}


def bin_values(values: Sequence[float], room: int) -> list[float]:
    """Several cells a value while there are few, then the means of neighbours; a power of two of them, so that what is
    drawn moves seldom."""
    if 0 < len(values) <= room:
        return [value for value in values for _ in range(room // len(values))]
    each = values_per_bin(len(values), room)
    return [fmean(values[at : at + each]) for at in range(0, len(values), each)]


def spread_values(values: Sequence[float], room: int) -> list[float]:
    """All of a load that is over in all of the room: each cell the mean of its part."""
    if not values or room < 1:
        return []
    parts = [(n * len(values) // room, (n + 1) * len(values) // room) for n in range(room)]
    return [fmean(values[low : max(high, low + 1)]) for low, high in parts]


def values_per_bin(count: int, room: int) -> int:
    each = 1
    while count > each * max(1, room):
        each *= 2
    return each


def group_marks(session: RunSession, workload: str, room: int) -> str:
    """A mark a group (or a power of two of them), `!` where one was disturbed."""
    groups = session.groups.get(workload, ())
    each = values_per_bin(len(groups), room)
    parts = [groups[at : at + each] for at in range(0, len(groups), each)]
    return "".join("!" if any(g.disturbed for g in part) else "✓" for part in parts)
