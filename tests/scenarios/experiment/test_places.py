"""Places: all pairs equally often, the two levels of scatter, and verdicts that hold beyond the pairs visited."""

import math
import random
from collections.abc import Sequence

import pytest

from hostdx.scenarios.contract.verdict.verdict import GroupVerdict
from hostdx.scenarios.experiment.places import (
    FileSetScatter,
    FileSetVisits,
)
from hostdx.scenarios.experiment.sequential import SequentialComparison
from tests.every_case import every_case


def two_levels(
    rng: random.Random, pairs: int, groups: int, place: float, within: float
) -> tuple[list[float], list[float], list[int]]:
    """Log ratios of alike sides, what their slices scatter, and where: places of each side differ by `place`."""
    pair = [rng.gauss(0, place) - rng.gauss(0, place) for _ in range(pairs)]
    visits = FileSetVisits(pairs, rng)
    ratios, scatters, places = [], [], []
    for _ in range(groups):
        [place_number] = visits.choose_for(1)
        visits.count_visits([place_number])
        a, b = ([rng.gauss(0, within) for _ in range(2)] for _ in "AB")
        ratios.append(pair[place_number] + sum(b) / 2 - sum(a) / 2)
        scatters.append(math.sqrt(((a[0] - a[1]) ** 2 + (b[0] - b[1]) ** 2) / 4))
        places.append(place_number)
    return ratios, scatters, places


@every_case("all_pairs", [16, 64])
@every_case("place", [0.0, 0.01, 0.021])
def test_so_many_groups_narrow_the_interval(place: float, all_pairs: int) -> None:
    place_scatter = FileSetScatter(place, 0.1, 0.1, all_pairs, all_pairs, 2 * all_pairs)
    assert place_scatter.error(10 * all_pairs) == pytest.approx(
        math.sqrt(2 * place**2 / all_pairs + 0.1**2 / (10 * all_pairs))
    )
    assert place_scatter.error(8) == pytest.approx(math.sqrt((2 * place**2 + 0.1**2) / 8))
    groups = place_scatter.measured_groups_for_width(0.05, 0.04)
    assert groups > 2 * all_pairs
    assert place_scatter.error(round(groups)) / place_scatter.error(2 * all_pairs) == pytest.approx(
        0.8, rel=0.02
    )


def judge_places(
    values: tuple[Sequence[float], Sequence[float], Sequence[int]],
    pairs: int,
    *,
    effect: float = 0.0,
    mirrored: bool = False,
    has_places: bool = True,
    margin: float = 0.05,
) -> GroupVerdict:
    """Until a look decides, as an experiment does it. `mirrored`: the sides exchanged."""
    ratios, scatters, places = values
    comparison = SequentialComparison(
        "A", "B", "IOPS", margin=margin, planned_groups=len(ratios), all_pairs=pairs if has_places else 0
    )
    for ratio, spread, place in zip(ratios, scatters, places, strict=True):
        log = -(ratio + effect) if mirrored else ratio + effect
        comparison.add(log, spread, place=place if has_places else None)
        if (decision := comparison.verdict_if_due(1.0)) is not None:
            return decision
    raise AssertionError("the last look decides")


def test_places_that_allow_no_narrower_interval_are_hopeless_and_said() -> None:
    verdict = judge_places(two_levels(random.Random(3), 16, 96, 0.12, 0.02), 16)
    assert verdict.verdict == "inconclusive" and verdict.reason and verdict.seconds_to_decide is None
    assert verdict.place_scatter == pytest.approx(0.12, rel=0.35) and verdict.pairs == 16
    noisy = judge_places(two_levels(random.Random(3), 16, 96, 0.005, 0.4), 16)
    assert noisy.verdict == "inconclusive" and not noisy.reason
    assert noisy.seconds_to_decide is not None and noisy.seconds_to_decide > 96


def test_before_a_pair_is_visited_again_the_groups_are_the_pairs() -> None:
    ratios, scatters, places = two_levels(random.Random(1), 64, 65, 0.05, 0.02)

    def spread_over(count: int, all_pairs: int) -> tuple[float, float, float]:
        comparison = SequentialComparison("A", "B", "IOPS", planned_groups=64, all_pairs=all_pairs)
        for at in range(count):
            comparison.add(ratios[at], scatters[at], place=places[at] if all_pairs else None)
        spread = comparison.current_spread()
        assert spread is not None
        return tuple(spread)

    assert spread_over(64, 64) == spread_over(64, 0)
    assert spread_over(65, 64) != spread_over(65, 0)
