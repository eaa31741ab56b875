"""How far one run lies from another, when every load was run only a few times on each side.

With two or three runs a side a single load's own standard deviation is hardly known, and an interval made of it alone
is useless. Many loads were run, though, and what all of them together tell of the usual spread is worth some runs more:
each variance is drawn towards the common one as far as the variances' own scatter allows (Smyth 2004, "Linear models
and empirical Bayes methods", the moderated t-statistic). Loads differ in their noise, so a variance counts in units of
what the load's own blocks scatter, wherever all of them tell that.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

MIN_LOADS = 6  # for a common variance
# degrees of freedom: the others' word is worth no more than so many runs of the load itself
MAX_BORROWED_FREEDOM = 30.0


class ModeratedVariance(NamedTuple):
    """Of one run's log mean, with the degrees of freedom that the estimate is worth."""

    value: float
    freedom: float


class ObservedVariance(NamedTuple):
    """`value` from `freedom` >= 1 repeated runs; `within` what the runs' own blocks say of a mean (None: nothing)."""

    value: float
    freedom: int
    within: float | None


def moderate_variances(observed: Sequence[ObservedVariance]) -> list[ModeratedVariance]:
    """One a load, in order. Never less than what the blocks within the runs say."""
    within = [o.within for o in observed if o.within]
    units = within if len(within) == len(observed) else [1.0] * len(observed)
    least = _quarter_of_least_variance([o.value for o in observed])
    values = [max(o.value, least) / unit for o, unit in zip(observed, units, strict=True)]
    prior = _common_variance(values, [o.freedom for o in observed])
    variances = []
    for observation, value, unit in zip(observed, values, units, strict=True):
        freedom: float = observation.freedom
        if prior is not None:
            value = (prior.freedom * prior.value + freedom * value) / (prior.freedom + freedom)
            freedom += prior.freedom
        # A load with a wild run keeps all of its own spread: the others' calm is no reason to believe in its effect.
        variances.append(
            ModeratedVariance(max(value * unit, observation.value, observation.within or 0.0), freedom)
        )
    return variances


def _quarter_of_least_variance(values: Sequence[float]) -> float:
    """Runs that agree to the last digit (imported, rounded ones) still have a variance."""
    positive = [v for v in values if v > 0]
    return min(positive, default=1e-8) / 4


def _common_variance(values: Sequence[float], freedoms: Sequence[int]) -> ModeratedVariance | None:
    """The common variance by the moments of the logs; None with too few loads, or where they have nothing in common."""
    if len(values) < MIN_LOADS:
        return None
    logs = [math.log(v) - digamma(d / 2) + math.log(d / 2) for v, d in zip(values, freedoms, strict=True)]
    mean = math.fsum(logs) / len(logs)
    scatter = math.fsum((x - mean) ** 2 for x in logs) / (len(logs) - 1)
    excess = scatter - math.fsum(trigamma(d / 2) for d in freedoms) / len(freedoms)
    freedom = (
        MAX_BORROWED_FREEDOM if excess <= 0 else min(MAX_BORROWED_FREEDOM, 2 * _trigamma_inverse(excess))
    )
    if freedom < 0.1:
        return None
    return ModeratedVariance(math.exp(mean + digamma(freedom / 2) - math.log(freedom / 2)), freedom)


def digamma(x: float) -> float:
    """For x > 0, by recurrence and the asymptotic series (DLMF 5.11.2)."""
    total = 0.0
    while x < 8:
        total -= 1 / x
        x += 1
    y = 1 / (x * x)
    return total + math.log(x) - 0.5 / x - y * (1 / 12 - y * (1 / 120 - y * (1 / 252 - y / 240)))


def trigamma(x: float) -> float:
    """For x > 0 (DLMF 5.15.8)."""
    total = 0.0
    while x < 8:
        total += 1 / (x * x)
        x += 1
    y = 1 / (x * x)
    return total + 1 / x + y / 2 + y / x * (1 / 6 - y * (1 / 30 - y * (1 / 42 - y / 30)))


def _trigamma_inverse(value: float) -> float:
    """x with trigamma(x) = value; it falls from infinity to nought."""
    low, high = 1e-6, 1e6
    for _ in range(100):
        middle = math.sqrt(low * high)
        if trigamma(middle) > value:
            low = middle
        else:
            high = middle
    return middle
