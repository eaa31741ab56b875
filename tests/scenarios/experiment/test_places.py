"""Places: all pairs equally often, the two levels of scatter, and verdicts that hold beyond the pairs visited."""

import math
import random
from collections import Counter
from collections.abc import Sequence

import pytest

from hostdx.scenarios.contract.verdict.verdict import GroupVerdict
from hostdx.scenarios.experiment.places import (
    MIN_PAIRS,
    PlaceScatter,
    PlaceVisits,
    estimate_scatter,
    means_by_place,
)
from hostdx.scenarios.experiment.sequential import SequentialComparison
from tests.every_case import every_case
from tests.needs import one_always

CALLED = ("slower", "faster")


def test_all_pairs_are_visited_equally_often_whatever_the_trains_are() -> None:
    visits, seen = PlaceVisits(16, random.Random(1)), Counter[int]()
    for groups in (12, 1, 7, 30, 5, 16, 9):
        chosen = visits.next(groups)
        assert len(chosen) == groups
        visits.count_visits(chosen)
        seen.update(chosen)
        assert max(seen.values()) - min(seen[place] for place in range(16)) <= 1
    assert set(seen.values()) == {5}


def test_what_was_disturbed_is_visited_again_and_next() -> None:
    visits = PlaceVisits(16, random.Random(1))
    visits.count_visits(visits.next(12))
    disturbed = visits.next(4)
    assert Counter(visits.next(4)) == Counter(disturbed)  # no other pair was visited less often
    visits.count_visits(disturbed)
    assert sorted(visits.next(16)) == list(range(16))


def test_the_order_is_drawn_by_the_seed() -> None:
    def order(seed: int) -> list[int]:
        return PlaceVisits(64, random.Random(seed)).next(128)

    assert order(1) == order(1) != order(2)
    assert order(1)[:64] != sorted(order(1)[:64]) and order(1)[:64] != order(1)[64:]
    firsts = Counter(PlaceVisits(4, random.Random(seed)).next(1)[0] for seed in range(2000))
    assert all(400 < firsts[place] < 600 for place in range(4))


def test_means_by_place_and_their_weights() -> None:
    means, sums = means_by_place([0.1, 0.4, 0.2, 0.6], None, [7, 3, 7, 3])
    assert means == pytest.approx([0.15, 0.5]) and sums == [2.0, 2.0]
    means, sums = means_by_place([0.1, 0.4, 0.2], [1.0, 5.0, 3.0], [7, 3, 7])
    assert means == pytest.approx([(0.1 + 0.6) / 4, 0.4]) and sums == [4.0, 5.0]


def test_the_two_levels_by_hand() -> None:
    """Eight pairs at +-0.04, visited twice at +-0.01 around it."""
    levels = [0.04, -0.04] * 4
    ratios = [level + off for off in (0.01, -0.01) for level in levels]
    found = estimate_scatter(ratios, [0.012] * 16, [*range(8), *range(8)], 16)
    assert found is not None
    group = 2 * 0.01**2  # a sample of two at +-0.01, in each pair
    pair = 8 * 0.04**2 / 7 - group / 2
    assert found.in_group == pytest.approx(math.sqrt(group))
    assert found.place == pytest.approx(math.sqrt(pair / 2))
    median = 0.012 / math.sqrt(math.log(2))
    assert (found.slice, found.pairs, found.all_pairs) == (pytest.approx(median), 8, 16)
    assert (
        estimate_scatter(ratios[:8], [0.012] * 8, range(8), 16) is None
    )  # a moment is not told from a place yet


def test_alike_places_scatter_nothing_and_few_tell_nothing() -> None:
    ratios = [0.01, -0.01] * 8
    same = estimate_scatter(ratios, [0.02] * 16, [place for place in range(8) for _ in range(2)], 8)
    assert same is not None and same.place == 0.0
    assert (
        estimate_scatter(ratios, [0.02] * 16, [number % (MIN_PAIRS - 1) for number in range(16)], 16) is None
    )


def two_levels(
    rng: random.Random, pairs: int, groups: int, place: float, within: float
) -> tuple[list[float], list[float], list[int]]:
    """Log ratios of alike sides, what their slices scatter, and where: places of each side differ by `place`."""
    pair = [rng.gauss(0, place) - rng.gauss(0, place) for _ in range(pairs)]
    visits = PlaceVisits(pairs, rng)
    ratios, scatters, places = [], [], []
    for _ in range(groups):
        [where] = visits.next(1)
        visits.count_visits([where])
        a, b = ([rng.gauss(0, within) for _ in range(2)] for _ in "AB")
        ratios.append(pair[where] + sum(b) / 2 - sum(a) / 2)
        scatters.append(math.sqrt(((a[0] - a[1]) ** 2 + (b[0] - b[1]) ** 2) / 4))
        places.append(where)
    return ratios, scatters, places


@pytest.mark.parametrize(("place", "within"), [(0.021, 0.004), (0.05, 0.05), (0.005, 0.1), (0.0, 0.03)])
@pytest.mark.parametrize("groups", one_always(128, 320))
def test_both_levels_are_found_in_simulated_noise(place: float, within: float, groups: int) -> None:
    """Over 40 disks of 64 pairs: the mean of the squares, for one disk alone scatters by a tenth and more."""
    rng = random.Random(f"{place} {within} {groups}")
    found = [estimate_scatter(*two_levels(rng, 64, groups, place, within), 64) for _ in range(40)]
    known = [one for one in found if one is not None]
    assert len(known) == 40
    assert math.sqrt(sum(one.slice**2 for one in known) / 40) == pytest.approx(within, rel=0.1)
    assert math.sqrt(sum(one.in_group**2 for one in known) / 40) == pytest.approx(within, rel=0.1)
    # What slices leave in a pair is taken off with an error of its own, and below nothing is nothing.
    blurred = 0.7 * within / math.sqrt(groups / 64) / 64**0.25
    assert math.sqrt(sum(one.place**2 for one in known) / 40) == pytest.approx(place, rel=0.1, abs=blurred)


@every_case("all_pairs", [16, 64])
@every_case("place", [0.0, 0.01, 0.021])
def test_so_many_groups_narrow_the_interval(place: float, all_pairs: int) -> None:
    one = PlaceScatter(place, 0.1, 0.1, all_pairs, all_pairs, 2 * all_pairs)
    assert one.error(10 * all_pairs) == pytest.approx(
        math.sqrt(2 * place**2 / all_pairs + 0.1**2 / (10 * all_pairs))
    )
    assert one.error(8) == pytest.approx(math.sqrt((2 * place**2 + 0.1**2) / 8))
    groups = one.groups_for(0.05, 0.04)
    assert groups > 2 * all_pairs
    assert one.error(round(groups)) / one.error(2 * all_pairs) == pytest.approx(0.8, rel=0.02)


def test_where_places_differ_by_too_much_no_number_of_groups_does() -> None:
    """What 16 pairs leave of it stays, however many groups follow."""
    one = PlaceScatter(0.05, 0.01, 0.01, 16, 16, 32)
    least = math.sqrt(2 * 0.05**2 / 16) / one.error(32)  # of the half-width now
    assert math.isfinite(one.groups_for(0.1, 0.1001 * least)) and math.isinf(
        one.groups_for(0.1, 0.0999 * least)
    )


def judged(
    values: tuple[Sequence[float], Sequence[float], Sequence[int]],
    pairs: int,
    *,
    effect: float = 0.0,
    mirrored: bool = False,
    placed: bool = True,
    margin: float = 0.05,
) -> GroupVerdict:
    """Until a look decides, as an experiment does it. `mirrored`: the sides exchanged."""
    ratios, scatters, places = values
    comparison = SequentialComparison(
        "A", "B", "IOPS", margin=margin, planned_groups=len(ratios), all_pairs=pairs if placed else 0
    )
    for ratio, each, place in zip(ratios, scatters, places, strict=True):
        log = -(ratio + effect) if mirrored else ratio + effect
        comparison.add(log, each, place=place if placed else None)
        if (decision := comparison.at_look(1.0)) is not None:
            return decision
    raise AssertionError("the last look decides")


def test_like_directories_on_uneven_places_are_not_called_and_without_places_they_are() -> None:
    """16 pairs whose places differ by 5 %: an interval over the groups alone is one of pseudo-replicates."""
    count, called, called_without, outside = 150, 0, 0, 0
    for seed in range(count):
        values = two_levels(random.Random(seed), 16, 64, 0.05, 0.02)
        with_places, without = (judged(values, 16, placed=placed, margin=0.01) for placed in (True, False))
        called += with_places.verdict in CALLED
        called_without += without.verdict in CALLED
        assert with_places.ci95 is not None
        outside += not with_places.ci95[0] <= 1 <= with_places.ci95[1]
    assert called <= 0.05 * count and outside <= 0.06 * count
    assert called_without > 0.2 * count


def test_a_real_tenth_is_found_on_uneven_places() -> None:
    words = Counter(
        judged(two_levels(random.Random(seed), 64, 192, 0.03, 0.03), 64, effect=math.log(0.9)).verdict
        for seed in range(100)
    )
    assert words["slower"] >= 98 and not words["faster"]


@every_case("seed", range(4))
@every_case("effect", [0.0, math.log(0.9)])
def test_exchanged_sides_give_the_mirrored_verdict(seed: int, effect: float) -> None:
    values = two_levels(random.Random(seed), 16, 64, 0.02, 0.03)
    one, other = (judged(values, 16, effect=effect, mirrored=mirrored) for mirrored in (False, True))
    mirror = {"slower": "faster", "faster": "slower"}
    assert other.verdict == mirror.get(one.verdict, one.verdict)
    assert one.ratio is not None and other.ratio == pytest.approx(1 / one.ratio)
    assert one.ci95 is not None and other.ci95 == pytest.approx((1 / one.ci95[1], 1 / one.ci95[0]))
    assert (one.groups, one.look) == (other.groups, other.look)
    assert one.pairs == other.pairs
    assert one.place_scatter == other.place_scatter and one.slice_scatter == other.slice_scatter


def test_places_that_allow_no_narrower_interval_are_hopeless_and_said() -> None:
    found = judged(two_levels(random.Random(3), 16, 96, 0.12, 0.02), 16)
    assert found.verdict == "inconclusive" and found.reason and found.seconds_to_decide is None
    assert found.place_scatter == pytest.approx(0.12, rel=0.35) and found.pairs == 16
    noisy = judged(two_levels(random.Random(3), 16, 96, 0.005, 0.4), 16)
    assert noisy.verdict == "inconclusive" and not noisy.reason
    assert noisy.seconds_to_decide is not None and noisy.seconds_to_decide > 96


def test_before_a_pair_is_visited_again_the_groups_are_the_pairs() -> None:
    ratios, scatters, places = two_levels(random.Random(1), 64, 65, 0.05, 0.02)

    def over(count: int, all_pairs: int) -> tuple[float, float, float]:
        comparison = SequentialComparison("A", "B", "IOPS", planned_groups=64, all_pairs=all_pairs)
        for at in range(count):
            comparison.add(ratios[at], scatters[at], place=places[at] if all_pairs else None)
        spread = comparison.current_spread()
        assert spread is not None
        return tuple(spread)

    assert over(64, 64) == over(64, 0)
    assert over(65, 64) != over(65, 0)
