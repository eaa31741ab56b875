"""Generalised least squares with AR(1) errors, by Prais and Winsten's transformation: lines, and lines with steps."""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from hostdx.scenarios.experiment.statistics.distributions import t_quantile, t_tail

_NOTHING = 1e-12  # a column of differences below it is none: a full walk has lost its level


class Coefficient(NamedTuple):
    """A coefficient with its standard error; `noise` is the residual standard deviation of one observation."""

    value: float
    error: float
    freedom: int
    correlation: float
    noise: float

    def half_width(self, alpha: float = 0.05) -> float:
        """Return half the width of the interval at level 1 - alpha."""
        return t_quantile(1 - alpha / 2, self.freedom) * self.error

    @property
    def interval_95(self) -> tuple[float, float]:
        half = self.half_width()
        return self.value - half, self.value + half

    @property
    def p_value_of_zero(self) -> float:
        """Return the two-sided p of the coefficient being 0."""
        return p_value(self.value, self.error, self.freedom)


class LeastSquaresFit(NamedTuple):
    """Coefficients, the diagonal of (X'X)^-1, the residual sum of squares and its degrees of freedom."""

    values: list[float]
    spreads: list[float]
    squares: float
    freedom: int
    correlation: float

    def coefficient_at(self, k: int) -> Coefficient:
        variance = self.squares / self.freedom
        root = math.sqrt(1 - self.correlation * self.correlation)
        noise = math.sqrt(variance) / root if root > 0.1 else math.sqrt(variance)
        error = math.sqrt(max(0.0, variance * self.spreads[k]))
        return Coefficient(self.values[k], error, self.freedom, self.correlation, noise)


def p_value(value: float, error: float, freedom: int) -> float:
    """Return the two-sided p of a value with this standard error."""
    if error <= 0:
        return 0.0 if value else 1.0
    return min(1.0, 2 * t_tail(abs(value) / error, freedom))


def least_squares(
    columns: Sequence[Sequence[float]], ys: Sequence[float], correlation: float
) -> LeastSquaresFit | None:
    """Return the fit. `correlation` (0..1) of neighbouring errors; at 1 a constant column is lost in the differences
    and gives 0.

    None where the columns depend on each other, or are as many as the observations.
    """
    root = math.sqrt(1 - correlation * correlation)

    def whiten(column: Sequence[float]) -> list[float]:
        return [root * column[0], *(b - correlation * a for a, b in pairwise(column))]

    freedom = len(ys) - len(columns)
    if freedom < 1:
        return None
    design = [whiten(column) for column in columns]
    target = whiten(ys)
    there = [k for k, column in enumerate(design) if math.fsum(a * a for a in column) > _NOTHING]
    inverse = invert_matrix([[dot_product(design[i], design[k]) for k in there] for i in there])
    if inverse is None:
        return None
    moments = [dot_product(design[k], target) for k in there]
    values, spreads = [0.0] * len(columns), [0.0] * len(columns)
    for i, k in enumerate(there):
        values[k], spreads[k] = dot_product(inverse[i], moments), inverse[i][i]
    rest = [
        y - math.fsum(c * column[i] for c, column in zip(values, design, strict=True))
        for i, y in enumerate(target)
    ]
    return LeastSquaresFit(values, spreads, dot_product(rest, rest), freedom, correlation)


def dot_product(a: Sequence[float], b: Sequence[float]) -> float:
    return math.fsum(p * q for p, q in zip(a, b, strict=True))


def invert_matrix(matrix: Sequence[Sequence[float]]) -> list[list[float]] | None:
    """Return the inverse by Gauss and Jordan's method with pivots; None where there is none."""
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
