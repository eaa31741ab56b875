"""What cannot be undone is no ABBA: a series of rounds with its trend.

Each round is divided by an interleaved reference load, which takes most of the host's own ups and downs out
of it. What is left still hangs together from round to round: a rank trend test on twelve plain rounds of
our noise series is falsely significant in 17 to 48 % of the cases. So the line is fitted as if neighbouring
rounds were correlated by 0.6 (Prais and Winsten's transformation), and by more where the residuals say so:
from six to twelve rounds alone no correlation can be told, so a fixed one is assumed rather than estimated
as absent. Called at 1 %. Simulated false calls: none without correlation, 0.9 % under AR(1) 0.6, and 4, 8
and 12 % with 6, 8 and 12 rounds of a pure random walk, in which nothing can tell a trend from a walk.
"""

import math
from bisect import bisect_left
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import TypeAlias

import msgspec

from hostdx.probes.units import count_noun, format_percent, format_percent_interval
from hostdx.scenarios.contract.verdict import verdict as rule
from hostdx.scenarios.contract.verdict.verdict import Trend
from hostdx.scenarios.experiment.statistics.distributions import t_quantile
from hostdx.scenarios.experiment.statistics.least_squares import Coefficient, LeastSquaresFit, least_squares
from hostdx.scenarios.experiment.statistics.stats import Better

MIN_ROUNDS = 6
CALLED_AT = 0.01
ASSUMED_CORRELATION = 0.6
MATTERS_A_ROUND = 0.02  # the loss that a series must have been able to show before it may say "none"
MIN_TOTAL_CHANGE = 0.01  # over all rounds seen: less is not called, however sure it is
Ends: TypeAlias = tuple[float, float]  # of an interval
PerGB: TypeAlias = tuple[float | None, Ends | None]  # the change a GB, with its interval
_GB = 1e9
_MAX_ROUNDS = 120


def fit_line(xs: Sequence[float], ys: Sequence[float], correlation: float) -> Coefficient:
    """Return the slope of ys over xs, where neighbouring errors are correlated by `correlation` (0..1)."""
    return _fit_trend_line(xs, ys, correlation).coefficient_at(1)


def _fit_trend_line(xs: Sequence[float], ys: Sequence[float], correlation: float) -> LeastSquaresFit:
    fit = least_squares([[1.0] * len(ys), [x - xs[0] for x in xs]], ys, correlation)
    assert fit is not None, "three points or more, not all at one place"
    return fit


def assumed_autocorrelation(xs: Sequence[float], ys: Sequence[float]) -> float:
    """Return the correlation to assume: 0.6, or that of the residuals (bias corrected) where it is higher."""
    n = len(ys)
    fit = _fit_trend_line(xs, ys, 0.0)
    level, slope = fit.values
    if fit.squares <= 1e-20 * math.fsum(y * y for y in ys):  # nothing but rounding
        return ASSUMED_CORRELATION
    residuals = [y - level - slope * (x - xs[0]) for x, y in zip(xs, ys, strict=True)]
    correlation = math.fsum(a * b for a, b in pairwise(residuals)) / fit.squares
    # of a detrended series it comes out too low by about that much
    corrected = correlation + (2 + 4 * correlation) / n
    return min(1.0, max(ASSUMED_CORRELATION, corrected + (0.1 if n < 12 else 0.3)))


@lru_cache(maxsize=1024)
def _slope_spread_if_even(rounds: int, correlation: float) -> float:
    """Return the spread of the slope of a line through evenly spaced rounds."""
    return _fit_trend_line([float(i) for i in range(rounds)], [0.0] * rounds, correlation).spreads[1]


def rounds_to_show(line: Coefficient, slope: float = MATTERS_A_ROUND) -> int | None:
    """Return after how many rounds such a slope would be called in about eight of ten cases; None: not soon."""
    rho = line.correlation

    def would_show(n: int) -> bool:
        if rho >= 0.995:
            error = line.noise / math.sqrt(n - 1)
        else:
            error = line.noise * math.sqrt((1 - rho * rho) * _slope_spread_if_even(n, rho))
        return slope >= (t_quantile(1 - CALLED_AT / 2, n - 2) + t_quantile(0.9, n - 2)) * error

    counts = range(MIN_ROUNDS, _MAX_ROUNDS)
    first = bisect_left(counts, True, key=would_show)  # every round more makes the error smaller
    return counts[first] if first < len(counts) else None


def _change_per_round(log_slope: float, span: float) -> float:
    """Return a log slope as the mean loss per unit over the span, as a share of round 1."""
    return math.expm1(min(50.0, log_slope * span)) / span


def log_ratios(values: Sequence[float], references: Sequence[float], better: Better) -> list[float] | None:
    """Return the logs of value over reference, where more is better; None where one is missing or 0."""
    sign = 1.0 if better == "more" else -1.0
    pairs = list(zip(values, references, strict=True))
    if any(not (v > 0 and r > 0 and math.isfinite(v) and math.isfinite(r)) for v, r in pairs):
        return None
    return [sign * (math.log(v) - math.log(r)) for v, r in pairs]


def fit_rounds(
    values: Sequence[float],
    references: Sequence[float],
    bytes_written: Sequence[float] | None = None,
    better: Better = "more",
) -> Trend:
    """Return the trend of rounds, each divided by its interleaved reference (ones where there is none).

    `bytes_written`: the total written before each round, not decreasing.
    """
    n = len(values)
    ys = log_ratios(values, references, better)
    if ys is None or n < MIN_ROUNDS:
        reason = (
            "a round without a value" if ys is None else f"{count_noun(n, 'round')}, {MIN_ROUNDS} are needed"
        )
        return Trend(rounds=n, explain=reason, reason=reason)
    xs = [float(i) for i in range(n)]
    line = fit_line(xs, ys, assumed_autocorrelation(xs, ys))
    span = n - 1.0
    slope = line.value
    low, high = line.interval_95
    interval = (_change_per_round(low, span), _change_per_round(high, span))
    per_gb = _relative_change_per_gb(ys, bytes_written, line.correlation)
    concluded = conclude_trend(line, n, _change_per_round(slope, span), interval, per_gb)
    return msgspec.structs.replace(concluded, explain=explain_trend(concluded, math.expm1(slope * span)))


def conclude_trend(line: Coefficient, n: int, a_round: float, interval: Ends, per_gb: PerGB) -> Trend:
    """Return the verdict on a line through n rounds, with slope and interval as shares per round, without a reason."""
    shows_after = rounds_to_show(line)
    return Trend(
        verdict=rule.rule_on_effect(trend_estimate(line, interval, shows_after, n)).word,
        rounds=n,
        slope_per_round=a_round,
        ci95=interval,
        p=line.p_value_of_zero,
        per_gb=per_gb[0],
        per_gb_ci95=per_gb[1],
        smallest_effect=(interval[1] - interval[0]) / 2,
        shows_after=shows_after,
    )


def trend_estimate(
    line: Coefficient, interval: Ends, shows_after: int | None, rounds: int, family: int = 1
) -> rule.EffectEstimate:
    """Return the estimate for the decision rule: the change over all rounds at the level of `CALLED_AT`; "none" is
    judged per round.

    interval: of the change per round, as shares. family: how many such lines share the level.
    """
    total, half = ((rounds - 1) * x for x in (line.value, line.half_width(CALLED_AT / family)))
    edge = rule.margin_edge(MIN_TOTAL_CHANGE)
    # something is there: whether clearly more than the least says the rule
    sure = abs(total) > max(half, edge)
    telling = shows_after is not None and shows_after <= rounds and not sure
    within = rule.IntervalWithin(*interval, MATTERS_A_ROUND, telling)
    return rule.EffectEstimate(total, total - half, total + half, edge, within=within)


def cumulative_gigabytes(written: Sequence[float] | None, rounds: int) -> list[float] | None:
    """Return the GB written since the first round; None where a round's are not known, or nothing was written."""
    if written is None or len(written) != rounds or written[-1] <= written[0]:
        return None
    return [(b - written[0]) / _GB for b in written]


def _relative_change_per_gb(
    ys: Sequence[float], written: Sequence[float] | None, correlation: float
) -> PerGB:
    xs = cumulative_gigabytes(written, len(ys))
    if xs is None:
        return None, None
    line = fit_line(xs, ys, correlation)
    low, high = line.interval_95
    return _change_per_round(line.value, xs[-1]), (
        _change_per_round(low, xs[-1]),
        _change_per_round(high, xs[-1]),
    )


def explain_trend(trend: Trend, total: float) -> str:
    """Return in one line how the verdict came about. `total`: the change over all rounds, as a share."""
    n, slope, interval, shows_after = trend.rounds, trend.slope_per_round, trend.ci95, trend.shows_after
    if slope is None or interval is None:
        return trend.reason or ""
    low, high = interval
    if trend.is_different:
        verb = "lost" if slope < 0 else "gained"
        inner, outer = sorted(map(abs, interval))
        return (
            f"{n} rounds, each against its reference: {format_percent(abs(slope))} of round 1 {verb} a round "
            f"(95 % CI {format_percent_interval(inner, outer)}), {format_percent(abs(total))} in all"
        )
    shown = f"{low * 100:+.1f} to {high * 100:+.1f} % a round"
    matters = f"{format_percent(MATTERS_A_ROUND)} a round"
    if trend.is_equal:
        return f"No degradation seen in {n} rounds ({shown}): {matters} would have been visible after {shows_after}"
    if shows_after is None:
        return f"Inconclusive after {n} rounds ({shown}): the noise is too large for {matters}"
    if shows_after > n:
        return f"Inconclusive after {n} rounds ({shown}): {matters} would show after about {shows_after}"
    return f"Inconclusive after {n} rounds ({shown}): more rounds are needed"
