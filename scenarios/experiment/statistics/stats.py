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
conditions"). A neighbour in the groups' own rhythm gives all of them the same c, and then four coins that fall
alike look like a sure effect: see `sequential.SequentialComparison.block_agreement`.
"""

import math
from collections.abc import Iterable, Sequence
from itertools import pairwise
from statistics import median, stdev
from typing import Literal, NamedTuple, TypeAlias

from hostdx.scenarios.experiment.statistics.distributions import (
    binomial_tail,
    signed_rank_critical,
    t_quantile,
)
from hostdx.scenarios.experiment.statistics.hodges_lehmann import walsh_ends

Better = Literal["more", "less"]


class EstimateWithInterval(NamedTuple):
    """An estimate with the interval that goes with it, in the unit of the values."""

    estimate: float
    low: float
    high: float

    @property
    def half_width(self) -> float:
        return (self.high - self.low) / 2


def sum_of_squares(values: Sequence[float]) -> float:
    """Of the distances from their mean."""
    mean = math.fsum(values) / len(values)
    return math.fsum((value - mean) ** 2 for value in values)


Sides: TypeAlias = tuple[tuple[float, ...], tuple[float, ...]]


class GroupValue(NamedTuple):
    """One group's log ratio (below 0 is slower), and how far windows of the same variant lay apart in it.

    `sides`: the windows' values of baseline and variant, turned so that less is slower.
    """

    log_ratio: float
    scatter: float
    sides: Sides


def group_value(
    baseline: Sequence[float], variant: Sequence[float], better: Better = "more"
) -> GroupValue | None:
    """Return ln(variant/baseline) of one group from its windows' values, turned so that below 0 is always slower.

    It is the ratio of the means: the work done in the variant's seconds over that in the baseline's. A drift of 1 % per
    window leaves less than 0.01 % of itself in ABBA. `scatter` is the pooled standard deviation of the logs of equal
    windows. None where a value is not positive and finite: a stalled window has no ratio.
    """
    if not baseline or not variant:
        return None
    if any(not (value > 0 and math.isfinite(value)) for value in (*baseline, *variant)):
        return None
    ratio = math.log(math.fsum(variant) / len(variant)) - math.log(math.fsum(baseline) / len(baseline))
    squares = 0.0
    for values in (baseline, variant):
        squares += sum_of_squares([math.log(value) for value in values])
    scatter = math.sqrt(squares / max(1, len(baseline) + len(variant) - 2))
    sign = 1.0 if better == "more" else -1.0
    sides = tuple(sign * value for value in baseline), tuple(sign * value for value in variant)
    return GroupValue(sign * ratio, scatter, sides)


def log_ratio(baseline: Sequence[float], variant: Sequence[float], better: Better = "more") -> float | None:
    """Return the log ratio of `group_value` alone."""
    value = group_value(baseline, variant, better)
    return None if value is None else value.log_ratio


def slower_pair_share(sides: Sequence[Sides]) -> float:
    """Return the share of all pairs of windows, one of the baseline and one of the variant over all groups, in which
    the variant is slower.
    """
    baseline = [value for baseline_values, _ in sides for value in baseline_values]
    variant = [value for _, variant_values in sides for value in variant_values]
    return sum(b < a for a in baseline for b in variant) / max(1, len(baseline) * len(variant))


def calm_weights(scatters: Sequence[float]) -> list[float]:
    """Return a weight for each group, larger in a calm stretch: 1 / (local variance + usual variance).

    `local` is the mean scatter of a group and its two neighbours, `usual` the median of all. Differences of equal
    windows know neither the effect nor which variant came first, so these weights leave the signs fair coins and the
    interval exact. Neighbours are included so that a variant which stalls now and then cannot hide its stalls in groups
    without weight.
    """
    usual = median(scatters)
    if usual <= 0:
        return [1.0] * len(scatters)
    weights = []
    for i in range(len(scatters)):
        near = scatters[max(0, i - 1) : i + 2]
        local = sum(near) / len(near)
        weights.append(1 / ((local / usual) ** 2 + 1))
    return weights


def sample_deviation(values: Sequence[float]) -> float:
    """Return the standard deviation of a sample of two values or more."""
    mean = math.fsum(values) / len(values)
    return math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1))


def student_interval(values: Sequence[float], alpha: float, floor: float = 0.0) -> EstimateWithInterval:
    """Return the mean of two values or more with Student's interval. `floor`: the least deviation to assume."""
    n = len(values)
    mean = math.fsum(values) / n
    half = t_quantile(1.0 - alpha / 2, n - 1) * max(floor, sample_deviation(values)) / math.sqrt(n)
    return EstimateWithInterval(mean, mean - half, mean + half)


def interval_over_groups(
    values: Sequence[float],
    alpha: float = 0.05,
    weights: Sequence[float] | None = None,
    floor: float = 0.0,
) -> EstimateWithInterval | None:
    """Return Hodges and Lehmann's estimate and its interval at level 1 - alpha; None below two groups.

    `floor`: the least deviation that Student's interval assumes. A handful of groups can agree by chance; the scatter
    of windows within the groups shows that.
    """
    n = len(values)
    if n < 2:
        return None
    critical = signed_rank_critical(n, alpha)
    if critical is not None:
        return EstimateWithInterval(*walsh_ends(values, weights, critical))
    estimate = walsh_ends(values, weights, 0).middle
    _, low, high = student_interval(values, alpha, floor)
    return EstimateWithInterval(estimate, min(low, estimate), max(high, estimate))


def sign_test(a: int, b: int) -> float:
    """Return the exact two-sided p of `a` against `b` events, each as likely on either side; 1 without events."""
    return min(1.0, 2 * binomial_tail(max(a, b), a + b, 0.5))


STRETCHES = 8


def median_and_interval(
    values: Sequence[float], given_value: float | None = None
) -> tuple[float, tuple[float, float] | None]:
    """Return the median of windows or slices in the order measured, and its 95 % interval; None where too few.

    The interval is Student's, over the medians of up to eight stretches, because neighbours in time are correlated.
    `given_value`, the value shown beside the effect (`levels`), takes the median's place.
    """
    if given_value is not None and (middle := median(values)) > 0:
        _, ends = median_and_interval(values)
        scale = given_value / middle
        return given_value, None if ends is None else (scale * ends[0], scale * ends[1])
    middle = median(values)
    stretches = min(STRETCHES, len(values) // 2)
    if stretches < 3:
        return middle, None
    edges = [round(n * len(values) / stretches) for n in range(stretches + 1)]
    parts = [median(values[a:b]) for a, b in pairwise(edges)]
    half = t_quantile(0.975, stretches - 1) * stdev(parts) / math.sqrt(stretches)
    return middle, (max(0.0, middle - half), middle + half)


# A variant's in a group: with fewer, the 99th percentile rests on less than ten of them.
OPERATIONS_FOR_P99 = 1000


def p99_ns(pairs: Iterable[tuple[int, int]]) -> int | None:
    """Return the 99th percentile of recorded [upper bound in ns, count] pairs of all windows; None without any."""
    return percentile_ns(pairs, 0.99)


def percentile_ns(pairs: Iterable[tuple[int, int]], share: float) -> int | None:
    """Return the upper bound at or below which `share` (0..1) of the operations lie."""
    counts: dict[int, int] = {}
    for upper, count in pairs:
        counts[upper] = counts.get(upper, 0) + count
    total, count_so_far = sum(counts.values()), 0
    for upper in sorted(counts):
        count_so_far += counts[upper]
        if count_so_far >= share * total:
            return upper
    return None
