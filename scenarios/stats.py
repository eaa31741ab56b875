"""From a group's blocks to an estimate with an interval over the groups.

The unit of inference is the group. Within a group every variant's blocks stand symmetrically (ABBA or
BAAB), so a linear drift of the log rates cancels. Which of the two orders a group gets is drawn anew for
each group; with a constant ratio delta, the group's log ratio is therefore delta + s * c with a fair coin s
= +-1 and whatever c the noise of these seconds gave. Signs are independent and fair *whatever the noise
is*: autocorrelated, drifting, periodic, bursting. So Wilcoxon's signed-rank test of "log ratio - delta"
holds its level exactly, and the interval of all deltas that it does not reject (order statistics of the
Walsh averages) is exact or conservative, without an assumption about the noise. A single wild group moves
it by some ranks only.

Fewer groups than a level can be reached with (2**(1-n) > alpha) have Student's interval instead: under
symmetric noise with heavy tails it errs on the safe side (Efron 1969, "Student's t-test under symmetry
conditions").
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, NamedTuple

from scenarios.distributions import signed_rank_critical, t_quantile

Better = Literal["more", "less"]


class Spread(NamedTuple):
    """An estimate with the interval that goes with it, in the unit of the values."""

    estimate: float
    low: float
    high: float

    @property
    def half_width(self) -> float:
        return (self.high - self.low) / 2


def log_ratio(baseline: Sequence[float], variant: Sequence[float], better: Better = "more") -> float | None:
    """ln(variant/baseline) of one group from its blocks' values, turned so that below 0 is always slower.

    The mean of the logs, not the log of the means: only so does a drift by a constant factor a block cancel
    in ABBA. None when a value is not positive and finite (a stalled block has no ratio: measure the group
    again).
    """
    if not baseline or not variant:
        return None
    if any(not (value > 0 and math.isfinite(value)) for value in (*baseline, *variant)):
        return None
    ratio = math.fsum(map(math.log, variant)) / len(variant) - math.fsum(map(math.log, baseline)) / len(
        baseline
    )
    return ratio if better == "more" else -ratio


def difference(baseline: Sequence[float], variant: Sequence[float]) -> float:
    """variant - baseline of one group's blocks, in the metric's own unit and direction."""
    return math.fsum(variant) / len(variant) - math.fsum(baseline) / len(baseline)


def walsh_averages(values: Sequence[float]) -> list[float]:
    """The sorted means of all pairs, each value with itself included: n(n+1)/2 of them."""
    return sorted([(a + b) / 2 for i, a in enumerate(values) for b in values[i:]])


def _middle(ordered: Sequence[float]) -> float:
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2


def pseudomedian(values: Sequence[float]) -> float:
    """Hodges and Lehmann's estimate: the median of the Walsh averages."""
    return _middle(walsh_averages(values))


def student(values: Sequence[float], alpha: float) -> Spread:
    """The mean with Student's interval; two values at least."""
    n = len(values)
    mean = math.fsum(values) / n
    deviation = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (n - 1))
    half = t_quantile(1.0 - alpha / 2, n - 1) * deviation / math.sqrt(n)
    return Spread(mean, mean - half, mean + half)


def over_groups(values: Sequence[float], alpha: float = 0.05) -> Spread | None:
    """Estimate and interval at level 1 - alpha over the groups' values. None below two groups."""
    n = len(values)
    if n < 2:
        return None
    averages = walsh_averages(values)
    estimate = _middle(averages)
    critical = signed_rank_critical(n, alpha)
    if critical is not None:
        return Spread(estimate, averages[critical], averages[len(averages) - 1 - critical])
    _, low, high = student(values, alpha)
    return Spread(estimate, min(low, estimate), max(high, estimate))
