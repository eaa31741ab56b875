"""The course of a series with trims in between: what a round costs, and what each trim gave back.

Without a trim it is the trend of `series.py`. With trims the line has a step at each of them, fitted together with the
slope by the same transformation (neighbouring rounds correlated by 0.6 or more).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from probes.units import percent
from scenarios.experiment.distributions import t_quantile, t_tail
from scenarios.experiment.sequential import Word
from scenarios.experiment.trend import (
    CALLED_AT,
    LEAST_TOTAL,
    MATTERS_A_ROUND,
    Line,
    Trend,
    correlation_of,
    explain_trend,
    rounds_to_show,
    trend,
)
from scenarios.fstrim.reference import shared, weakened
from scenarios.fstrim.reference import steps as steps_of

LEAST_FREEDOM = 3
_GB = 1e9


class Jump(NamedTuple):
    """What a trim gave back, as a share of the level before it; `before_round` counts from 1, 0: all of them alike.

    `called` only where it is beyond chance at 1 % over all trims of the series.
    """

    before_round: int
    gave: float
    ci95: tuple[float, float]
    p: float
    called: bool

    @property
    def text(self) -> str:
        low, high = sorted(self.ci95)
        which = (
            f"the trim before round {self.before_round}" if self.before_round else "each trim, on average,"
        )
        verb = "gave back" if self.gave >= 0 else "took"
        doubt = "" if self.called else "; that may be chance, or the host"
        return f"{which} {verb} {percent(abs(self.gave))} (95 % CI {low * 100:+.1f} to {high * 100:+.1f} %){doubt}"


class Course(NamedTuple):
    trend: Trend
    jumps: tuple[Jump, ...] = ()


class Fit(NamedTuple):
    """Coefficients, their standard errors, degrees of freedom and the residual deviation of one round."""

    values: list[float]
    errors: list[float]
    freedom: int
    noise: float


def course(
    values: Sequence[float],
    references: Sequence[float],
    trims: Sequence[bool],
    bytes_written: Sequence[float] | None = None,
) -> Course:
    """More is better. `trims[i]`: there was one between round i and the one before; the first one's does not count.

    What is called holds both for the part of the reference that goes with the load and for all of it
    (reference.py).
    """
    at = [i for i in range(1, len(values)) if trims[i]]
    share = shared(steps_of(values, references, at))
    part = _course(values, weakened(references, share), at, bytes_written)
    if share >= 1 or len(set(references)) < 2:
        return part
    return _held_by_both(part, _course(values, references, at, bytes_written))


def _course(
    values: Sequence[float],
    references: Sequence[float],
    at: Sequence[int],
    bytes_written: Sequence[float] | None,
) -> Course:
    n = len(values)
    plain = trend(values, references, bytes_written)
    if not at or plain.slope_per_round is None:
        return Course(plain)
    ys = [math.log(v / r) for v, r in zip(values, references, strict=True)]
    rounds = [float(i) for i in range(n)]
    steps = [[float(i >= place) for i in range(n)] for place in at]
    if n - 2 - len(steps) < LEAST_FREEDOM:  # too many to be told apart: one step for all
        steps = [[float(sum(place <= i for place in at)) for i in range(n)]]
    found = _fitted(rounds, steps, ys)
    if found is None:  # a trim before every round: its effect cannot be told from the trend
        return Course(plain)
    fit, correlation = found
    jumps = tuple(
        _jump(fit, 2 + k, at[k] + 1 if len(steps) == len(at) else 0, len(steps)) for k in range(len(steps))
    )
    per_gb, per_gb_ci = _per_gb(ys, bytes_written, steps)
    return Course(_trend(fit, n, correlation, per_gb, per_gb_ci), jumps)


def _held_by_both(part: Course, whole: Course) -> Course:
    """The first with its intervals widened to hold the second's estimates, and nothing called that only one shows."""
    mine, other = part.trend, whole.trend
    if mine.slope_per_round is None or mine.ci95 is None or other.slope_per_round is None:
        return part
    freedom = mine.rounds - 2 - len(part.jumps)
    slope = mine.slope_per_round
    interval = _widened(mine.ci95, slope, other.slope_per_round)
    p = _both_p(slope, mine.ci95, other.slope_per_round, freedom)
    word, text = mine.verdict, mine.explain
    if word in ("slower", "faster") and p >= CALLED_AT:
        word = "inconclusive"
        text = (
            f"Inconclusive after {mine.rounds} rounds: by themselves {percent(abs(slope))} a round "
            f"{'lost' if slope < 0 else 'gained'}, which the reads beside them do not bear out"
        )
    elif word in ("slower", "faster"):
        text = _said(word, mine.rounds, slope, interval, mine.shows_after, bool(part.jumps))
        if other.verdict != word:
            text += "; the reads beside them scatter too much to rule out that the host got slower as well"
    elif word == "no material difference" and max(map(abs, interval)) >= MATTERS_A_ROUND:
        word = "inconclusive"
        text = _said(word, mine.rounds, slope, interval, mine.shows_after, bool(part.jumps))
    per_gb = mine.per_gb_ci95
    if per_gb is not None and mine.per_gb is not None and other.per_gb is not None:
        per_gb = _widened(per_gb, mine.per_gb, other.per_gb)
    told = mine._replace(
        verdict=word, ci95=interval, p=p, per_gb_ci95=per_gb, smallest_effect=(interval[1] - interval[0]) / 2,
        explain=text,
    )  # fmt: skip
    if len(part.jumps) != len(whole.jumps):
        return Course(told, part.jumps)
    return Course(
        told, tuple(_jump_by_both(a, b, freedom) for a, b in zip(part.jumps, whole.jumps, strict=True))
    )


def _widened(ci: tuple[float, float], own: float, other: float) -> tuple[float, float]:
    return ci[0] + min(0.0, other - own), ci[1] + max(0.0, other - own)


def _both_p(own: float, ci: tuple[float, float], other: float, freedom: int) -> float:
    """Of the smaller of two estimates with the first one's error; 1 where they differ in sign."""
    if own * other <= 0 or freedom < 1:
        return 1.0
    error = (ci[1] - ci[0]) / 2 / t_quantile(0.975, freedom)
    return _p(min(abs(own), abs(other)), error, freedom)


def _jump_by_both(mine: Jump, other: Jump, freedom: int) -> Jump:
    p = _both_p(mine.gave, mine.ci95, other.gave, freedom)
    return mine._replace(
        ci95=_widened(mine.ci95, mine.gave, other.gave),
        p=max(mine.p, p),
        called=mine.called and p < CALLED_AT,
    )


def _fitted(
    xs: Sequence[float], steps: Sequence[Sequence[float]], ys: Sequence[float]
) -> tuple[Fit, float] | None:
    ones = [1.0] * len(ys)
    first = least_squares([ones, list(xs), *map(list, steps)], list(ys), 0.0)
    if first is None or first.freedom < LEAST_FREEDOM:
        return None
    without = [
        y - sum(c * s[i] for c, s in zip(first.values[2:], steps, strict=True)) for i, y in enumerate(ys)
    ]
    # At 1 the level would be lost in the differences, and with it the equations' solution.
    correlation = min(0.98, correlation_of(list(xs), without))
    fit = least_squares([ones, list(xs), *map(list, steps)], list(ys), correlation)
    return None if fit is None else (fit, correlation)


def least_squares(columns: Sequence[Sequence[float]], ys: Sequence[float], correlation: float) -> Fit | None:
    """Generalised least squares with AR(1) errors (Prais and Winsten). None where the columns depend on each other."""
    root = math.sqrt(1 - correlation * correlation)

    def whitened(column: Sequence[float]) -> list[float]:
        return [root * column[0], *(b - correlation * a for a, b in pairwise(column))]

    design = [whitened(column) for column in columns]
    target = whitened(ys)
    gram = [[math.fsum(a * b for a, b in zip(p, q, strict=True)) for q in design] for p in design]
    inverse = _inverse(gram)
    if inverse is None:
        return None
    moments = [math.fsum(a * y for a, y in zip(column, target, strict=True)) for column in design]
    values = [math.fsum(a * m for a, m in zip(row, moments, strict=True)) for row in inverse]
    residuals = [
        y - math.fsum(c * column[i] for c, column in zip(values, design, strict=True))
        for i, y in enumerate(target)
    ]
    freedom = len(ys) - len(columns)
    if freedom < 1:
        return None
    variance = math.fsum(r * r for r in residuals) / freedom
    errors = [math.sqrt(max(0.0, variance * inverse[k][k])) for k in range(len(columns))]
    return Fit(values, errors, freedom, math.sqrt(variance) / root if root > 0.1 else math.sqrt(variance))


def _inverse(matrix: Sequence[Sequence[float]]) -> list[list[float]] | None:
    """Gauss and Jordan's, with pivots; None where it has none."""
    size = len(matrix)
    rows = [[*row, *(float(i == k) for k in range(size))] for i, row in enumerate(matrix)]
    for k in range(size):
        pivot = max(range(k, size), key=lambda i: abs(rows[i][k]))
        if abs(rows[pivot][k]) < 1e-9 * max(1.0, abs(matrix[k][k])):
            return None
        rows[k], rows[pivot] = rows[pivot], rows[k]
        head = rows[k][k]
        rows[k] = [value / head for value in rows[k]]
        for i in range(size):
            if i != k and rows[i][k]:
                factor = rows[i][k]
                rows[i] = [a - factor * b for a, b in zip(rows[i], rows[k], strict=True)]
    return [row[size:] for row in rows]


def _p(value: float, error: float, freedom: int) -> float:
    if error <= 0:
        return 0.0 if value else 1.0
    return min(1.0, 2 * t_tail(abs(value) / error, freedom))


def _jump(fit: Fit, index: int, before_round: int, family: int) -> Jump:
    value, error = fit.values[index], fit.errors[index]
    half = t_quantile(0.975, fit.freedom) * error
    p = _p(value, error, fit.freedom)
    called = p < CALLED_AT / family and abs(math.expm1(value)) >= LEAST_TOTAL
    return Jump(
        before_round, math.expm1(value), (math.expm1(value - half), math.expm1(value + half)), p, called
    )


def _trend(
    fit: Fit,
    n: int,
    correlation: float,
    per_gb: float | None,
    per_gb_ci: tuple[float, float] | None,
) -> Trend:
    slope, error = fit.values[1], fit.errors[1]
    half = t_quantile(0.975, fit.freedom) * error
    p = _p(slope, error, fit.freedom)
    interval = (math.expm1(slope - half), math.expm1(slope + half))
    shows_after = rounds_to_show(Line(slope, error, fit.freedom, correlation, fit.noise))
    a_round = math.expm1(slope)
    word: Word = "inconclusive"
    if p < CALLED_AT and abs(math.expm1(slope * (n - 1))) >= LEAST_TOTAL:
        word = "slower" if slope < 0 else "faster"
    elif max(map(abs, interval)) < MATTERS_A_ROUND and shows_after is not None and shows_after <= n:
        word = "no material difference"
    text = _said(word, n, a_round, interval, shows_after, trims=True)
    smallest = (interval[1] - interval[0]) / 2
    return Trend(word, n, a_round, interval, p, per_gb, per_gb_ci, smallest, shows_after, text)


def _said(
    word: Word, n: int, a_round: float, interval: tuple[float, float], shows_after: int | None, trims: bool
) -> str:
    if not trims:
        total = math.expm1(math.log1p(a_round) * (n - 1)) if a_round > -1 else -1.0
        return explain_trend(word, n, a_round, interval, total, shows_after)
    shown = f"{interval[0] * 100:+.1f} to {interval[1] * 100:+.1f} % a round"
    if word in ("slower", "faster"):
        return f"{percent(abs(a_round))} {'lost' if a_round < 0 else 'gained'} a round between the trims ({shown})"
    if word == "no material difference":
        return (
            f"No degradation seen in {n} rounds between the trims ({shown}): {percent(MATTERS_A_ROUND)} a round would "
            f"have shown after {shows_after}"
        )
    later = f"would show after about {shows_after}" if shows_after else "would not show soon"
    return f"Inconclusive after {n} rounds ({shown}, the trims taken out): {percent(MATTERS_A_ROUND)} a round {later}"


def _per_gb(
    ys: Sequence[float], written: Sequence[float] | None, steps: Sequence[Sequence[float]]
) -> tuple[float | None, tuple[float, float] | None]:
    if written is None or len(written) != len(ys) or written[-1] <= written[0]:
        return None, None
    found = _fitted([(b - written[0]) / _GB for b in written], steps, ys)
    if found is None:
        return None, None
    fit = found[0]
    half = t_quantile(0.975, fit.freedom) * fit.errors[1]
    return math.expm1(fit.values[1]), (math.expm1(fit.values[1] - half), math.expm1(fit.values[1] + half))
