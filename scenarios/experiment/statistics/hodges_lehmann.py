"""Order statistics of the Walsh averages: what Wilcoxon's signed-rank test is inverted with.

A Walsh average is the (weighted) mean of two groups, each group with itself included: n(n+1)/2 of them. Up to 120
groups they are listed and sorted. Beyond, 2000 groups have two million, a second and a half to sort; how many lie below
a point costs one sort of the n distances to it (the average of i and j is below t exactly where
w_i (x_i - t) + w_j (x_j - t) < 0), so the ends are found by a bracketing search: 20 ms for 2000 groups.
"""

import math
from collections.abc import Sequence
from itertools import compress, count
from statistics import median
from typing import NamedTuple

_LISTED_UP_TO = 120
_SLACK = 20  # an end may lie n/20 ranks outside of the exact one: less than 0.02 of the rank sum's deviation
_STEPS = 200  # a bisection of any two floats needs fewer; it only bounds the search


class WalshEnds(NamedTuple):
    """The middle Walsh average, and those `critical` places from either end."""

    middle: float
    low: float
    high: float


def walsh_averages(values: Sequence[float], weights: Sequence[float] | None = None) -> list[float]:
    """Return all Walsh averages, sorted.

    The signed ranks of weight * (value - delta) have a positive sum as often as such a mean exceeds delta.
    """
    if weights is None:
        values = sorted(values)  # rising runs: they are merged, in half of the time for 120 values
        return sorted([(a + b) / 2 for i, a in enumerate(values) for b in values[i:]])
    weighted = [(value * weight, weight) for value, weight in zip(values, weights, strict=True)]
    return sorted([(a + b) / (u + v) for i, (a, u) in enumerate(weighted) for b, v in weighted[i:]])


def walsh_ends(values: Sequence[float], weights: Sequence[float] | None, critical: int) -> WalshEnds:
    """Return the averages that remain after `critical` are left out at either end; with more than 120 values at most
    n/20 too few are left out.
    """
    if len(values) <= _LISTED_UP_TO:
        averages = walsh_averages(values, weights)
        return WalshEnds(median(averages), averages[critical], averages[len(averages) - 1 - critical])
    weights = [1.0] * len(values) if weights is None else weights
    pairs = len(values) * (len(values) + 1) // 2
    slack = max(1, len(values) // _SLACK)
    mirrored = [-value for value in values]
    middle = _point_below(values, weights, (pairs + slack) // 2, slack)
    low = _point_below(values, weights, critical, slack)
    high = -_point_below(mirrored, weights, critical, slack)
    return WalshEnds(min(max(middle, low), high), low, high)


def _point_below(values: Sequence[float], weights: Sequence[float], target: int, slack: int) -> float:
    """Return a point with at most `target` averages below it, and at least `target - slack` unless many are equal."""
    low, high = min(values), max(values)
    at_low, at_high = 0, len(values) * (len(values) + 1) // 2
    aim = target - slack / 2
    halve = False
    for _ in range(_STEPS):
        share = 0.5 if halve else min(0.98, max(0.02, (aim - at_low) / max(1, at_high - at_low)))
        point = low + (high - low) * share
        if not low < point < high:
            break
        below = averages_below(point, values, weights)
        if target - slack <= below <= target:
            return point
        width = high - low
        if below > target:
            high, at_high = point, below
        else:
            low, at_low = point, below
        halve = high - low > width / 2  # the interpolation went wrong
    return low


def averages_below(point: float, values: Sequence[float], weights: Sequence[float]) -> int:
    """Return how many Walsh averages lie below the point (one at the point itself may be counted): the rank sum."""
    distances = [weight * (value - point) for value, weight in zip(values, weights, strict=True)]
    distances.sort(key=math.fabs)
    return sum(compress(count(1), [distance < 0 for distance in distances]))
