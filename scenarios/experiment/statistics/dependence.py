"""Groups that depend on each other are put together, so that their interval does not shrink with their number.

The drawn order makes the noise of each group a fair coin of its own, whatever the host does; but a side that is slower
for some seconds and faster for some others (where its file lies, what its cache holds) shifts neighbouring groups
alike. Then twice as many groups in the same seconds know no more. The products of neighbouring groups tell: under fair
coins each is as often positive as negative, so their sum over a lag has the variance of the sum of their squares,
whatever the sizes.
"""

import math
from collections.abc import Iterator, Sequence
from itertools import accumulate
from operator import mul, sub
from statistics import median

from hostdx.scenarios.experiment.statistics.distributions import normal_quantile

LEVEL = 0.01  # of a call on independent groups, over all lags
MIN_GROUPS = 24  # groups, before neighbours can tell anything
MIN_BATCHES = 8
_CLIPPED = 4.0  # deviations: one wild group is not to hide the rest, nor to be it
_LENGTHS = 4  # a batch is so many times the correlation's length: then the batches are nearly independent


def groups_per_unit(log_ratios: Sequence[float]) -> int:
    """Return how many consecutive groups are one unit of inference: 1 where they are independent."""
    n = len(log_ratios)
    if n < MIN_GROUPS:
        return 1
    scores = _clipped_scores(log_ratios)
    lags = [1 << i for i in range(n.bit_length()) if 1 << i <= n // 4]
    threshold = normal_quantile(1 - LEVEL / len(lags))
    squares = [score * score for score in scores]
    ahead, squares_ahead = _cumulative_sums(scores), _cumulative_sums(squares)
    own = squares_ahead[-1]
    correlation = 0.0
    for lag in lags:
        product = math.fsum(map(mul, scores, _sums_after(ahead, lag)))
        variance = math.fsum(map(mul, squares, _sums_after(squares_ahead, lag)))
        if variance > 0 and product > threshold * math.sqrt(variance):
            correlation = max(correlation, 2 * product / own)
    if not correlation:
        return 1
    return max(2, min(math.ceil(_LENGTHS * (1 + correlation)), n // MIN_BATCHES))


def _cumulative_sums(values: Sequence[float]) -> list[float]:
    return [0.0, *accumulate(values)]


def _sums_after(cumulated: list[float], lag: int) -> Iterator[float]:
    """Yield for each value the sum of the `lag` values that follow it; fewer at the end."""
    return map(sub, [*cumulated[lag + 1 :], *[cumulated[-1]] * lag], cumulated[1:])


def _clipped_scores(values: Sequence[float]) -> list[float]:
    """Return the values, centred, in units of the usual deviation, and clipped."""
    middle = median(values)
    deviations = [value - middle for value in values]
    usual = 1.4826 * median([abs(x) for x in deviations])
    if usual <= 0:
        return [float((x > 0) - (x < 0)) for x in deviations]
    return [min(_CLIPPED, max(-_CLIPPED, x / usual)) for x in deviations]


def unit_means_and_weights(
    values: Sequence[float], weights: Sequence[float] | None, length: int
) -> tuple[list[float], list[float]]:
    """Return the (weighted) means of consecutive values and their weights; a shorter rest joins the last batch."""
    weights = [1.0] * len(values) if weights is None else weights
    cuts = [i * length for i in range(max(1, len(values) // length))]
    means, sums = [], []
    for start, end in zip(cuts, [*cuts[1:], len(values)], strict=True):
        total = math.fsum(weights[start:end])
        means.append(
            math.fsum(v * w for v, w in zip(values[start:end], weights[start:end], strict=True)) / total
        )
        sums.append(total)
    return means, sums
