"""The looks and what they cost, against scipy's multivariate normal distribution."""

import itertools
import math
from collections.abc import Iterable

import pytest

from hostdx.scenarios.experiment import looks as boundary
from tests.every_case import every_case
from tests.needs import one_always
from tests.scenarios.oracle import integrate
from tests.scenarios.oracle import numpy as np
from tests.scenarios.oracle import stats as oracle


def critical_values(levels: Iterable[float]) -> tuple[float, ...]:
    return tuple(float(oracle.norm.isf(level / 2)) for level in levels)


def stays_inside(counts: tuple[int, ...], criticals: tuple[float, ...]) -> float:
    """P(no look crosses) by nested quadrature (two looks) or scipy's integration (three and more)."""
    roots = [math.sqrt(count) for count in counts]
    if len(counts) == 2:
        (n1, n2), (c1, c2) = counts, criticals
        gap = math.sqrt(n2 - n1)

        def density_at(z: float) -> float:
            x = z * roots[0]
            inner = oracle.norm.cdf((c2 * roots[1] - x) / gap) - oracle.norm.cdf((-c2 * roots[1] - x) / gap)
            return float(oracle.norm.pdf(z) * inner)

        return float(integrate.quad(density_at, -c1, c1, epsabs=1e-12)[0])
    covariance = np.array([[min(a, b) / math.sqrt(a * b) for b in counts] for a in counts])
    normal = oracle.multivariate_normal(cov=covariance, maxpts=4_000_000, abseps=1e-7, releps=1e-7, seed=1)
    upper = np.array(criticals)
    return float(normal.cdf(upper, lower_limit=-upper))


@pytest.mark.parametrize(
    ("looks", "accuracy"), [((6, 12), 1e-6), ((10, 30), 1e-6), ((6, 10, 17, 30), 1e-5), ((12, 24, 60), 1e-5)]
)
@pytest.mark.parametrize("alpha", one_always(0.05, 0.01))
def test_all_looks_together_spend_alpha(looks: tuple[int, ...], accuracy: float, alpha: float) -> None:
    levels = [boundary.nominal_level(look, looks, alpha) for look in looks]
    assert 1 - stays_inside(looks, critical_values(levels)) == pytest.approx(alpha, abs=accuracy)


def test_one_look_costs_nothing() -> None:
    assert boundary.nominal_level(12, (12,), 0.05) == pytest.approx(0.05, abs=1e-9)


def test_an_early_end_spends_what_is_left() -> None:
    looks = (6, 20)
    at_end, early = (
        boundary.nominal_level(10, looks, 0.05),
        boundary.nominal_level(10, looks, 0.05, final=True),
    )
    assert at_end < early < 0.05
    levels = (boundary.nominal_level(6, looks, 0.05), early)
    assert 1 - stays_inside((6, 10), critical_values(levels)) == pytest.approx(0.05, abs=1e-6)


@every_case("looks", [(12,), (6, 12), (6, 10, 15), (6, 10, 17, 30), (6, 10, 19, 35, 64, 120)])
def test_spending_only_grows_and_ends_at_alpha(looks: tuple[int, ...]) -> None:
    spent = [boundary.alpha_spent_up_to(groups, looks, 0.05) for groups in range(looks[-1] + 5)]
    assert all(b >= a - 1e-15 for a, b in itertools.pairwise(spent))
    assert spent[-1] == pytest.approx(0.05) == spent[looks[-1]]
    assert tuple(spent[look] for look in looks) == pytest.approx(boundary.planned_spending(looks, 0.05))
    assert (
        boundary.planned_spending(looks, 0.05)[-1] - sum(boundary.planned_spending(looks, 0.05)[-2:-1])
        > 0.5 * 0.05
    )


def test_the_looks_of_a_minute_and_what_each_may_spend() -> None:
    looks = boundary.plan_analyses(30)
    assert looks == (6, 10, 17, 30)
    assert boundary.planned_spending(looks, 1.0) == pytest.approx((0.05, 0.25, 0.31, 1.0))
    assert boundary.planned_spending((6, 12), 1.0) == pytest.approx((0.15, 1.0))
