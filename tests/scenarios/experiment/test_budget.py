"""The planner's seconds: what a workload gets, what the later ones keep, how many groups still fit."""

import math

import pytest

from hostdx.scenarios.contract.plan import Metric, Workload
from hostdx.scenarios.experiment.budget import (
    Budget,
    Need,
    Pace,
    Undecided,
    allotted_seconds,
    group_seconds,
    minimum_seconds,
    next_undecided,
    seconds_for_first,
)
from tests.fakes import FakeClock


def workload(name: str, block_s: float = 0.5, min_groups: int = 8) -> Workload:
    return Workload(
        id=name, title=name, metrics=(Metric("IOPS", "IOPS"),), block_s=block_s, min_groups=min_groups
    )


SHORT = workload("reads")
LONG = workload("schedulers", block_s=15, min_groups=4)


def test_a_group_is_two_blocks_a_variant() -> None:
    assert group_seconds(SHORT, 2) == 2.0
    assert group_seconds(SHORT, 3) == 3.0
    assert group_seconds(LONG, 2) == 60.0
    assert minimum_seconds(SHORT, 2) > 8 * 2.0
    assert minimum_seconds(LONG, 2) > 4 * 60.0


def needs(*seconds: float) -> list[Need]:
    return [Need(s) for s in seconds]


def test_the_first_gets_all_but_what_the_later_ones_need() -> None:
    assert seconds_for_first(100.0, needs(20, 30, 10)) == 60.0
    assert seconds_for_first(100.0, needs(20)) == 100.0
    assert seconds_for_first(100.0, [Need(20, control=True), Need(10)]) == 40.0


def test_in_a_tight_budget_the_most_important_comes_first() -> None:
    assert seconds_for_first(45.0, needs(20, 20, 20)) == 25.0  # the last one does not fit beside it
    assert seconds_for_first(25.0, needs(20, 20)) == 25.0
    assert seconds_for_first(15.0, needs(20, 20)) == 15.0  # not even the first: it is told so


def test_a_plan_gives_out_what_the_run_will() -> None:
    assert allotted_seconds(100.0, [Need(20), Need(10, control=True), Need(15)]) == [75.0, 10.0, 15.0]
    assert allotted_seconds(45.0, needs(20, 20, 20)) == [25.0, 20.0, 0.0]


def test_what_is_left_is_never_less_than_nothing() -> None:
    clock = FakeClock()
    budget = Budget(10.0, clock)
    clock.advance(4.0)
    assert budget.left_s == 6.0
    clock.advance(30.0)
    assert budget.left_s == 0.0


def test_the_pace_is_learnt_from_the_groups() -> None:
    clock = FakeClock()
    pace = Pace(clock, 60.0, 2.0)
    assert pace.groups_that_fit == 30
    with pace.time_running():
        for groups in (1, 3):
            clock.advance(3.0 * groups)
            pace.record_groups(groups, 3.0 * groups)
    assert pace.group_s == pytest.approx(3.0)
    clock.advance(100.0)  # of another load
    assert pace.groups_that_fit == (60 - 12) // 3
    assert pace.left_s == pytest.approx(48.0)


def test_what_is_left_goes_to_the_widest_interval_that_it_can_decide() -> None:
    noisy = Undecided("stream", half_width=0.3, next_s=4.0, decides_s=200.0)
    near = Undecided("reads", half_width=0.06, next_s=4.0, decides_s=8.0)
    nearer = Undecided("cpu", half_width=0.02, next_s=1.0, decides_s=2.0)
    assert next_undecided(20.0, [near, nearer, noisy]) == near
    assert next_undecided(3.0, [near, nearer, noisy]) == nearer
    assert next_undecided(300.0, [near, nearer, noisy]) == noisy
    assert next_undecided(5.0, [near, noisy]) == noisy  # nobody will be decided: the widest
    assert next_undecided(0.5, [near, nearer, noisy]) is None
    assert next_undecided(60.0, []) is None


def test_a_load_without_an_interval_is_the_widest() -> None:
    fresh = Undecided("stat", half_width=math.inf, next_s=4.0)
    assert next_undecided(20.0, [Undecided("reads", 0.3, 4.0), fresh]) == fresh
