"""The planner's seconds: what a workload gets, what the later ones keep, how many groups still fit."""

from __future__ import annotations

import msgspec
import pytest

from scenarios.budget import Budget, Pace, allotted, group_seconds, least_seconds
from scenarios.plan import Metric, Workload
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
    assert least_seconds(SHORT, 2) > 8 * 2.0
    assert least_seconds(LONG, 2) > 4 * 60.0


CONTROL = msgspec.structs.replace(workload("cpu"), control=True)


def test_the_first_may_use_a_third_and_what_is_left_over_goes_on() -> None:
    loads = [workload(name) for name in "abcd"]
    assert allotted(120.0, loads, 2).seconds == pytest.approx(40.0)
    assert allotted(108.0, loads[1:], 2).seconds == pytest.approx(36.0)  # the first was decided after 12 s
    assert allotted(72.0, loads[2:], 2).seconds == pytest.approx(36.0)
    assert allotted(36.0, loads[3:], 2).seconds == pytest.approx(36.0)


def test_the_control_keeps_what_it_needs() -> None:
    least = least_seconds(SHORT, 2)
    assert allotted(60.0, [SHORT, CONTROL], 2).seconds == pytest.approx(60.0 - least)
    assert allotted(30.0, [CONTROL], 2).seconds == pytest.approx(min(30.0, 1.5 * least))


def test_in_a_tight_budget_the_most_important_comes_first() -> None:
    least = least_seconds(SHORT, 2)
    assert allotted(least * 1.1, [workload(name) for name in "abc"], 2).seconds == pytest.approx(least * 1.1)


@pytest.mark.parametrize(("budget_s", "storage_loads"), [(25.0, 1), (45.0, 2), (64.0, 2), (120.0, 2)])
def test_null_gives_the_loads_their_seconds_in_the_order_of_importance(
    budget_s: float, storage_loads: int
) -> None:
    """On a host so noisy that each uses all it gets; the control comes last where there is not enough for all."""
    loads = [workload("reads"), workload("writes"), CONTROL]
    left, started = budget_s, []
    for index, load in enumerate(loads):
        share = allotted(left, loads[index:], 2)
        assert share.seconds <= share.most_s <= left
        if share.seconds >= least_seconds(load, 2):
            started.append(load.id)
            left -= share.seconds
    assert started == ["reads", "writes", "cpu"][: storage_loads + (budget_s >= 64.0)]


def test_a_slow_disk_gets_the_seconds_that_its_blocks_need() -> None:
    clock = FakeClock()
    pace = Pace(clock, 30.0, 2.0, most_s=90.0)
    pace.expect(8.0)
    assert pace.make_room(8) and pace.budget_s == pytest.approx(70.4)
    pace.expect(12.0)
    assert not pace.make_room(8) and pace.budget_s == pytest.approx(70.4)


def test_never_more_than_is_left_and_never_less_than_nothing() -> None:
    clock = FakeClock()
    budget = Budget(10.0, clock)
    assert allotted(budget.left_s, [SHORT], 2).seconds == 10.0
    clock.advance(30.0)
    assert budget.left_s == 0.0
    assert allotted(budget.left_s, [SHORT, CONTROL], 2).seconds == 0.0


def test_the_pace_is_learnt_from_the_groups() -> None:
    clock = FakeClock()
    pace = Pace(clock, 60.0, 2.0)
    assert pace.groups_that_fit == 30
    for _ in range(4):
        pace.group_began()
        clock.advance(3.0)
        pace.group_ended()
    assert pace.group_s == pytest.approx(3.0)
    assert pace.groups_that_fit == (60 - 12) // 3
    assert pace.left_s == pytest.approx(48.0)
