"""A group's value, and the interval over groups: exact whatever the noise, robust, and its invariants."""

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hostdx.scenarios.experiment.statistics.stats import (
    calm_weights,
    group_value,
    interval_over_groups,
    log_ratio,
    sign_test,
    slower_pair_share,
    student_interval,
)
from tests.every_case import every_case
from tests.scenarios.oracle import stats as oracle

rates = st.floats(min_value=1e-3, max_value=1e9)


def value(baseline: list[float], variant: list[float], better: str = "more") -> float:
    ratio = log_ratio(baseline, variant, "less" if better == "less" else "more")
    assert ratio is not None
    return ratio


@given(st.lists(rates, min_size=2, max_size=4), st.lists(rates, min_size=2, max_size=4))
def test_swapping_the_variants_inverts_the_ratio(a: list[float], b: list[float]) -> None:
    assert value(a, b) == pytest.approx(-value(b, a), abs=1e-9)
    assert value(a, b, "less") == pytest.approx(-value(a, b), abs=1e-9)


def test_a_drift_of_one_per_cent_a_block_cancels_in_abba() -> None:
    blocks = [1000 * 0.99**i for i in range(4)]
    assert abs(value([blocks[0], blocks[3]], [blocks[1], blocks[2]])) < 1.1e-4


@every_case("bad", [0.0, -1.0, math.nan, math.inf])
def test_a_block_without_a_rate_has_no_ratio(bad: float) -> None:
    assert group_value([1.0, bad], [1.0, 1.0]) is None
    assert group_value([], [1.0]) is None


def test_scatter_is_of_equal_blocks_only() -> None:
    even = group_value([100.0, 100.0], [50.0, 50.0])
    assert even is not None
    assert even.scatter == 0
    wild = group_value([100.0, 200.0], [50.0, 50.0])
    assert wild is not None
    assert wild.scatter == pytest.approx(math.log(2) / 2)


def test_blocks_that_are_equal_agree_on_nothing() -> None:
    assert slower_pair_share([((1.0, 2.0), (1.0, 0.5))]) == 0.75
    assert slower_pair_share([((1.0, 1.0), (1.0, 1.0)), ((2.0,), (1.0,))]) == 3 / 9
    assert slower_pair_share([]) == 0.0


def not_covering(noise: list[float], alpha: float, weights: list[float] | None) -> float:
    """Over all draws of the orders: how often the interval misses a true effect of 0.1."""
    missed = 0
    for signs in itertools.product((-1, 1), repeat=len(noise)):
        spread = interval_over_groups(
            [0.1 + s * c for s, c in zip(signs, noise, strict=True)], alpha, weights
        )
        assert spread is not None
        missed += not spread.low - 1e-12 <= 0.1 <= spread.high + 1e-12
    return missed / float(2 ** len(noise))


@every_case(
    "noise",
    [
        [0.01 * (i + 1) for i in range(10)],  # growing
        [0.3] * 10,  # a neighbour whose period is the group's
        [0.01] * 9 + [5.0],  # one wild group
        [0.2 * math.sin(i) for i in range(10)],
        [0.05, -0.01, 0.3, 0.02, -0.4, 0.1, 0.07, -0.06, 0.005, 0.9],
    ],
)
@every_case("alpha", [0.01, 0.05])
def test_the_interval_is_exact_or_conservative_whatever_the_noise(noise: list[float], alpha: float) -> None:
    assert not_covering(noise, alpha, None) <= alpha
    scatters = [abs(math.cos(3 * i)) + 0.1 for i in range(10)]
    assert not_covering(noise, alpha, calm_weights(scatters)) <= alpha


def test_student_against_the_oracle() -> None:
    values = [0.1, 0.13, 0.05, 0.2, 0.11]
    interval = student_interval(values, 0.01)
    expected = oracle.ttest_1samp(values, 0).confidence_interval(0.99)
    assert (interval.low, interval.high) == pytest.approx((expected.low, expected.high), abs=1e-6)


@every_case(("a", "b"), [(0, 0), (3, 0), (5, 1), (4, 4), (2, 9)])
def test_the_sign_test_is_two_sided(a: int, b: int) -> None:
    p = oracle.binomtest(a, a + b).pvalue if a + b else 1.0
    assert sign_test(a, b) == pytest.approx(p) == sign_test(b, a)


def test_groups_that_agree_by_chance_are_not_believed() -> None:
    values = [0.1, 0.1001, 0.0999, 0.1, 0.1002, 0.0998]
    narrow, floored = interval_over_groups(values, 0.005), interval_over_groups(values, 0.005, floor=0.2)
    assert narrow is not None
    assert floored is not None
    assert narrow.half_width < 0.001
    assert floored.half_width > 0.3


def test_calm_stretches_count_more() -> None:
    weights = calm_weights([0.1] * 6 + [0.5] * 6)
    assert weights[0] > 2 * weights[-1]
    assert calm_weights([0.2] * 5) == pytest.approx([0.5] * 5)
    assert calm_weights([0.0, 0.0, 0.0]) == [1.0, 1.0, 1.0]
    one_wild = calm_weights([0.1] * 5 + [10.0] + [0.1] * 5)
    assert one_wild[5] == pytest.approx(one_wild[4])  # a wild group shares its weight with its neighbours
