"""The distributions against scipy, to 1e-6."""

import pytest

from hostdx.scenarios.experiment.statistics import distributions
from tests.every_case import every_case
from tests.scenarios.oracle import numpy
from tests.scenarios.oracle import stats as oracle


@every_case("df", [1, 2, 5, 11, 200])
@every_case("p", [1e-5, 0.001, 0.005, 0.025, 0.3, 0.5, 0.9, 0.975, 0.9995])
def test_t_quantile(df: int, p: float) -> None:
    assert distributions.t_quantile(p, df) == pytest.approx(oracle.t.ppf(p, df), rel=1e-6, abs=1e-9)


@every_case(("a", "b"), [(0.5, 0.5), (2, 7), (15, 0.5), (40, 60)])
@every_case("x", [0.0, 0.01, 0.3, 0.7, 0.999, 1.0])
def test_beta(a: float, b: float, x: float) -> None:
    assert distributions.beta_cdf(x, a, b) == pytest.approx(oracle.beta.cdf(x, a, b), rel=1e-6, abs=1e-12)


@every_case(("k", "n", "p"), [(0, 5, 0.2), (3, 5, 0.2), (6, 5, 0.2), (12, 12, 0.5), (60, 100, 0.5)])
def test_binomial_tail(k: int, n: int, p: float) -> None:
    assert distributions.binomial_tail(k, n, p) == pytest.approx(oracle.binom.sf(k - 1, n, p), rel=1e-6)


def signed_rank_p(n: int, w: int) -> float:
    """Two-sided, of the smaller sum."""
    return min(1.0, 2 * distributions.signed_rank_cdf(n)[w])


@every_case("n", [6, 8, 15, 30, 60])
@every_case("alpha", [0.001, 0.01, 0.05])
def test_critical_sum_is_the_largest_within_the_level(n: int, alpha: float) -> None:
    critical = distributions.signed_rank_critical(n, alpha)
    if critical is None:
        assert 2.0 ** (1 - n) > alpha
        return
    assert signed_rank_p(n, critical) <= alpha < signed_rank_p(n, critical + 1)


@every_case("n", [61, 90, 150, 400])
def test_beyond_the_table_the_critical_value_stays_on_the_safe_side_by_three_ranks(n: int) -> None:
    weights = numpy.ones(1)
    for rank in range(1, n + 1):
        weights = (numpy.pad(weights, (0, rank)) + numpy.pad(weights, (rank, 0))) / 2
    both_sides = 2 * numpy.cumsum(weights)
    for alpha in (0.3, 0.05, 0.01, 0.001, 1e-4, 1e-5):
        exact = int(numpy.searchsorted(both_sides, alpha, side="right")) - 1
        critical = distributions.signed_rank_critical(n, alpha)
        assert critical is not None
        assert exact - 3 <= critical <= exact
