"""Does a side leave work to the other's slice? Journal commits, write-back, garbage collection.

In the middle of a group (AB|BA) two slices of one side stand side by side: the first one follows the other side, the
second one its own. Which side stands there is drawn by a fair coin for each group. So the log of the first over the
second, counted + where the variant stands in the middle and - where the baseline does, is a fair coin times whatever
the noise gave, unless the two sides suffer differently from each other. The signed-rank interval over the groups is
therefore exact, as the effect's own is. What both sides suffer alike (the switch itself) cancels in both.
"""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Literal, NamedTuple, TypeAlias

import msgspec

from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.verdict.verdict import (
    Word,
    estimate_of_ratio,
    margin_edge,
    word_that_still_holds,
)
from hostdx.scenarios.experiment.groups import GroupBlocks
from hostdx.scenarios.experiment.levels import Pair
from hostdx.scenarios.experiment.statistics.stats import EstimateWithInterval, interval_over_groups
from hostdx.scenarios.experiment.wording import carry_over_text

LEVEL = 0.01  # of a test
LOOKS = 4  # among which it is shared
MIN_GROUPS = 24  # groups with one of the pair in the middle
_PART_OF_MARGIN = 4

Todo: TypeAlias = Literal["nothing", "lengthen", "blocks"]


class CarryOver(NamedTuple):
    """How far work that one variant leaves to the next shifts ln(variant/baseline).

    bias: the shift with its interval, not turned by the metric's good direction; -0.1 means that the variant looks 10 %
    lower than it is. None with fewer than 24 groups.
    groups: the groups that could show it.
    is_established: the interval excludes 0 and the estimate is beyond a quarter of the margin.
    """

    bias: EstimateWithInterval | None
    groups: int
    is_established: bool


class CarryOverAction(NamedTuple):
    """What to do about a carry-over: `lengthen` the slices to `seconds`, or measure in `blocks` of that length.
    Earlier slices no longer count.
    """

    todo: Todo
    seconds: float
    carried: CarryOver


def estimate_carry_over(
    orders: Sequence[Sequence[str]],
    values: Sequence[Sequence[float]],
    pair: tuple[str, str],
    *,
    margin: float,
    level: float = LEVEL,
) -> CarryOver:
    """Return the carry-over between the pair (baseline, variant).

    orders, values: of each undisturbed group, slice by slice in the order measured.
    """
    shifts, after_other, slices = [], 0, 0
    for order, rates in zip(orders, values, strict=True):
        after_other += sum(a != b for a, b in pairwise(order)) + 1
        slices += len(order)
        middle = len(order) // 2
        first, second = rates[middle - 1], rates[middle]
        if order[middle] in pair and order[middle - 1] == order[middle] and first > 0 and second > 0:
            sign = 1 if order[middle] == pair[1] else -1
            shifts.append(sign * math.log(first / second))
    spread = interval_over_groups(shifts, level) if len(shifts) >= MIN_GROUPS else None
    if spread is None:
        return CarryOver(None, len(shifts), False)
    # The coin gives half of the difference of the two sides; the effect suffers it in every slice after another side.
    # The first slice of a group follows its own side in half of the draws of two, seldom among many.
    share = (after_other - len(orders) / len(set(orders[0]))) / slices
    bias = EstimateWithInterval(*(2 * share * x for x in spread))
    excludes_zero = bias.low > 0 or bias.high < 0
    return CarryOver(
        bias, len(shifts), excludes_zero and abs(bias.estimate) > margin_edge(margin) / _PART_OF_MARGIN
    )


def choose_carry_over_action(
    carried: CarryOver, *, slice_s: float, block_s: float, margin: float
) -> CarryOverAction:
    """Return the action for a carry-over that was found.

    A fixed amount of work weighs less in a longer slice: slices become so long that a quarter of the margin is left,
    but not longer than a window. A fixed share of each slice weighs the same at any length: then the load is measured
    in windows with a flush before each.
    """
    if not carried.is_established or carried.bias is None:
        return CarryOverAction("nothing", slice_s, carried)
    tolerated = margin_edge(margin) / _PART_OF_MARGIN
    grown = slice_s * max(2.0, abs(carried.bias.estimate) / tolerated)
    if grown >= block_s:
        return CarryOverAction("blocks", max(slice_s, block_s), carried)
    return CarryOverAction("lengthen", math.ceil(grown * 1000) / 1000, carried)


class CarryOverAnalyses:
    """Analyses after 24, 48, 96 … groups, each with its part of the error level."""

    def __init__(self, *, margin: float, block_s: float) -> None:
        self.margin, self.block_s = margin, block_s
        self.in_blocks = False
        self._looks = 0
        self._carried_by_pair: dict[
            Pair, CarryOver
        ] = {}  # and not seen to be gone since; in blocks: seen there

    def groups_until_known(self, groups: int) -> int:
        """Return how many more groups are needed to see whether a carry-over has gone; 0 where none was found."""
        waiting = self._looks == 0 if self.in_blocks else bool(self._carried_by_pair)
        return max(0, (MIN_GROUPS << self._looks) - groups) if waiting else 0

    def analyse_carry_over(
        self, groups: Sequence[GroupBlocks], metric: str, pairs: Sequence[Pair], slice_s: float
    ) -> CarryOverAction | None:
        """Return the action if an analysis is due and finds a carry-over; the groups until now then no longer count."""
        if len(groups) < MIN_GROUPS << self._looks:
            return None
        self._looks += 1
        order = [group.order for group in groups]
        values = [group.values_in_order(metric) for group in groups]
        for pair in pairs:
            now = estimate_carry_over(order, values, pair, margin=self.margin, level=LEVEL / LOOKS)
            if not now.is_established:
                if self.in_blocks or _has_carry_over_vanished(self._carried_by_pair.get(pair), now):
                    self._carried_by_pair.pop(pair, None)
                continue
            self._carried_by_pair[pair] = now
            if self.in_blocks:  # there is nothing beyond
                continue
            then = choose_carry_over_action(now, slice_s=slice_s, block_s=self.block_s, margin=self.margin)
            self._looks = 0
            if then.todo == "blocks":
                self.in_blocks = True
                self._carried_by_pair.clear()
            return then
        return None

    def restrict_verdict(self, verdict: ev.RunVerdict) -> ev.RunVerdict:
        """Return the verdict, restricted to what holds without a carry-over that may remain."""
        carried = self._carried_by_pair.get((verdict.baseline, verdict.variant))
        if carried is None or carried.bias is None or verdict.ratio is None or verdict.ci95 is None:
            return verdict
        text = carry_over_text(carried.bias, self.block_s if self.in_blocks else None)
        reason = "; ".join(r for r in (verdict.reason, text) if r)
        word = restrict_word(verdict.verdict, verdict.ratio, verdict.ci95, carried.bias, verdict.margin)
        return msgspec.structs.replace(verdict, verdict=word, reason=reason)


def restrict_word(
    word: Word, ratio: float, ci95: tuple[float, float], bias: EstimateWithInterval, margin: float
) -> Word:
    """Return the word as far as it holds for any part of the bias in the ratio."""
    bias_width = max(abs(bias.low), abs(bias.high))
    estimate = estimate_of_ratio(ratio, ci95, margin)
    return word_that_still_holds(
        word, estimate._replace(low=estimate.low - bias_width, high=estimate.high + bias_width)
    )


def _has_carry_over_vanished(before: CarryOver | None, now: CarryOver) -> bool:
    """Return whether the carry-over is gone. Work of a fixed amount shows no longer in longer slices; a fixed share
    would.
    """
    if before is None or before.bias is None:
        return True
    return now.bias is not None and not now.bias.low <= before.bias.estimate <= now.bias.high
