"""The course of a series with trims in between: what a round costs, and what each trim gave back.

Without a trim it is the trend of `series.py`. With trims the line has a step at each of them, fitted together with the
slope by the same transformation (neighbouring rounds correlated by 0.6 or more).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from scenarios.distributions import t_quantile, t_tail
from scenarios.explain import percent
from scenarios.fstrim_common import shared, weakened
from scenarios.fstrim_common import steps as steps_of
from scenarios.sequential import Word
from scenarios.series import (
    CALLED_AT,
    LEAST_TOTAL,
    MATTERS_A_ROUND,
    Line,
    Trend,
    correlation_of,
    rounds_to_show,
    trend,
)

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
        doubt = "" if self.called else "; that may be chance"
        return f"{which} {verb} {percent(self.gave)} (95 %: {low * 100:+.1f} to {high * 100:+.1f} %){doubt}"


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
    """More is better. `trims[i]`: there was one between round i and the one before; the first one's does not count."""
    n = len(values)
    at = [i for i in range(1, n) if trims[i]]
    references = weakened(references, shared(steps_of(values, references, at)))
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
    shown = f"{interval[0] * 100:+.1f} to {interval[1] * 100:+.1f} % a round"
    if word in ("slower", "faster"):
        text = f"{percent(a_round)} {'lost' if slope < 0 else 'gained'} a round between the trims ({shown})"
    elif word == "no material difference":
        text = (
            f"No degradation seen in {n} rounds between the trims ({shown}): {percent(MATTERS_A_ROUND)} a round would "
            f"have shown after {shows_after}"
        )
    else:
        later = f"would show after about {shows_after}" if shows_after else "would not show soon"
        text = f"Undecided after {n} rounds ({shown}, the trims taken out): {percent(MATTERS_A_ROUND)} a round {later}"
    smallest = (interval[1] - interval[0]) / 2
    return Trend(word, n, a_round, interval, p, per_gb, per_gb_ci, smallest, shows_after, text)


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
