"""Planned looks, their boundaries, the groups and the verdict that they give."""

import itertools
import math
import random
from collections import Counter
from collections.abc import Iterable
from statistics import fmean, median

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hostdx.probes.engine.measured import Measured
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.plan import Metric, Workload
from hostdx.scenarios.contract.verdict.verdict import GroupVerdict, Word
from hostdx.scenarios.experiment import looks as boundary
from hostdx.scenarios.experiment.budget import (
    LeastTime,
    LoadPace,
    UndecidedLoad,
    next_undecided,
    seconds_for_first,
)
from hostdx.scenarios.experiment.groups import GroupBlocks, values_behind_verdict
from hostdx.scenarios.experiment.judge import PairJudge
from hostdx.scenarios.experiment.levels import fit_variant_levels, values_of_pair, with_value_delta
from hostdx.scenarios.experiment.sequential import SequentialComparison, draw_orders
from hostdx.scenarios.experiment.statistics.stats import group_value
from tests.every_case import every_case
from tests.fakes import FakeClock
from tests.needs import one_always
from tests.scenarios.oracle import integrate
from tests.scenarios.oracle import numpy as np
from tests.scenarios.oracle import stats as oracle


def decide(ratio: float, noise: float, planned: int = 30, seed: int = 1, **given_to: float) -> GroupVerdict:
    """Groups of white noise until a look decides; the rest goes to the comparison. Its blocks scatter as its groups."""
    rng = random.Random(seed)
    comparison = SequentialComparison("A", "B", "IOPS", planned_groups=planned, **given_to)  # type: ignore[arg-type]
    while True:
        value = math.log(ratio) + rng.gauss(0, noise)
        comparison.add(value, noise, ((1.0, 1.0), (math.exp(value), math.exp(value))))
        decision = comparison.verdict_if_due(2.0)
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


def make_needs(*seconds: float) -> list[LeastTime]:
    return [LeastTime(s) for s in seconds]


def test_the_first_gets_all_but_what_the_later_ones_need() -> None:
    assert seconds_for_first(100.0, make_needs(20, 30, 10)) == 60.0
    assert seconds_for_first(100.0, make_needs(20)) == 100.0
    assert seconds_for_first(100.0, [LeastTime(20, control=True), LeastTime(10)]) == 40.0


def test_what_is_left_goes_to_the_widest_interval_that_it_can_decide() -> None:
    noisy = UndecidedLoad("stream", half_width=0.3, next_s=4.0, decides_s=200.0)
    near = UndecidedLoad("reads", half_width=0.06, next_s=4.0, decides_s=8.0)
    nearer = UndecidedLoad("cpu", half_width=0.02, next_s=1.0, decides_s=2.0)
    assert next_undecided(20.0, [near, nearer, noisy]) == near
    assert next_undecided(3.0, [near, nearer, noisy]) == nearer
    assert next_undecided(300.0, [near, nearer, noisy]) == noisy
    assert next_undecided(5.0, [near, noisy]) == noisy  # nobody will be decided: the widest
    assert next_undecided(0.5, [near, nearer, noisy]) is None
    assert next_undecided(60.0, []) is None


IOPS = Metric("IOPS", "IOPS")


def group(index: int) -> GroupBlocks:
    group_blocks = GroupBlocks(index, "ABBA")
    for side, value in zip("ABBA", (1.0, 10.0, 20.0, 2.0), strict=True):
        group_blocks.add(side, Measured(seconds=0.02, values={"IOPS": value + 100 * index}))
    return group_blocks


def make_verdict(groups: int, batch: int = 1) -> ev.RunVerdict:
    return ev.RunVerdict(
        t=0.0, workload="w", metric="IOPS", baseline="A", variant="B", verdict="slower", groups=groups, batch=batch
    )  # fmt: skip


@every_case(
    ("verdicts", "values"),
    [
        ([make_verdict(1)], [15.0]),
        ([make_verdict(1, batch=2)], [15.0]),  # groups, whatever the batches are
        ([make_verdict(0)], [15.0, 115.0, 215.0]),  # not decided by groups: all there are
        ([], [15.0, 115.0, 215.0]),
    ],
)
def test_what_came_after_the_decision_is_no_part_of_the_level(
    verdicts: list[ev.RunVerdict], values: list[float]
) -> None:
    assert values_behind_verdict([group(n) for n in range(3)], "B", IOPS, verdicts) == values


READS = Workload(id="reads", title="reads", metrics=(IOPS,))


def judge_group(index: int, ratio: float) -> GroupBlocks:
    group_blocks = GroupBlocks(index, "ABBA")
    for place, variant in enumerate(group_blocks.order):
        rate = 10_000 * (1 + 0.001 * ((7 * index + place) % 5)) * (ratio if variant == "B" else 1.0)
        group_blocks.add(variant, Measured(seconds=0.5, values={IOPS.name: rate}))
    return group_blocks


@every_case(
    ("first", "ratio", "word"), [(False, 0.93, "slower"), (True, 0.93, "inconclusive"), (True, 0.7, "slower")]
)
def test_more_than_half_of_the_groups_must_have_been_disturbed(first: bool, ratio: float, word: str) -> None:
    judge = PairJudge(READS, IOPS, ("A", "B"), family=1, margin=0.05, planned_groups=20)
    pace = LoadPace(FakeClock(), 60.0, 2.0)
    for index in range(20):
        blocks = judge_group(index, ratio + 0.03 * (index % 4 - 1.5))
        blocks.loud = index % 2 == 1 or (first and index == 0)
        judge.add(blocks, pace)
    verdict = judge.conclude_verdict(1.0, pace, "")
    assert verdict.verdict == "slower" and verdict.groups % 2 == 0
    assert judge.keep_large_only_if_mostly_disturbed(verdict, "").verdict == word


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
    levels = [boundary.nominal_alpha(look, looks, alpha) for look in looks]
    assert 1 - stays_inside(looks, critical_values(levels)) == pytest.approx(alpha, abs=accuracy)


def test_an_early_end_spends_what_is_left() -> None:
    looks = (6, 20)
    at_end, early = (
        boundary.nominal_alpha(10, looks, 0.05),
        boundary.nominal_alpha(10, looks, 0.05, final=True),
    )
    assert at_end < early < 0.05
    levels = (boundary.nominal_alpha(6, looks, 0.05), early)
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


def make_level_verdict(
    ratio: float | None, ci95: tuple[float, float] | None = None, baseline: str = "A", variant: str = "B"
) -> ev.RunVerdict:
    return ev.RunVerdict(
        t=0.0, workload="w", metric="m", baseline=baseline, variant=variant, verdict=Word.SLOWER,
        ratio=ratio, ci95=ci95, delta=99.0, delta_ci95=(98.0, 100.0),
    )  # fmt: skip


@every_case(
    ("sign", "values", "ci95", "ends"),
    [
        (1, (200.0, 100.0), (0.4, 0.6), (-120.0, -80.0)),
        (-1, (100.0, 200.0), (0.4, 0.8), (25.0, 150.0)),  # of a cost, half the speed is double the value
        (1, (200.0, 202.0), (0.99, 1.03), (-2.0, 6.0)),
    ],
)
def test_a_difference_is_of_the_printed_values_and_excludes_0_where_the_effect_excludes_1(
    sign: int, values: tuple[float, float], ci95: tuple[float, float], ends: tuple[float, float]
) -> None:
    difference = with_value_delta(make_level_verdict((values[1] / values[0]) ** sign, ci95), values, sign)
    assert difference.delta == values[1] - values[0]
    assert difference.delta_ci95 == pytest.approx(ends)


@pytest.mark.parametrize("ci95", [None, (0.0, 2.0)])
def test_without_an_interval_the_difference_has_none(ci95: tuple[float, float] | None) -> None:
    difference = with_value_delta(make_level_verdict(0.5, ci95), (2.0, 1.0), 1)
    assert (difference.delta, difference.delta_ci95) == (-1.0, None)


LINKED = {
    ("A", "B"): ([90.0, 100.0, 110.0], [55.0]),
    ("A", "C"): ([110.0], [200.0]),
    ("D", "C"): ([40.0], [210.0]),
}
EFFECTS = {("A", "B"): math.log(0.5), ("A", "C"): math.log(2.0), ("D", "C"): math.log(4.0)}


def distance_to_medians(values: dict[str, float], factor: float) -> float:
    """Return the sum of squares, in logs, from each value (times `factor`) to the middle of its medians."""
    logs: dict[str, list[float]] = {}
    for pair, sides in LINKED.items():
        for name, side in zip(pair, sides, strict=True):
            logs.setdefault(name, []).append(math.log(median(side)))
    return sum((math.log(values[name] * factor) - fmean(medians)) ** 2 for name, medians in logs.items())


def test_values_divide_to_every_effect_and_lie_as_near_to_the_medians_of_all_as_can_be() -> None:
    values = fit_variant_levels(LINKED, EFFECTS)
    for (baseline, variant), effect in EFFECTS.items():
        assert math.log(values[variant] / values[baseline]) == pytest.approx(effect)
    assert all(
        distance_to_medians(values, 1.0) < distance_to_medians(values, factor) for factor in (0.99, 1.01)
    )


@every_case(("ratio", "fits"), [(4.0, True), (4.03, True), (4.1, False), (None, False)])
def test_values_stand_beside_an_effect_that_they_divide_to(ratio: float | None, fits: bool) -> None:
    values = values_of_pair({"B": 50.0, "C": 200.0}, make_level_verdict(ratio, baseline="B", variant="C"), 1)
    assert values == ((50.0, 200.0) if fits else None)
