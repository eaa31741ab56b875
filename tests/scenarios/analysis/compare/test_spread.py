"""Variances drawn together: the special functions against scipy, and what is borrowed when."""

import math
import random

import pytest

from hostdx.scenarios.analysis.compare.spread import (
    MAX_BORROWED_FREEDOM,
    ObservedVariance,
    digamma,
    moderate_variances,
    trigamma,
)
from tests.every_case import every_case
from tests.scenarios.oracle import special


@every_case("x", [0.1, 0.5, 1.0, 2.5, 7.9, 8.0, 40.0])
def test_the_special_functions_are_scipys(x: float) -> None:
    assert digamma(x) == pytest.approx(special.digamma(x), abs=1e-9)
    assert trigamma(x) == pytest.approx(special.polygamma(1, x), rel=1e-7)


def _draw_spread(
    rng: random.Random, true: float, freedom: int, within: float | None = None
) -> ObservedVariance:
    return ObservedVariance(
        true * math.fsum(rng.gauss(0, 1) ** 2 for _ in range(freedom)) / freedom, freedom, within
    )


def test_equal_spreads_are_worth_many_runs() -> None:
    rng = random.Random(3)
    spreads = [_draw_spread(rng, 4e-4, 2) for _ in range(40)]
    variances = moderate_variances(spreads)
    assert all(v.freedom > 2 + MAX_BORROWED_FREEDOM / 4 for v in variances)
    # the calm ones are drawn up, none is drawn down: a wild run is no reason to believe in an effect
    assert all(v.value > 1e-4 and v.value >= o.value for v, o in zip(variances, spreads, strict=True))


def test_unlike_spreads_borrow_little() -> None:
    rng = random.Random(3)
    variances = moderate_variances([_draw_spread(rng, 10 ** rng.uniform(-8, -1), 4) for _ in range(40)])
    assert all(v.freedom < 4 + 2 for v in variances)


def test_unlike_spreads_that_the_blocks_explain_borrow_again() -> None:
    rng = random.Random(3)
    true = [10 ** rng.uniform(-8, -1) for _ in range(40)]
    variances = moderate_variances([_draw_spread(rng, t, 4, within=t / 9) for t in true])
    assert all(v.freedom > 4 + MAX_BORROWED_FREEDOM / 4 for v in variances)


def test_a_few_loads_borrow_nothing() -> None:
    assert moderate_variances([ObservedVariance(1e-4, 2, None)] * 3)[0].freedom == 2


def test_never_less_than_the_blocks_say() -> None:
    assert moderate_variances([ObservedVariance(1e-9, 3, 1e-4)])[0].value == pytest.approx(1e-4)


def test_runs_that_agree_to_the_last_digit_still_vary() -> None:
    variances = moderate_variances([ObservedVariance(0.0, 1, None), ObservedVariance(4e-4, 1, None)])
    assert variances[0].value == pytest.approx(1e-4)
