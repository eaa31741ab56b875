"""The Universal Scalability Law: X(N) = X1 N / (1 + s (N - 1) + k N (N - 1)), fitted to throughput against workers.

s is contention (the part that is serial: s alone is Amdahl's law), k coherence (what each worker costs each other one:
above 0 throughput has a peak and falls after it). Gunther, "Guerrilla Capacity Planning", Springer 2007, chapter 4.
"""

import math
from collections.abc import Sequence
from itertools import combinations
from random import Random
from typing import NamedTuple

from scenarios.experiment.statistics.distributions import normal_quantile, t_quantile

RESAMPLED = 400
MIN_COUNTS_FOR_COHERENCE = 3  # worker counts: with two of them s and k cannot be told apart
_RANGE = 0.025


class Usl(NamedTuple):
    """`coherence` is None where too few worker counts tell it; then `contention` holds both."""

    single: float  # X1, operations/s
    contention: float
    coherence: float | None

    @property
    def peak_workers(self) -> float | None:
        """Workers at the highest throughput; None where it only flattens."""
        if not self.coherence:
            return None
        return math.sqrt(max(0.0, 1 - self.contention) / self.coherence)


class FittedUsl(NamedTuple):
    """With 95 % intervals over groups: a bootstrap's percentiles, as much wider as few groups ask for. Neither can be
    below 0: each is fitted as if it could, so that an interval that begins at 0 ends where noise would still hide it.
    """

    best: Usl
    contention_ci95: tuple[float, float]
    coherence_ci95: tuple[float, float] | None


def fit_usl(rates: Sequence[tuple[int, float]], free: int = 0) -> Usl:
    """(workers, operations/s), two counts or more. By least squares of N/X = a + b (N - 1) + c N (N - 1), relative to
    N/X, with none of a, b, c below 0: so every error counts as a share of its point. `free`: 1 or 2, b or c may be.
    """
    rows = [_equation_row(n, x) for n, x in rates]
    columns = 3 if len({n for n, _ in rates}) >= MIN_COUNTS_FOR_COHERENCE else 2
    best: tuple[float, tuple[float, ...]] | None = None
    for size in range(columns):
        for more in combinations(range(1, columns), size):
            free_columns = (0, *more)
            solved = _solve_normal_equations([[row[k] for k in free_columns] for row in rows])
            if (free and free not in free_columns) or solved is None:
                continue
            if any(value < 0 for k, value in zip(free_columns, solved, strict=True) if k != free):
                continue
            coefficients = tuple(
                solved[free_columns.index(k)] if k in free_columns else 0.0 for k in range(3)
            )
            squared_error = sum(
                (sum(w * r for w, r in zip(coefficients, row, strict=True)) - 1) ** 2 for row in rows
            )
            if best is None or squared_error < best[0]:
                best = squared_error, coefficients
    assert best is not None, "a alone always fits: rates are above 0"
    a, b, c = best[1]
    return Usl(1 / a, b / a, c / a if columns == 3 else None)


def _equation_row(workers: int, rate: float) -> tuple[float, float, float]:
    unit = rate / workers
    return unit, unit * (workers - 1), unit * workers * (workers - 1)


def _solve_normal_equations(rows: Sequence[Sequence[float]]) -> list[float] | None:
    """The normal equations for a right side of ones, by Gauss and Jordan; None where they are singular."""
    size = len(rows[0])
    scale = [math.sqrt(sum(row[i] ** 2 for row in rows)) or 1.0 for i in range(size)]
    matrix = [
        [sum(row[i] * row[j] for row in rows) / scale[i] / scale[j] for j in range(size)]
        + [sum(row[i] for row in rows) / scale[i]]
        for i in range(size)
    ]
    for i in range(size):
        pivot = max(range(i, size), key=lambda r: abs(matrix[r][i]))
        if abs(matrix[pivot][i]) < 1e-12:
            return None
        matrix[i], matrix[pivot] = matrix[pivot], matrix[i]
        matrix[i] = [value / matrix[i][i] for value in matrix[i]]
        for r in range(size):
            if r != i:
                matrix[r] = [x - matrix[r][i] * y for x, y in zip(matrix[r], matrix[i], strict=True)]
    return [row[-1] / s for row, s in zip(matrix, scale, strict=True)]


def fit_with_intervals(groups: Sequence[Sequence[tuple[int, float]]], rng: Random) -> FittedUsl | None:
    """groups: of each the (workers, operations/s); None with fewer than two groups or worker counts."""
    if len(groups) < 2 or len({n for group in groups for n, _ in group}) < 2:
        return None
    best = fit_usl(_geometric_means(groups))
    drawn = [_geometric_means([rng.choice(groups) for _ in groups]) for _ in range(RESAMPLED)]
    # Percentiles of n groups are those of a normal distribution of variance (n - 1)/n: with six they cover 80 %.
    wider = t_quantile(1 - _RANGE, len(groups) - 1) / normal_quantile(1 - _RANGE)
    wider *= math.sqrt(len(groups) / (len(groups) - 1))
    contention, *rest = (
        _bootstrap_interval(
            [_value(rates, free) for rates in drawn], _value(_geometric_means(groups), free), wider
        )
        for free in ((1,) if best.coherence is None else (1, 2))
    )
    return FittedUsl(best, contention, rest[0] if rest else None)


def _value(rates: Sequence[tuple[int, float]], free: int) -> float:
    model = fit_usl(rates, free)
    return model.contention if free == 1 else model.coherence or 0.0


def _geometric_means(groups: Sequence[Sequence[tuple[int, float]]]) -> list[tuple[int, float]]:
    """Geometric, of each worker count."""
    logs: dict[int, list[float]] = {}
    for group in groups:
        for workers, rate in group:
            logs.setdefault(workers, []).append(math.log(rate))
    return [
        (workers, math.exp(sum(log_rates) / len(log_rates))) for workers, log_rates in sorted(logs.items())
    ]


def _bootstrap_interval(values: Sequence[float], best: float, wider: float) -> tuple[float, float]:
    ranked = sorted(values)
    last = len(ranked) - 1
    low, high = ranked[round(_RANGE * last)], ranked[round((1 - _RANGE) * last)]
    return max(0.0, best - wider * max(0.0, best - low)), max(0.0, best) + wider * max(0.0, high - best)
