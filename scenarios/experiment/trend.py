"""What cannot be undone is no ABBA: a series of rounds with its trend.

Each round is divided by an interleaved reference load, which takes most of the host's own ups and downs out
of it. What is left still hangs together from round to round: a rank trend test on twelve plain rounds of
our noise series is falsely significant in 17 to 48 % of the cases. So the line is fitted as if neighbouring
rounds were correlated by 0.6 (Prais and Winsten's transformation), and by more where the residuals say so:
from six to twelve rounds alone no correlation can be told, so a fixed one is assumed rather than estimated
as absent. Called at 1 %. Simulated false calls: none without correlation, 0.9 % under AR(1) 0.6, and 4, 8
and 12 % with 6, 8 and 12 rounds of a pure random walk, in which nothing can tell a trend from a walk.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from probes.units import percent
from scenarios.experiment.distributions import t_quantile, t_tail
from scenarios.experiment.sequential import Word
from scenarios.experiment.stats import Better

LEAST_ROUNDS = 6
CALLED_AT = 0.01
ASSUMED_CORRELATION = 0.6
MATTERS_A_ROUND = 0.02  # the loss that a series must have been able to show before it may say "none"
LEAST_TOTAL = 0.01  # over all rounds seen: less is not called, however sure it is
_GB = 1e9
_MOST_ROUNDS = 120


class Trend(NamedTuple):
    """Slopes are fractions of round 1 a round (a GB), below 0 is slower; the interval is 95 %.

    `smallest_effect`: half the width of the interval, a round. `shows_after`: the rounds after which a loss
    of 2 % a round would have been called about eight times out of ten.
    """

    verdict: Word
    rounds: int
    slope_per_round: float | None
    ci95: tuple[float, float] | None
    p: float | None
    per_gb: float | None
    per_gb_ci95: tuple[float, float] | None
    smallest_effect: float | None
    shows_after: int | None
    explain: str
    reason: str | None = None


class Line(NamedTuple):
    """A fitted slope: `error` its standard error, `noise` the residual standard deviation of one round."""

    slope: float
    error: float
    freedom: int
    correlation: float
    noise: float

    def half_width(self, alpha: float = 0.05) -> float:
        return t_quantile(1 - alpha / 2, self.freedom) * self.error

    @property
    def p(self) -> float:
        """Two-sided."""
        if self.error <= 0:
            return 0.0 if self.slope else 1.0
        return min(1.0, 2 * t_tail(abs(self.slope) / self.error, self.freedom))


def _least_squares(
    ones: Sequence[float], xs: Sequence[float], ys: Sequence[float]
) -> tuple[float, float, float, float]:
    """Intercept, slope, residual sum of squares and the slope's entry of (X'X)^-1, for two regressors."""
    aa = math.fsum(a * a for a in ones)
    ab = math.fsum(a * b for a, b in zip(ones, xs, strict=True))
    bb = math.fsum(b * b for b in xs)
    ay = math.fsum(a * y for a, y in zip(ones, ys, strict=True))
    by = math.fsum(b * y for b, y in zip(xs, ys, strict=True))
    if aa <= 1e-12:  # differences of a random walk: the level is gone
        slope = by / bb
        rest = math.fsum((y - slope * b) ** 2 for b, y in zip(xs, ys, strict=True))
        return 0.0, slope, rest, 1 / bb
    determinant = aa * bb - ab * ab
    slope = (aa * by - ab * ay) / determinant
    level = (ay - slope * ab) / aa
    rest = math.fsum((y - level * a - slope * b) ** 2 for a, b, y in zip(ones, xs, ys, strict=True))
    return level, slope, rest, aa / determinant


def fit_line(xs: Sequence[float], ys: Sequence[float], correlation: float) -> Line:
    """The slope of ys over xs with errors correlated by `correlation` (0..1) from one to the next."""
    n = len(ys)
    first = math.sqrt(max(0.0, 1 - correlation * correlation))

    def whitened(values: Sequence[float]) -> list[float]:
        rest = [b - correlation * a for a, b in pairwise(values)]
        return [first * values[0], *rest]

    start = xs[0]
    _, slope, rest, entry = _least_squares(
        whitened([1.0] * n), whitened([x - start for x in xs]), whitened(list(ys))
    )
    variance = rest / (n - 2)
    noise = math.sqrt(variance) / first if first > 0.1 else math.sqrt(variance)
    return Line(slope, math.sqrt(variance * entry), n - 2, correlation, noise)


def correlation_of(xs: Sequence[float], ys: Sequence[float]) -> float:
    """The correlation to reckon with: 0.6, or more where the residuals' own (bias corrected) is higher."""
    n = len(ys)
    level, slope, rest, _ = _least_squares([1.0] * n, [x - xs[0] for x in xs], ys)
    if rest <= 0:
        return ASSUMED_CORRELATION
    residuals = [y - level - slope * (x - xs[0]) for x, y in zip(xs, ys, strict=True)]
    seen = math.fsum(a * b for a, b in pairwise(residuals)) / rest
    corrected = seen + (2 + 4 * seen) / n  # of a detrended series it comes out too low by about that much
    return min(1.0, max(ASSUMED_CORRELATION, corrected + (0.1 if n < 12 else 0.3)))


def rounds_to_show(line: Line, slope: float = MATTERS_A_ROUND) -> int | None:
    """After how many rounds such a log slope would be called some eight times out of ten; None: never soon."""
    rho = line.correlation
    for n in range(LEAST_ROUNDS, _MOST_ROUNDS):
        if rho >= 0.995:
            error = line.noise / math.sqrt(n - 1)
        else:
            whitened_ones = [math.sqrt(1 - rho * rho), *([1 - rho] * (n - 1))]
            whitened_xs = [0.0, *(i - rho * (i - 1) for i in range(1, n))]
            *_, entry = _least_squares(whitened_ones, whitened_xs, [0.0] * n)
            error = line.noise * math.sqrt((1 - rho * rho) * entry)
        if slope >= (t_quantile(1 - CALLED_AT / 2, n - 2) + t_quantile(0.9, n - 2)) * error:
            return n
    return None


def _a_round(log_slope: float, span: float) -> float:
    """A log slope as the mean loss a unit over the span, in fractions of round 1."""
    return math.expm1(min(50.0, log_slope * span)) / span


def _ratios(values: Sequence[float], references: Sequence[float], better: Better) -> list[float] | None:
    sign = 1.0 if better == "more" else -1.0
    pairs = list(zip(values, references, strict=True))
    if any(not (v > 0 and r > 0 and math.isfinite(v) and math.isfinite(r)) for v, r in pairs):
        return None
    return [sign * (math.log(v) - math.log(r)) for v, r in pairs]


def trend(
    values: Sequence[float],
    references: Sequence[float],
    bytes_written: Sequence[float] | None = None,
    better: Better = "more",
) -> Trend:
    """The trend of rounds, each divided by its interleaved reference (ones where there is none).

    `bytes_written`: the total written before each round was measured, not decreasing.
    """
    n = len(values)
    ys = _ratios(values, references, better)
    if ys is None or n < LEAST_ROUNDS:
        reason = "a round without a value" if ys is None else f"{n} rounds, {LEAST_ROUNDS} are needed"
        return Trend("inconclusive", n, None, None, None, None, None, None, None, reason, reason)
    xs = [float(i) for i in range(n)]
    line = fit_line(xs, ys, correlation_of(xs, ys))
    span = n - 1.0
    slope, half = line.slope, line.half_width()
    interval = (_a_round(slope - half, span), _a_round(slope + half, span))
    per_gb, per_gb_interval = _per_gb(ys, bytes_written, line.correlation)
    shows_after = rounds_to_show(line)
    total = math.expm1(slope * span)
    word: Word = "inconclusive"
    if line.p < CALLED_AT and abs(total) >= LEAST_TOTAL:
        word = "slower" if slope < 0 else "faster"
    elif max(map(abs, interval)) < MATTERS_A_ROUND and shows_after is not None and shows_after <= n:
        word = "no material difference"
    text = explain_trend(word, n, _a_round(slope, span), interval, total, shows_after)
    smallest = (interval[1] - interval[0]) / 2
    return Trend(
        word, n, _a_round(slope, span), interval, line.p, per_gb, per_gb_interval, smallest, shows_after, text
    )


def _per_gb(
    ys: Sequence[float], written: Sequence[float] | None, correlation: float
) -> tuple[float | None, tuple[float, float] | None]:
    if written is None or len(written) != len(ys) or written[-1] - written[0] <= 0:
        return None, None
    gigabytes = [(b - written[0]) / _GB for b in written]
    line = fit_line(gigabytes, ys, correlation)
    half = line.half_width()
    span = gigabytes[-1]
    return _a_round(line.slope, span), (_a_round(line.slope - half, span), _a_round(line.slope + half, span))


def explain_trend(
    word: Word, n: int, slope: float, interval: tuple[float, float], total: float, shows_after: int | None
) -> str:
    low, high = interval
    if word in ("slower", "faster"):
        verb = "lost" if slope < 0 else "gained"
        inner, outer = sorted(map(abs, interval))
        return (
            f"{n} rounds, each against its reference: {percent(abs(slope))} of round 1 {verb} a round "
            f"(95 % CI {percent(inner)} to {percent(outer)}), {percent(abs(total))} in all"
        )
    shown = f"{low * 100:+.1f} to {high * 100:+.1f} % a round"
    matters = f"{percent(MATTERS_A_ROUND)} a round"
    if word == "no material difference":
        return f"No degradation seen in {n} rounds ({shown}): {matters} would have shown after {shows_after}"
    if shows_after is None:
        return f"Inconclusive after {n} rounds ({shown}): the noise is too large for {matters}"
    if shows_after > n:
        return f"Inconclusive after {n} rounds ({shown}): {matters} would show after about {shows_after}"
    return f"Inconclusive after {n} rounds ({shown}): more rounds are needed"
