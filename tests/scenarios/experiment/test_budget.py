"""The planner's seconds: what a workload gets, what the later ones keep, how many groups still fit."""

from hostdx.scenarios.experiment.budget import (
    LoadNeed,
    UndecidedLoad,
    allotted_seconds,
    next_undecided,
    seconds_for_first,
)


def make_needs(*seconds: float) -> list[LoadNeed]:
    return [LoadNeed(s) for s in seconds]


def test_the_first_gets_all_but_what_the_later_ones_need() -> None:
    assert seconds_for_first(100.0, make_needs(20, 30, 10)) == 60.0
    assert seconds_for_first(100.0, make_needs(20)) == 100.0
    assert seconds_for_first(100.0, [LoadNeed(20, control=True), LoadNeed(10)]) == 40.0


def test_a_plan_gives_out_what_the_run_will() -> None:
    assert allotted_seconds(100.0, [LoadNeed(20), LoadNeed(10, control=True), LoadNeed(15)]) == [
        75.0,
        10.0,
        15.0,
    ]
    assert allotted_seconds(45.0, make_needs(20, 20, 20)) == [25.0, 20.0, 0.0]


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
