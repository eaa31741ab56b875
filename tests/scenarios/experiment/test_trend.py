"""A trend over rounds: against the oracle's generalised least squares, its level, its power, its words."""

import math
import random

import pytest

from hostdx.scenarios.experiment.trend import fit_line, fit_rounds, rounds_to_show, trend_estimate
from tests.every_case import every_case
from tests.scenarios.oracle import numpy as np
from tests.scenarios.oracle import stats as oracle


def noise(rng: random.Random, n: int, deviation: float, correlation: float) -> list[float]:
    level = rng.gauss(0, deviation)
    values = []
    for _ in range(n):
        values.append(level)
        level = correlation * level + rng.gauss(0, deviation * math.sqrt(1 - correlation**2))
    return values


def draw_rounds(
    rng: random.Random, n: int, loss: float, deviation: float, correlation: float = 0.0
) -> list[float]:
    """Values whose references are 1: a loss of `loss` a round, a fraction of the round before."""
    return [math.exp(e + i * math.log(1 - loss)) for i, e in enumerate(noise(rng, n, deviation, correlation))]


@every_case("correlation", [0.0, 0.6, 0.9])
@every_case("n", [6, 9, 20])
def test_the_line_is_generalised_least_squares(n: int, correlation: float) -> None:
    rng = random.Random(n)
    xs = [i + rng.random() / 2 for i in range(n)]
    ys = [0.3 * x + rng.gauss(0, 1) for x in xs]
    line = fit_line(xs, ys, correlation)
    design = np.column_stack([np.ones(n), xs])
    weight = np.linalg.inv(correlation ** np.abs(np.subtract.outer(np.arange(n), np.arange(n))))
    inverse = np.linalg.inv(design.T @ weight @ design)
    beta = inverse @ design.T @ weight @ np.array(ys)
    rest = np.array(ys) - design @ beta
    variance = rest @ weight @ rest / (n - 2)
    error = math.sqrt(variance * inverse[1, 1])
    assert line.value == pytest.approx(beta[1], abs=1e-6)
    assert line.error == pytest.approx(error, abs=1e-6)
    assert line.noise == pytest.approx(math.sqrt(variance), abs=1e-6)
    assert line.p_value_of_zero == pytest.approx(2 * oracle.t.sf(abs(beta[1]) / error, n - 2), abs=1e-6)
    assert line.half_width() == pytest.approx(oracle.t.ppf(0.975, n - 2) * error, abs=1e-6)


def test_without_correlation_it_is_ordinary_regression() -> None:
    rng = random.Random(1)
    xs = [float(i) for i in range(12)]
    ys = [rng.gauss(0, 1) for _ in xs]
    fit, expected = fit_line(xs, ys, 0.0), oracle.linregress(xs, ys)
    assert (fit.value, fit.error, fit.p_value_of_zero) == pytest.approx(
        (expected.slope, expected.stderr, expected.pvalue), abs=1e-6
    )


@every_case(("shows_after", "telling"), [(8, True), (9, False), (None, False)])
def test_none_may_be_said_only_where_a_loss_would_have_shown(shows_after: int | None, telling: bool) -> None:
    line = fit_line([float(i) for i in range(8)], [1e-4 * (-1) ** i for i in range(8)], 0.6)
    estimate = trend_estimate(line, (-1e-3, 1e-3), shows_after, 8)
    assert estimate.within is not None and estimate.within.telling is telling


def test_what_would_have_shown_does_show() -> None:
    """Some eight times out of ten, at the rounds that the line promises."""
    rng = random.Random(14)
    line = fit_line([float(i) for i in range(200)], noise(rng, 200, 0.02, 0.6), 0.6)
    n = rounds_to_show(line)
    assert n is not None
    slower_count = sum(
        fit_rounds(draw_rounds(rng, n, 0.02, 0.02, 0.6), [1.0] * n).verdict == "slower" for _ in range(400)
    )
    assert 0.72 <= slower_count / 400 <= 0.95


def test_a_sure_loss_beyond_the_least_is_not_called_none() -> None:
    values = [998.6, 996.5, 996.9, 993.1, 992.8, 989.6, 991.2, 990.6, 991, 988.6, 987.7, 985.8]
    assert fit_rounds(values, [1.0] * 12).verdict == "inconclusive"
    assert fit_rounds(values[::-1], [1.0] * 12).verdict == "inconclusive"
