"""A trend over rounds: against the oracle's generalised least squares, its level, its power, its words."""

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hostdx.scenarios.experiment.trend import (
    fit_line,
    fit_rounds,
    residual_correlation,
    rounds_to_show,
    trend_estimate,
)
from tests.every_case import every_case
from tests.needs import one_always
from tests.scenarios.oracle import numpy as np
from tests.scenarios.oracle import stats as oracle


def noise(rng: random.Random, n: int, deviation: float, correlation: float) -> list[float]:
    level = rng.gauss(0, deviation)
    values = []
    for _ in range(n):
        values.append(level)
        level = correlation * level + rng.gauss(0, deviation * math.sqrt(1 - correlation**2))
    return values


def rounds(
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
    ours, theirs = fit_line(xs, ys, 0.0), oracle.linregress(xs, ys)
    assert (ours.value, ours.error, ours.p_value_of_zero) == pytest.approx(
        (theirs.slope, theirs.stderr, theirs.pvalue), abs=1e-6
    )


def test_a_full_walk_is_judged_by_its_steps() -> None:
    steps = [0.1, -0.2, 0.3, 0.05, -0.1, 0.2]
    ys = [0.0]
    for step in steps:
        ys.append(ys[-1] + step)
    line = fit_line([float(i) for i in range(7)], ys, 1.0)
    theirs = oracle.ttest_1samp(steps, 0)
    assert line.value == pytest.approx(np.mean(steps))
    assert line.p_value_of_zero == pytest.approx(theirs.pvalue, abs=1e-6)


def test_at_least_what_is_assumed_and_more_where_it_is_seen() -> None:
    xs = [float(i) for i in range(20)]
    rng = random.Random(2)
    assert residual_correlation(xs, [rng.gauss(0, 1) for _ in xs]) == 0.6
    assert residual_correlation(xs, [math.sin(i / 3) for i in range(20)]) > 0.9
    assert residual_correlation(xs, xs) == 0.6


@pytest.mark.parametrize(("correlation", "most"), [(0.0, 0.002), (0.6, 0.018)])
@pytest.mark.parametrize("n", one_always(8, 6, 12))
def test_the_level_holds_under_autocorrelation(n: int, correlation: float, most: float) -> None:
    rng = random.Random(7 + n)
    called = 0
    for _ in range(1500):
        called += fit_rounds(rounds(rng, n, 0.0, 0.02, correlation), [1.0] * n).verdict in (
            "slower",
            "faster",
        )
    assert called <= most * 1500  # 1 % is meant; the rest is the draw's own scatter


def test_two_per_cent_a_round_is_found() -> None:
    rng = random.Random(8)
    found = sum(fit_rounds(rounds(rng, 8, 0.02, 0.01), [1.0] * 8).verdict == "slower" for _ in range(300))
    assert found >= 285
    gained = fit_rounds(rounds(rng, 8, -0.02, 0.005), [1.0] * 8)
    assert gained.verdict == "faster"


def test_the_reference_takes_the_hosts_ups_and_downs_out() -> None:
    rng = random.Random(9)
    host = [math.exp(e) for e in noise(rng, 10, 0.3, 0.8)]
    values = [h * 5000 * 0.98**i for i, h in enumerate(host)]
    references = [h * 9000 for h in host]
    seen = fit_rounds(values, references)
    assert seen.verdict == "slower"
    assert seen.slope_per_round == pytest.approx((0.98**9 - 1) / 9, abs=1e-9)
    assert fit_rounds(values, [1.0] * 10).verdict == "inconclusive"


def test_costs_are_turned() -> None:
    rng = random.Random(10)
    values = rounds(rng, 8, 0.03, 0.005)
    worse = fit_rounds([1 / v for v in values], [1.0] * 8, better="less")
    assert worse.verdict == "slower"
    assert worse.slope_per_round == pytest.approx(fit_rounds(values, [1.0] * 8).slope_per_round)


def test_per_gigabyte_written() -> None:
    rng = random.Random(12)
    written = [2e9 * i for i in range(8)]
    seen = fit_rounds(rounds(rng, 8, 0.02, 0.003), [1.0] * 8, written)
    assert seen.slope_per_round is not None
    assert seen.per_gb == pytest.approx(seen.slope_per_round / 2, rel=1e-6)
    assert seen.per_gb_ci95 is not None
    low, high = seen.per_gb_ci95
    assert low < seen.slope_per_round / 2 < high < 0
    assert fit_rounds([1.0] * 8, [1.0] * 8, [0.0] * 8).per_gb is None


def test_none_seen_says_when_it_would_have_shown() -> None:
    rng = random.Random(13)
    quiet = fit_rounds(rounds(rng, 10, 0.0, 0.005), [1.0] * 10)
    assert quiet.verdict == "no material difference"
    assert quiet.shows_after is not None
    assert "10" in quiet.explain and quiet.explain.endswith(str(quiet.shows_after))
    loud = fit_rounds(rounds(rng, 6, 0.0, 0.1), [1.0] * 6)
    assert loud.verdict == "inconclusive"
    assert loud.explain


@every_case(("shows_after", "telling"), [(8, True), (9, False), (None, False)])
def test_none_may_be_said_only_where_a_loss_would_have_shown(shows_after: int | None, telling: bool) -> None:
    line = fit_line([float(i) for i in range(8)], [1e-4 * (-1) ** i for i in range(8)], 0.6)
    asked = trend_estimate(line, (-1e-3, 1e-3), shows_after, 8)
    assert asked.within is not None and asked.within.telling is telling


def test_what_would_have_shown_does_show() -> None:
    """Some eight times out of ten, at the rounds that the line promises."""
    rng = random.Random(14)
    line = fit_line([float(i) for i in range(200)], noise(rng, 200, 0.02, 0.6), 0.6)
    n = rounds_to_show(line)
    assert n is not None
    found = sum(
        fit_rounds(rounds(rng, n, 0.02, 0.02, 0.6), [1.0] * n).verdict == "slower" for _ in range(400)
    )
    assert 0.72 <= found / 400 <= 0.95


def test_too_few_rounds_or_a_broken_one() -> None:
    few = fit_rounds([1.0] * 5, [1.0] * 5)
    assert few.verdict == "inconclusive" and few.reason
    broken = fit_rounds([1.0] * 5 + [0.0], [1.0] * 6)
    assert (broken.verdict, broken.reason) == ("inconclusive", "a round without a value")


def test_a_sure_but_tiny_trend_is_not_called() -> None:
    assert fit_rounds([1 - 1e-4 * i for i in range(10)], [1.0] * 10).verdict == "no material difference"


def test_a_sure_loss_beyond_the_least_is_not_called_none() -> None:
    lost = [998.6, 996.5, 996.9, 993.1, 992.8, 989.6, 991.2, 990.6, 991, 988.6, 987.7, 985.8]
    assert fit_rounds(lost, [1.0] * 12).verdict == "inconclusive"
    assert fit_rounds(lost[::-1], [1.0] * 12).verdict == "inconclusive"


@given(st.lists(st.floats(0.5, 2.0), min_size=6, max_size=12), st.floats(0.1, 10))
def test_a_common_factor_changes_nothing(values: list[float], factor: float) -> None:
    ones = [1.0] * len(values)
    plain, scaled = fit_rounds(values, ones), fit_rounds([v * factor for v in values], ones)
    assert plain.slope_per_round == pytest.approx(scaled.slope_per_round, abs=1e-6)
    together = fit_rounds([v * factor for v in values], [factor] * len(values))
    assert together.slope_per_round == pytest.approx(plain.slope_per_round, abs=1e-6)
