"""The line with steps against an oracle, and a series' corners: trims everywhere, too few rounds, no reference."""

from __future__ import annotations

import math
import random

import pytest

from scenarios.experiment.statistics.least_squares import least_squares
from scenarios.experiment.treated_trend import treated_trend
from tests.every_case import every_case

numpy = pytest.importorskip("numpy")


@every_case("correlation", [0.0, 0.6, 0.9])
@every_case("seed", range(5))
def test_the_fit_agrees_with_an_oracle(seed: int, correlation: float) -> None:
    rng = random.Random(seed)
    n = 15
    columns = [[1.0] * n, [float(i) for i in range(n)], [float(i >= 6) for i in range(n)]]
    ys = [rng.gauss(0, 0.1) - 0.03 * i + 0.2 * (i >= 6) for i in range(n)]
    covariance = numpy.array([[correlation ** abs(i - k) for k in range(n)] for i in range(n)])
    weight = numpy.linalg.inv(covariance)
    design = numpy.array(columns).T
    inverse = numpy.linalg.inv(design.T @ weight @ design)
    expected = inverse @ design.T @ weight @ numpy.array(ys)
    rest = numpy.array(ys) - design @ expected
    variance = (rest @ weight @ rest) / (n - 3) * (1 - correlation**2)
    found = least_squares(columns, ys, correlation)
    assert found is not None and found.freedom == n - 3
    assert found.values == pytest.approx(list(expected), abs=1e-9)
    errors = numpy.sqrt(variance * numpy.diag(inverse) / (1 - correlation**2))
    assert [found.coefficient_at(k).error for k in range(3)] == pytest.approx(list(errors), rel=1e-6)


def test_columns_that_depend_on_each_other_have_no_fit() -> None:
    line = [float(i) for i in range(8)]
    assert least_squares([[1.0] * 8, line, [2 * x for x in line]], [0.1] * 8, 0.6) is None


def exact(n: int, loss: float, trims: set[int]) -> tuple[list[float], list[float], list[bool]]:
    """Without noise but for a hundredth of a percent, so that the fit has something to divide by."""
    values, worn = [], 0
    for i in range(n):
        worn = 0 if i in trims else worn
        values.append(100 * math.exp(math.log1p(-loss) * worn + 1e-4 * math.sin(7 * i)))
        worn += 1
    return values, [1.0] * n, [i in trims for i in range(n)]


def test_what_a_trim_gave_back_is_what_was_lost() -> None:
    found = treated_trend(*exact(20, 0.02, {10}))
    assert found.trend.verdict == "slower"
    assert found.trend.slope_per_round == pytest.approx(-0.02, abs=0.001)
    [jump] = found.jumps
    assert jump.called and jump.before_round == 11
    # from 9 rounds of wear to none, and the step that the line itself would have made
    assert jump.gave == pytest.approx(0.98**-10 - 1, abs=0.01)
    assert "11" in jump.text and "22 %" in jump.text


def test_many_trims_are_taken_together() -> None:
    apart = treated_trend(*exact(12, 0.02, {2, 4, 6, 8, 10}))
    assert [j.before_round for j in apart.jumps] == [3, 5, 7, 9, 11]
    crowded = treated_trend(*exact(9, 0.02, {2, 3, 5, 7, 8}))
    assert [j.before_round for j in crowded.jumps] == [0]
    assert crowded.jumps[0].gave > 0


def test_a_trim_before_every_round_leaves_the_plain_trend() -> None:
    found = treated_trend(*exact(8, 0.0, set(range(1, 8))))
    assert found.jumps == () and found.trend.rounds == 8


def test_too_few_rounds_are_said() -> None:
    found = treated_trend(*exact(4, 0.02, {2}))
    assert found.trend.verdict == "inconclusive" and found.jumps == ()
    assert found.trend.reason


def test_a_trim_before_the_first_round_counts_for_nothing() -> None:
    values, references, _ = exact(10, 0.02, set())
    found = treated_trend(values, references, [True] + [False] * 9)
    assert found.jumps == () and found.trend.verdict == "slower"


def test_the_loss_a_gigabyte() -> None:
    values, references, trims = exact(20, 0.02, {10})
    found = treated_trend(values, references, trims, [2e9 * i for i in range(20)])
    assert found.trend.per_gb == pytest.approx(-0.01, abs=0.001)
    assert found.trend.per_gb_ci95 is not None


@every_case("bad", [0.0, -1.0, math.inf, math.nan])
def test_a_round_without_a_value_is_no_verdict(bad: float) -> None:
    values, references, trims = exact(10, 0.02, {5})
    values[3] = bad
    assert treated_trend(values, references, trims).trend.verdict == "inconclusive"
