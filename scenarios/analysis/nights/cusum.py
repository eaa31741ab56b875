"""Since when is a load slower than it was? A one-sided CUSUM over nights, against a frozen baseline.

Of each night comes one figure a load, as a logarithm turned so that more is better. The first nights are the baseline:
its centre is their Hodges-Lehmann estimate, its deviation Qn (Rousseeuw and Croux, "Alternatives to the median absolute
deviation", JASA 88, 1993), which a seventh of disturbed nights hardly moves. From then on each night's distance below
the centre, in deviations and at most `CLIP`, less `DRIFT`, is summed up, never below zero (Page, "Continuous inspection
schemes", Biometrika 41, 1954). More than `LIMIT` is not enough: the shift of the nights since the sum last was
zero (Hodges-Lehmann of them, none further from their median than half of `CLIP`) is judged by the one rule of verdicts.
Its interval is 95 % over all loads of a battery and a year of nights, and as wide as nights that follow each other are
alike. So neither one bad night nor a slow wave of the noise
changes anything.

How often it is wrong and how soon it is right: tests/measured/README.md, "Nights".
"""

import math
from collections.abc import Sequence
from itertools import pairwise
from statistics import fmean, median, pvariance
from typing import NamedTuple

from hostdx.scenarios.contract.verdict.verdict import EffectEstimate, margin_edge, rule_on_effect
from hostdx.scenarios.experiment.statistics.distributions import t_quantile
from hostdx.scenarios.experiment.statistics.hodges_lehmann import walsh_averages
from hostdx.scenarios.experiment.statistics.stats import Better

BASELINE_NIGHTS = 28
MIN_NIGHTS = 14  # of a load that some nights do not have, and of a first baseline that a change cuts short
MARGIN = 0.03
ERROR = 0.05  # over all loads and ...
STRETCHES = 36  # ... a year of nights, ten of which are about one look
CLIP = 3.0  # deviations
DRIFT = 1.0
LIMIT = 6.0
CEILING = 9.0  # the sum grows no further, so that a recovered load is seen to be so
FLOOR = 0.003  # of the level: clocks and printed digits make nights equal that were not
_QN = 2.2219  # Qn's factor for a normal distribution
_SAFE = 0.5  # of its own standard error, added to the deviation: taken too small it gives most false alarms
_MIDDLE = math.pi / 3  # the variance of the Hodges-Lehmann estimate over a mean's
_UNCERTAINTY_FACTOR = 1.2  # times what is not known of how alike a load's nights are, taken as alike, too
_MAX_CORRELATION = 0.7  # correlation of neighbouring nights: more cannot be told from a trend in 28 of them


class BaselineReference(NamedTuple):
    """Of the baseline's nights, on the log scale. `alike`: a night's correlation with the next one, 0 and more."""

    centre: float
    deviation: float
    alike: float
    nights: int

    def value(self, better: Better) -> float:
        """The centre in the metric's own unit."""
        return math.exp(self.centre if better == "more" else -self.centre)


class CusumShift(NamedTuple):
    """Of the nights since `since` (an index) against the baseline, as a ratio with its 95 % interval."""

    since: int
    ratio: float
    ci95: tuple[float, float]
    nights: int


class Cusum(NamedTuple):
    """`sums`: the CUSUM after each night. `shifts`: each time a slowdown was found, with the night that showed it."""

    sums: tuple[float, ...]
    shifts: tuple[tuple[int, CusumShift], ...]
    slow: bool  # after the last night


def baseline_references(columns: Sequence[Sequence[float]]) -> list[BaselineReference]:
    """The loads of one host together, each of at least three nights: what 28 nights of one load tell of how alike
    neighbours are is drawn towards the mean of all loads, as far as these do not differ by more than chance."""
    scaled = [(median(walsh_averages(logs)), max(FLOOR, _qn_deviation(logs))) for logs in columns]
    alike = [
        _lag_correlation([max(-2.0, min(2.0, (x - centre) / deviation)) for x in logs])
        for logs, (centre, deviation) in zip(columns, scaled, strict=True)
    ]
    mean = fmean(alike) if alike else 0.0
    by_chance = fmean((1 - mean * mean) / len(logs) for logs in columns) if columns else 1.0
    own = max(0.0, 1 - by_chance / max(pvariance(alike, mean), 1e-9)) if len(alike) > 1 else 1.0
    unsure = _UNCERTAINTY_FACTOR * math.sqrt(own * by_chance)
    references = []
    for (centre, deviation), a, logs in zip(scaled, alike, columns, strict=True):
        drawn = min(_MAX_CORRELATION, max(0.0, mean + own * (a - mean) + unsure))
        error = math.sqrt(_autocorrelation_factor(drawn) / (2 * len(logs)))
        references.append(BaselineReference(centre, deviation * (1 + _SAFE * error), drawn, len(logs)))
    return references


def _autocorrelation_factor(alike: float) -> float:
    """By how much the variance of a mean is larger where values follow each other alike (AR(1))."""
    return (1 + alike) / (1 - alike)


def _qn_deviation(values: Sequence[float]) -> float:
    n = len(values)
    distances = sorted(abs(a - b) for i, a in enumerate(values) for b in values[:i])
    h = n // 2 + 1
    small = n / (n + 3.8) if n % 2 == 0 else n / (n + 1.4)
    return _QN * small * distances[h * (h - 1) // 2 - 1]


def _lag_correlation(scores: Sequence[float]) -> float:
    """Lag-1 correlation without its bias in few values (Kendall, "Note on bias in the estimation of
    autocorrelation", Biometrika 41, 1954)."""
    n = len(scores)
    mean = math.fsum(scores) / n
    own = math.fsum((s - mean) ** 2 for s in scores)
    if n < 8 or own <= 0:
        return 0.0
    raw_correlation = math.fsum((a - mean) * (b - mean) for a, b in pairwise(scores)) / own
    return max(-1.0, min(1.0, (n * raw_correlation + 1) / (n - 4)))


def night_deviation(log: float, base: BaselineReference, before: float | None = None) -> float:
    """In deviations, below 0 is slower, clipped; less what is to be expected of it after the night `before`."""
    now = (log - base.centre) / base.deviation
    if before is None:
        return _clip_deviations(now)
    expected = base.alike * (before - base.centre) / base.deviation
    return _clip_deviations((now - expected) / math.sqrt(1 - base.alike**2))


def _clip_deviations(deviations: float) -> float:
    return max(-CLIP, min(CLIP, deviations))


def cusum_after_night(
    total: float, log: float, base: BaselineReference, before: float | None = None
) -> float:
    """The sum after one more night."""
    return min(CEILING, max(0.0, total - night_deviation(log, base, before) - DRIFT))


def cusum_of_nights(
    logs: Sequence[float], base: BaselineReference, loads: int, margin: float = MARGIN
) -> Cusum:
    """Of the nights after the baseline, in their order. `loads`: how many are looked at together."""
    sums: list[float] = []
    shifts: list[tuple[int, CusumShift]] = []
    total, since, slow = 0.0, 0, False
    for night, log in enumerate(logs):
        before, total = total, cusum_after_night(total, log, base, logs[night - 1] if night else None)
        if total <= 0:
            slow = False
        elif before <= 0:
            since = night
        if total > LIMIT and not slow:
            shift = shift_of_nights(logs[since : night + 1], base, loads, margin)
            if shift is not None:
                shifts.append((night, shift._replace(since=_shift_start_index(logs, since, night, base))))
                slow = True
        sums.append(total)
    return Cusum(tuple(sums), tuple(shifts), slow)


def _shift_start_index(logs: Sequence[float], since: int, night: int, to: BaselineReference) -> int:
    """The first night of the shift: from where on the shortfall beyond half of what is clipped is
    largest. The sum may have begun with an ordinary low night before it."""
    best, total, most = night, 0.0, -math.inf
    for n in range(night, since - 1, -1):
        total += -night_deviation(logs[n], to) - CLIP / 2
        if total > most:
            best, most = n, total
    return best


def shift_of_nights(
    logs: Sequence[float], base: BaselineReference, loads: int, margin: float = MARGIN
) -> CusumShift | None:
    """None where these nights are not slower than the baseline by more than the margin."""
    middle, most = median(logs), CLIP / 2 * base.deviation
    near = sorted(max(middle - most, min(middle + most, log)) for log in logs)
    effect = median(walsh_averages(near)) - base.centre
    wide = _autocorrelation_factor(base.alike)
    error = base.deviation * math.sqrt(wide * (_MIDDLE / len(logs) + 1 / base.nights))
    freedom = max(2.0, base.nights / wide - 1)  # nights that are alike tell less of their spread as well
    half = t_quantile(1 - ERROR / loads / STRETCHES / 2, freedom) * error
    low, high = effect - half, effect + half
    if not rule_on_effect(EffectEstimate(effect, low, high, margin_edge(margin))).word.is_slower:
        return None
    return CusumShift(0, math.exp(effect), (math.exp(low), math.exp(high)), len(logs))
