"""The value of each variant of a load, so that value B / value A is the effect that stands beside them.

A variant's centre is the median over the groups that its first verdict rests on. The centres' quotient is seldom the
effect: that is estimated within the groups. So the centres are moved in logs, all by least squares, until each quotient
is the effect. A load then has one value a variant. Only where pairs form a circle (A to B, B to C, A to C) a pair that
does not fit by more than half a per cent has values of its own.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import fmean, median
from typing import TypeAlias

Pair: TypeAlias = tuple[str, str]  # baseline, variant
FITS = math.log(1.005)


def pair_values(
    means: Mapping[Pair, tuple[Sequence[float], Sequence[float]]], effects: Mapping[Pair, float]
) -> dict[Pair, tuple[float, float]]:
    """Return the values of baseline and variant of each pair.

    means: each counted group's mean of the baseline and of the variant, in the metric's unit. effects: the logarithm of
    variant over baseline in that unit (not turned). Pairs without an effect or a mean above 0 are left out.
    """
    centres: dict[str, float] = {}
    usable_pairs = [pair for pair in effects if all(min(side, default=0.0) > 0 for side in means[pair])]
    for pair in usable_pairs:
        for variant, side in zip(pair, means[pair], strict=True):
            centres.setdefault(variant, math.log(median(side)))
    values_by_pair: dict[Pair, tuple[float, float]] = {}
    waiting = list(usable_pairs)
    while waiting:
        offsets = {waiting[0][0]: 0.0}  # of one connected part, from its first baseline
        while joined := [pair for pair in waiting if (pair[0] in offsets) != (pair[1] in offsets)]:
            for baseline, variant in joined:
                if baseline in offsets:
                    offsets.setdefault(variant, offsets[baseline] + effects[baseline, variant])
                elif variant in offsets:
                    offsets[baseline] = offsets[variant] - effects[baseline, variant]
        shift = fmean(centres[variant] - offset for variant, offset in offsets.items())
        for pair in [pair for pair in waiting if pair[0] in offsets]:
            left, right = (shift + offsets[variant] for variant in pair)
            if abs(right - left - effects[pair]) > FITS:
                middle, half = (left + right) / 2, effects[pair] / 2
                left, right = middle - half, middle + half
            values_by_pair[pair] = math.exp(left), math.exp(right)
            waiting.remove(pair)
    return values_by_pair


def are_two_regimes(baseline: Sequence[float], variant: Sequence[float], low: float, high: float) -> bool:
    """Return whether the quotient of the medians lies outside of the effect's interval (in logs, not turned)."""
    if min((*baseline, *variant), default=0.0) <= 0:
        return False
    return not low <= math.log(median(variant)) - math.log(median(baseline)) <= high
