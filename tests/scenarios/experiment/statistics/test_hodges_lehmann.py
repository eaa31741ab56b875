"""The ends of the interval without listing all averages: the same, for any groups, and fast enough for thousands."""

import bisect
import random

from hostdx.scenarios.experiment.statistics.distributions import signed_rank_critical
from hostdx.scenarios.experiment.statistics.hodges_lehmann import walsh_averages, walsh_ends
from hostdx.scenarios.experiment.statistics.stats import calm_weights
from tests.every_case import every_case


def draw_heavy(rng: random.Random, groups: int) -> list[float]:
    return [rng.gauss(0.02, 0.1 if rng.random() < 0.95 else 2.0) for _ in range(groups)]


@every_case("groups", [121, 250, 400])
@every_case("alpha", [0.2, 0.01, 0.0003])
def test_the_search_finds_the_ends_of_the_list(groups: int, alpha: float) -> None:
    rng = random.Random(groups)
    values = draw_heavy(rng, groups)
    weights = calm_weights([abs(rng.gauss(0, 1)) for _ in values])
    critical = signed_rank_critical(groups, alpha)
    assert critical is not None
    averages = walsh_averages(values, weights)
    ends = walsh_ends(values, weights, critical)
    slack = groups // 20
    assert averages[critical - slack - 1] <= ends.low <= averages[critical]
    assert averages[-1 - critical] <= ends.high <= averages[slack - critical]
    middle = bisect.bisect(averages, ends.middle)
    assert abs(middle - len(averages) / 2) <= slack
