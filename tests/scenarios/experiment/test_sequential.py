"""The decision: the rule, the looks, the orders, and the words."""

import itertools
import math
import random
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hostdx.scenarios.contract.verdict.verdict import GroupVerdict
from hostdx.scenarios.experiment.sequential import SequentialComparison, draw_orders
from hostdx.scenarios.experiment.statistics.stats import group_value
from tests.every_case import every_case


def decide(ratio: float, noise: float, planned: int = 30, seed: int = 1, **given_to: float) -> GroupVerdict:
    """Groups of white noise until a look decides; the rest goes to the comparison. Its blocks scatter as its groups."""
    rng = random.Random(seed)
    comparison = SequentialComparison("A", "B", "IOPS", planned_groups=planned, **given_to)  # type: ignore[arg-type]
    while True:
        value = math.log(ratio) + rng.gauss(0, noise)
        comparison.add(value, noise, ((1.0, 1.0), (math.exp(value), math.exp(value))))
        decision = comparison.at_look(2.0)
        if decision is not None:
            return decision


def test_a_large_effect_stops_at_the_first_look() -> None:
    decision = decide(0.75, 0.05)
    assert (decision.verdict, decision.groups, decision.look) == ("slower", 6, 1)
    assert decision.ci95 is not None
    assert decision.ci95[0] < 0.75 < decision.ci95[1] < 1 / 1.05
    assert decision.smallest_effect == pytest.approx((decision.ci95[1] - decision.ci95[0]) / 2)
    assert decision.slower_in == decision.groups == 6
    assert decision.seconds_to_decide is None


def test_faster_is_the_mirror_image() -> None:
    rng = random.Random(3)
    values = [-0.2 + rng.gauss(0, 0.08) for _ in range(30)]
    slower, faster = SequentialComparison("A", "B", "IOPS"), SequentialComparison("B", "A", "IOPS")
    for value in values:
        slower.add(value, 0.1)
        faster.add(-value, 0.1)
        one, other = slower.at_look(), faster.at_look()
        assert (one is None) == (other is None)
        if one is not None and other is not None:
            assert (one.verdict, other.verdict) == ("slower", "faster")
            assert one.ratio is not None
            assert other.ratio == pytest.approx(1 / one.ratio)
            assert one.groups == other.groups
            return
    raise AssertionError("decided by the last look at the latest")


def test_no_material_difference_needs_eight_groups_and_a_tight_interval() -> None:
    decision = decide(1.0, 0.01)
    assert decision.verdict == "no material difference"
    assert decision.groups == 10
    assert decision.ci95 is not None
    assert 1 / 1.05 <= decision.ci95[0] <= 1 <= decision.ci95[1] <= 1.05


def test_noise_without_end_is_inconclusive_and_says_what_it_would_take() -> None:
    decision = decide(1.0, 0.4)
    assert decision.verdict == "inconclusive"
    assert decision.groups == 30
    assert decision.smallest_effect is not None
    assert decision.smallest_effect > 0.1
    assert decision.seconds_to_decide is not None
    assert decision.seconds_to_decide > 60
    assert decision.smallest_effect is not None


def test_a_sure_but_immaterial_effect_is_no_difference_worth_a_word() -> None:
    assert decide(0.98, 0.005).verdict == "no material difference"
    assert decide(0.98, 0.005, margin=0.01).verdict == "slower"


def test_nothing_is_said_between_the_looks() -> None:
    comparison = SequentialComparison("A", "B", "IOPS")
    said = []
    for group in range(1, 31):
        comparison.add(0.3 * (-1) ** group, 0.4)
        said.append((group, comparison.current_look))
        if group < 30:
            assert comparison.at_look() is None
    assert [group for group, look in said if look] == [6, 10, 17, 30]


def test_ended_early_it_spends_what_is_left_and_asks_for_the_fewest_groups() -> None:
    comparison = SequentialComparison("A", "B", "IOPS")
    for _ in range(7):
        comparison.add(-0.1, 0.0)
        comparison.add(-0.12, 0.0)
    running, final = comparison.interim_estimate(), comparison.final_verdict()
    assert running is not None
    assert running.ci95[1] >= final.ci95[1] if final.ci95 else False
    assert final.verdict == "slower"
    few = SequentialComparison("A", "B", "IOPS")
    for value in (-0.06, -0.09, -0.03, -0.06, -0.07):
        few.add(value, 0.01)
    assert few.final_verdict().verdict == "inconclusive"
    assert few.final_verdict().reason and few.final_verdict().groups == 5
    none = SequentialComparison("A", "B", "IOPS").final_verdict()
    assert (none.verdict, none.ratio, none.ci95, none.reason) == (
        "inconclusive",
        None,
        None,
        "too few groups",
    )


def test_long_blocks_have_four_groups_and_see_large_effects_only() -> None:
    assert decide(0.6, 0.03, planned=6, min_groups=4).groups == 4
    four = decide(0.6, 0.03, planned=4, min_groups=4)
    assert (four.verdict, four.groups) == ("slower", 4)
    assert decide(0.95, 0.08, planned=4, min_groups=4).verdict == "inconclusive"


@every_case(("family", "groups"), [(1, 6), (2, 7), (4, 8), (7, 9)])
def test_groups_from_which_the_drawn_orders_alone_hold_the_level(family: int, groups: int) -> None:
    comparison = SequentialComparison("A", "B", "wall", family=family)
    assert comparison.exact_from == groups
    assert 2 * 0.5**groups <= comparison.alpha_share < 2 * 0.5 ** (groups - 1)


@every_case(("groups", "word"), [(4, "inconclusive"), (6, "inconclusive"), (7, "faster")])
def test_few_groups_that_agree_while_their_runs_overlap_call_nothing(groups: int, word: str) -> None:
    """All of A's runs are 10 % longer than B's beside them, and the host's own level wanders by 40 %: a neighbour in
    the groups' rhythm does that where all orders fall alike, which of seven groups they do in one of 64 draws.
    """
    comparison = SequentialComparison(
        "A", "B", "wall", better="less", family=2, margin=0.025, min_groups=4, planned_groups=groups
    )
    for level in (1.0, 1.3, 0.9, 1.1, 1.2, 0.95, 1.05)[:groups]:
        value = group_value([1.1 * level, 1.11 * level], [level, 1.01 * level], comparison.better)
        assert value is not None
        comparison.add(*value)
    found = comparison.final_verdict()
    assert (found.verdict, found.slower_in) == (word, 0)
    assert (found.reason is not None) == (word == "inconclusive")
    assert found.ci95 is not None and found.ci95[0] > 1.03  # the interval alone would have called it


def test_four_groups_call_a_quarter_on_a_quiet_host() -> None:
    found = [
        decide(0.8, 0.02, planned=4, min_groups=4, margin=0.025, family=2, seed=seed).verdict
        for seed in range(50)
    ]
    assert Counter(found) == {"slower": 50}


def test_a_family_shares_the_error() -> None:
    alone, of_five = SequentialComparison("A", "B", "IOPS"), SequentialComparison("A", "B", "IOPS", family=5)
    rng = random.Random(5)
    for _ in range(30):
        value = rng.gauss(-0.1, 0.1)
        alone.add(value, 0.1)
        of_five.add(value, 0.1)
    assert of_five.alpha_share == pytest.approx(0.01)
    assert of_five.current_level() < alone.current_level() / 3
    one, five = alone.final_verdict(), of_five.final_verdict()
    assert one.ci95 is not None
    assert five.ci95 is not None
    assert five.ci95[0] < one.ci95[0] < one.ci95[1] < five.ci95[1]
    assert five.alpha == pytest.approx(0.01)


def test_the_planner_names_the_look_that_will_decide() -> None:
    comparison = SequentialComparison("A", "B", "IOPS")
    assert comparison.seconds_left(2.0) is None
    for value in (-0.3, -0.28, -0.31):
        comparison.add(value, 0.02)
    assert comparison.groups_left() == 3
    assert comparison.seconds_left(2.0) == 6.0
    noisy = SequentialComparison("A", "B", "IOPS")
    for value in (-0.3, 0.28, 0.1):
        noisy.add(value, 0.2)
    assert noisy.groups_left() == 27


@settings(deadline=None)  # the first call of a number of groups computes its boundary
@given(st.lists(st.floats(-2, 2), min_size=8, max_size=30), st.sampled_from([1, 3, 6]))
def test_the_rule_holds_for_any_groups(values: list[float], family: int) -> None:
    comparison = SequentialComparison("A", "B", "IOPS", family=family, planned_groups=len(values))
    for value in values:
        comparison.add(value)
    decision = comparison.final_verdict(2.0)
    assert decision.ratio is not None
    assert decision.ci95 is not None
    low, high = decision.ci95
    assert low <= decision.ratio * (1 + 1e-9)
    assert decision.ratio <= high * (1 + 1e-9)
    if decision.verdict == "slower":
        assert high <= 1
        assert decision.ratio < 1 / 1.05
    elif decision.verdict == "faster":
        assert low >= 1  # the exponential of the least float is 1
        assert decision.ratio > 1.05
    elif decision.verdict == "no material difference":
        assert low >= 1 / 1.05 - 1e-9
        assert high <= 1.05 + 1e-9
    assert (decision.seconds_to_decide is not None) == (decision.verdict == "inconclusive")


def test_orders_of_two_are_abba_or_baab_and_never_a_whole_batch_alike() -> None:
    drawn = list(itertools.islice(draw_orders("AB", random.Random(1)), 6000))
    counts = Counter("".join(order) for order in drawn)
    assert set(counts) == {"ABBA", "BAAB"}
    assert abs(counts["ABBA"] - 3000) < 200
    for batch in range(0, 6000, 6):
        assert len(set(drawn[batch : batch + 6])) == 2


def test_of_four_groups_only_the_first_ones_are_never_alike() -> None:
    """Else each of the other outcomes of every four would be 14 % likelier: more false calls beside a rhythm."""
    drawn = [tuple(itertools.islice(draw_orders("AB", random.Random(seed), 4), 16)) for seed in range(2000)]
    alike = [sum(len(set(one[at : at + 4])) == 1 for one in drawn) for at in (0, 4, 5, 10)]
    assert alike[0] == 0 and all(
        120 < count < 300 for count in alike[1:]
    )  # of 2000 fair ones 250; of sixes 194
    assert all(len(set(one[4:10])) == 2 for one in drawn)


@given(st.integers(2, 7), st.integers(0, 1000))
def test_orders_are_balanced_for_more(count: int, seed: int) -> None:
    variants = [f"v{i}" for i in range(count)]
    for order in itertools.islice(draw_orders(variants, random.Random(seed)), 12):
        assert order == tuple(reversed(order))
        for variant in variants:
            places = [place for place, name in enumerate(order) if name == variant]
            assert len(places) == 2
            assert sum(places) == 2 * count - 1


def test_orders_are_the_seeds() -> None:
    def first(seed: int) -> list[tuple[str, ...]]:
        return list(itertools.islice(draw_orders(("none", "bfq", "kyber"), random.Random(seed)), 10))

    assert first(3) == first(3)
    assert first(3) != first(4)
