"""Does a side leave work to the other's slice? Journal commits, write-back, garbage collection.

In the middle of a group (AB|BA) two slices of one side stand side by side: the first one follows the other side, the
second one its own. Which side stands there is drawn by a fair coin for each group. So the log of the first over the
second, counted + where the variant stands in the middle and - where the baseline does, is a fair coin times whatever
the noise gave, unless the two sides suffer differently from each other. The signed-rank interval over the groups is
therefore exact, as the effect's own is. What both sides suffer alike (the switch itself) cancels here and in the
effect.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Literal, NamedTuple, TypeAlias

from scenarios.experiment.stats import Spread, over_groups

LEVEL = 0.01  # of a test; with one at each look, divide it by the number of looks
FEWEST = 24  # groups with one of the pair in the middle
_PART_OF_MARGIN = 4

Todo: TypeAlias = Literal["nothing", "lengthen", "blocks"]


class CarryOver(NamedTuple):
    """What the sides leave to each other shifts ln(variant/baseline) by.

    bias    with its interval, in logs, not turned by the metric's good direction: -0.1 means that the variant looks
            10 % lower than it is. None with fewer than 24 groups.
    groups  that could tell.
    found   the interval excludes 0 and the estimate is beyond a quarter of the margin.
    """

    bias: Spread | None
    groups: int
    found: bool


class Next(NamedTuple):
    """What to do about it: `lengthen` the slices to `seconds`, or judge in `blocks` of that length.

    Slices measured before it do not count any more.
    """

    todo: Todo
    seconds: float


def carry_over(
    orders: Sequence[Sequence[str]],
    values: Sequence[Sequence[float]],
    pair: tuple[str, str],
    *,
    margin: float,
    level: float = LEVEL,
) -> CarryOver:
    """orders, values: of each undisturbed group, slice by slice, in the order measured; pair: baseline, variant."""
    shifts, after_other, slices = [], 0, 0
    for order, rates in zip(orders, values, strict=True):
        after_other += sum(a != b for a, b in pairwise(order)) + 1
        slices += len(order)
        middle = len(order) // 2
        first, second = rates[middle - 1], rates[middle]
        if order[middle] in pair and order[middle - 1] == order[middle] and first > 0 and second > 0:
            sign = 1 if order[middle] == pair[1] else -1
            shifts.append(sign * math.log(first / second))
    spread = over_groups(shifts, level) if len(shifts) >= FEWEST else None
    if spread is None:
        return CarryOver(None, len(shifts), False)
    # The coin gives half of the difference of the two sides; the effect suffers it in every slice after another side.
    # The first slice of a group follows its own side in half of the draws of two, seldom among many.
    share = (after_other - len(orders) / len(set(orders[0]))) / slices
    bias = Spread(*(2 * share * x for x in spread))
    found = bias.low > 0 or bias.high < 0
    return CarryOver(bias, len(shifts), found and abs(bias.estimate) > math.log1p(margin) / _PART_OF_MARGIN)


def what_next(carried: CarryOver, *, slice_s: float, block_s: float, margin: float) -> Next:
    """Work of one size weighs less in a longer slice: so long that a quarter of the margin is left, at most a block."""
    if not carried.found or carried.bias is None:
        return Next("nothing", slice_s)
    tolerated = math.log1p(margin) / _PART_OF_MARGIN
    grown = slice_s * max(2.0, abs(carried.bias.estimate) / tolerated)
    if grown >= block_s:
        return Next("blocks", block_s)
    return Next("lengthen", math.ceil(grown * 1000) / 1000)
