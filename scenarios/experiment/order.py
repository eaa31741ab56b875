"""Does it matter which of two variants is measured first? The guard on every verdict over pairs or groups.

In a group one of two variants comes first. The effect is estimated from the groups in which the baseline came first and
from those in which the variant did. With r the logarithm by which being second helps, these estimates are d + r and
d - r: half of their difference is r, and their middle is the effect d. Work that only one variant leaves to the other
(write-back, a warm cache) moves d by at most r, so no verdict needs more than both orders.

1. The 99.5 % interval of r is over the groups' signed distances from the middle. Batches replace groups where
   neighbours depend on each other; Student's interval replaces the signed ranks where groups are few.
2. r is established where that interval excludes 0 and r is beyond a quarter of the margin. Without an order effect that
   withholds at most 1 % of the runs' verdicts (several analyses each): this is the guard's own false-alarm rate.
3. Where r is not established, the orders are two samples of one effect: the verdict over all groups stands, unless the
   orders' estimates lie on different sides of no effect.
4. Where r is established, a verdict stands only if each order alone gives it: for a difference its estimate beyond the
   margin and its 95 % interval without 1, for none its 95 % interval within the margin.
   An effect that one comparison of a load establishes is held against the load's other comparisons in the same way.
5. Otherwise the experiment settles longer between the variants and measures anew in balanced groups. If the orders
   still disagree, the word is `not measured`.

Not chosen: `no material difference` only where the 99 % interval of r lies within a quarter of the margin. It needs 15
to 30 times as many groups as the verdict: on white noise of 5 % it falls from 100 to 0 % of the runs
(tests/measured/README.md, "Order").
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec

from hostdx.scenarios.contract.events import RunVerdict
from hostdx.scenarios.contract.verdict.order import contradiction_words, order_words, word_held_to_order
from hostdx.scenarios.contract.verdict.verdict import (
    OrderEffect,
    as_undecided,
    margin_edge,
    ratio_interval,
    ratio_of,
)
from hostdx.scenarios.experiment.statistics.dependence import groups_per_unit, unit_means_and_weights
from hostdx.scenarios.experiment.statistics.distributions import t_quantile
from hostdx.scenarios.experiment.statistics.hodges_lehmann import walsh_ends
from hostdx.scenarios.experiment.statistics.stats import EstimateWithInterval, interval_over_groups

ORDER_LEVEL = 0.005  # of the interval of being second, at each analysis: a run has several
MIN_GROUPS_BY_ORDER = 4  # in both orders together: two estimates leave two degrees of freedom
_PART_OF_MARGIN = 4
_MIN_SIGNED_RANKS = 8  # in an order: with fewer the signed ranks reach no 95 %


def baseline_first(order: Sequence[str], baseline: str, variant: str) -> bool | None:
    """Return whether the baseline was measured before the variant; None where one of them is missing."""
    if baseline not in order or variant not in order:
        return None
    return list(order).index(baseline) < list(order).index(variant)


def order_effect(log_ratios: Sequence[float], firsts: Sequence[bool], margin: float) -> OrderEffect | None:
    """Return the effect by order; None where an order has no group or both together have fewer than four.

    log_ratios: of each group, below 0 is slower. firsts: whether the baseline came first in it.
    """
    orders = [
        [x for x, first in zip(log_ratios, firsts, strict=True) if first is which] for which in (True, False)
    ]
    if not all(orders) or len(log_ratios) < MIN_GROUPS_BY_ORDER:
        return None
    middles = [walsh_ends(values, None, 0).middle for values in orders]
    freedom = len(log_ratios) - 2
    squares = math.fsum((x - m) ** 2 for values, m in zip(orders, middles, strict=True) for x in values)
    pooled = math.sqrt(squares / freedom)
    alone = [
        _effect_in_one_order(values, m, pooled, freedom) for values, m in zip(orders, middles, strict=True)
    ]
    second = (middles[0] - middles[1]) / 2
    middle = (middles[0] + middles[1]) / 2
    distances = [(x - middle) * (1 if first else -1) for x, first in zip(log_ratios, firsts, strict=True)]
    length = groups_per_unit(distances)
    means, weights = unit_means_and_weights(distances, None, length)
    spread = interval_over_groups(means, ORDER_LEVEL, weights, pooled / math.sqrt(length))
    assert spread is not None, "four groups or more"
    edge = margin_edge(margin)
    low, high = min(spread.low, second), max(spread.high, second)
    is_established = (low > 0 or high < 0) and abs(second) > edge / _PART_OF_MARGIN
    return OrderEffect(
        ratios=(ratio_of(middles[0]), ratio_of(middles[1])),
        ci95=(
            ratio_interval(alone[0].low, alone[0].high),
            ratio_interval(alone[1].low, alone[1].high),
        ),
        groups=(len(orders[0]), len(orders[1])),
        second=ratio_of(second),
        second_ci=ratio_interval(low, high),
        is_established=is_established,
    )


def hold_to_shared_orders(verdicts: Sequence[RunVerdict]) -> list[RunVerdict]:
    """Return the verdicts of one load, held to the order effects that any of its comparisons established.

    What one variant leaves to the next one was seen under this load then (today's value measured twice, for example).
    So a verdict of the same metric stands only where each order alone gives it, also where its own groups are too few
    to establish the effect; else it is `inconclusive`.
    """
    established_orders = {v.metric: v for v in verdicts if v.order is not None and v.order.is_established}
    return [
        _held_to_known_order(v, established_orders[v.metric]) if v.metric in established_orders else v
        for v in verdicts
    ]


def _held_to_known_order(verdict: RunVerdict, established: RunVerdict) -> RunVerdict:
    order = verdict.order
    if order is None or established.order is None or order.is_established or verdict.verdict.is_undecided:
        return verdict
    word = word_held_to_order(
        verdict.verdict, msgspec.structs.replace(order, is_established=True), verdict.margin
    )
    if word == verdict.verdict:
        return verdict
    effect = (
        f"{contradiction_words(established.order)} between {established.variant} and {established.baseline}"
    )
    reason = f"{effect}, and each order alone does not give this: {order_words(order)}"
    reason = "; ".join(filter(None, (reason, verdict.reason)))
    return as_undecided(verdict, reason)


def _effect_in_one_order(
    values: Sequence[float], middle: float, pooled: float, freedom: int
) -> EstimateWithInterval:
    """Return the effect in one order: signed ranks, or Student's with both orders' deviation where groups are few."""
    if len(values) >= _MIN_SIGNED_RANKS and (ranked := interval_over_groups(values)) is not None:
        return ranked
    half = t_quantile(0.975, freedom) * pooled / math.sqrt(len(values))
    return EstimateWithInterval(middle, middle - half, middle + half)
