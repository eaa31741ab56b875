"""A side that rises or falls while it is measured: then the effect is a function of how long one looked.

What both sides do alike is the host's and cancels within the groups. A side's own course shows as a trend of the
groups' log ratio. The line is Theil and Sen's (the median slope of all pairs of points), its certainty Kendall's:
neither asks for normal noise, and a burst moves neither.
"""

import math
import sys
from collections.abc import Sequence
from functools import lru_cache
from statistics import median
from typing import NamedTuple

from hostdx.scenarios.experiment.statistics.distributions import normal_tail

HALVES = math.log(2)  # of a side, from its beginning to its end: a fall to a half, a rise to double
TOGETHER = math.log(1.25)  # how far the ratio of the sides must move, for the course not to be the host's
SURE = 0.01
MAX_LOG = math.log(sys.float_info.max)
MIN_POINTS = 6  # points; with fewer no order of them is sure at 1 %
_POINTS = 60  # more are averaged to so many: the pairs grow with the square


class FittedLine(NamedTuple):
    """The fitted line's ends, in logs; `p` of a trend this sure or surer in values without one (two-sided)."""

    first: float
    last: float
    p: float

    @property
    def total_change(self) -> float:
        return self.last - self.first


class Drift(NamedTuple):
    """A side that halves or doubles within a load. Values in the metric's unit."""

    variant: str
    first: float
    last: float


def fit_trend(values: Sequence[float]) -> FittedLine | None:
    """Of values at equal distances; None with fewer than 6."""
    return _fit_median_line(tuple(values))


@lru_cache(maxsize=128)  # a screen asks for the same groups with each drawing
def _fit_median_line(values: tuple[float, ...]) -> FittedLine | None:
    points = _thin_by_means(values)
    n = len(points)
    if n < MIN_POINTS:
        return None
    slopes, above, below = [], 0, 0
    for i, a in enumerate(points):
        for distance, b in enumerate(points[i + 1 :], 1):
            slopes.append((b - a) / distance)
            above += b > a
            below += b < a
    slope = median(slopes)
    level = median(point - slope * i for i, point in enumerate(points))
    deviation = math.sqrt(n * (n - 1) * (2 * n + 5) / 18)
    z = max(0, abs(above - below) - 1) / deviation
    return FittedLine(level, level + slope * (n - 1), min(1.0, 2 * normal_tail(z)))


def drifting_variants(
    baseline: Sequence[float], variant: Sequence[float], pair: tuple[str, str]
) -> list[Drift]:
    """Return the variants that drift on their own, the stronger one first; not empty: no effect can be given.

    baseline, variant: each group's mean, in the metric's unit, in the order measured; groups in which one of them gave
    nothing are left out.
    """
    both = [(a, b) for a, b in zip(baseline, variant, strict=True) if a > 0 and b > 0]
    ratio = fit_trend([math.log(b) - math.log(a) for a, b in both])
    if ratio is None or ratio.p > SURE or abs(ratio.total_change) < TOGETHER:
        return []
    against = {pair[0]: -ratio.total_change, pair[1]: ratio.total_change}
    own = find_halving_or_doubling([a for a, _ in both], [b for _, b in both], pair)
    return [drift for drift in own if (drift.last - drift.first) * against[drift.variant] > 0]


def find_halving_or_doubling(
    baseline: Sequence[float], variant: Sequence[float], pair: tuple[str, str]
) -> list[Drift]:
    """Return the variants that halve or double, whatever the other does, the stronger one first: their levels
    describe no steady state.
    """
    drifts = []
    for name, values in zip(pair, (baseline, variant), strict=True):
        own = fit_trend([math.log(value) for value in values if value > 0])
        if own is not None and own.p <= SURE and abs(own.total_change) >= HALVES:
            drifts.append(
                (abs(own.total_change), Drift(name, _limited_exp(own.first), _limited_exp(own.last)))
            )
    return [drift for _, drift in sorted(drifts, reverse=True)]


def _limited_exp(logarithm: float) -> float:
    """Return the exponential, limited to the largest number that there is."""
    return math.exp(min(logarithm, MAX_LOG))


def _thin_by_means(values: Sequence[float]) -> list[float]:
    """Return the values, or the means of stretches of equal length; a rest at the beginning is left out."""
    each = max(1, len(values) // _POINTS)
    start = len(values) % each
    return [math.fsum(values[i : i + each]) / each for i in range(start, len(values), each)]
