"""The decision: the rule, the looks, the orders, and the words."""

import itertools
import math
import random
from collections import Counter

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
        decision = comparison.verdict_at_look(2.0)
        if decision is not None:
            return decision


def test_a_sure_but_immaterial_effect_is_no_difference_worth_a_word() -> None:
    assert decide(0.98, 0.005).verdict == "no material difference"
    assert decide(0.98, 0.005, margin=0.01).verdict == "slower"


def test_long_blocks_have_four_groups_and_see_large_effects_only() -> None:
    assert decide(0.6, 0.03, planned=6, min_groups=4).groups == 4
    four = decide(0.6, 0.03, planned=4, min_groups=4)
    assert (four.verdict, four.groups) == ("slower", 4)
    assert decide(0.95, 0.08, planned=4, min_groups=4).verdict == "inconclusive"


@every_case(("family", "groups"), [(1, 6), (2, 7), (4, 8), (7, 9)])
def test_groups_from_which_the_drawn_orders_alone_hold_the_level(family: int, groups: int) -> None:
    comparison = SequentialComparison("A", "B", "wall", family=family)
    assert comparison.min_groups_for_exact_inference == groups
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
    final_verdict = comparison.final_verdict()
    assert (final_verdict.verdict, final_verdict.slower_in) == (word, 0)
    assert (final_verdict.reason is not None) == (word == "inconclusive")
    assert (
        final_verdict.ci95 is not None and final_verdict.ci95[0] > 1.03
    )  # the interval alone would have called it


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
    orders = list(itertools.islice(draw_orders("AB", random.Random(1)), 6000))
    counts = Counter("".join(order) for order in orders)
    assert set(counts) == {"ABBA", "BAAB"}
    assert abs(counts["ABBA"] - 3000) < 200
    for batch in range(0, 6000, 6):
        assert len(set(orders[batch : batch + 6])) == 2
