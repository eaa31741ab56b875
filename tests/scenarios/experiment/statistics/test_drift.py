"""A side with a course of its own has no effect: it would be a function of how long one looked."""

import math
import random

from hostdx.scenarios.experiment.statistics.drift import drifting_variants, fit_trend, moving_variants


def falling(groups: int, to: float, rng: random.Random, noise: float = 0.1) -> list[float]:
    return [1000 * to ** (i / (groups - 1)) * rng.lognormvariate(0, noise) for i in range(groups)]


def test_a_side_that_falls_alone_is_told() -> None:
    """As in a recording of creating files: A from 340,000 to 56,000 a second, B steady."""
    rng = random.Random(1)
    found = drifting_variants(falling(8, 0.16, rng), falling(8, 1.0, rng), ("A", "B"))
    assert [drift.variant for drift in found] == ["A"]
    assert 800 < found[0].first < 1200
    assert 120 < found[0].last < 220
    rising = drifting_variants(falling(12, 1.0, rng), falling(12, 3.0, rng), ("A", "B"))
    assert [drift.variant for drift in rising] == ["B"]


def test_what_both_do_alike_is_the_hosts() -> None:
    rng = random.Random(2)
    a, b = falling(30, 0.3, rng), falling(30, 0.3, rng)
    assert not drifting_variants(a, b, ("A", "B"))
    assert {(one.variant, one.first > 2 * one.last) for one in moving_variants(a, b, ("A", "B"))} == {
        ("A", True),
        ("B", True),
    }
    assert not moving_variants(falling(30, 0.8, rng), falling(30, 1.0, rng), ("A", "B"))


def test_of_two_that_fall_only_the_one_that_falls_faster_has_a_course_of_its_own() -> None:
    rng = random.Random(6)
    found = drifting_variants(falling(30, 0.2, rng, 0.02), falling(30, 0.4, rng, 0.02), ("A", "B"))
    assert [drift.variant for drift in found] == ["A"]


def test_a_sure_but_small_difference_of_two_that_fall_is_the_hosts() -> None:
    rng = random.Random(7)
    assert not drifting_variants(falling(30, 0.40, rng, 0.005), falling(30, 0.45, rng, 0.005), ("A", "B"))


def test_a_slight_drift_is_left_to_the_interval() -> None:
    rng = random.Random(3)
    assert not drifting_variants(falling(30, 0.8, rng), falling(30, 1.0, rng), ("A", "B"))


def test_of_steady_sides_hardly_one_in_a_thousand_runs() -> None:
    rng = random.Random(4)
    called = sum(
        bool(drifting_variants(falling(groups, 1.0, rng, 0.4), falling(groups, 1.0, rng, 0.4), ("A", "B")))
        for groups in (6, 10, 20) * 300
    )
    assert called <= 3


def test_many_groups_are_thinned_and_a_stall_is_left_out() -> None:
    rng = random.Random(5)
    a, b = falling(2000, 0.3, rng, 0.5), falling(2000, 1.0, rng, 0.5)
    a[100] = 0.0
    assert [drift.variant for drift in drifting_variants(a, b, ("A", "B"))] == ["A"]


def test_a_burst_moves_no_line() -> None:
    flat = [0.0, 0.01, -0.02, 0.0, 0.01, 5.0, 0.02, -0.01, 0.01, 0.0]
    line = fit_trend(flat)
    assert line is not None
    assert abs(line.total_change) < 0.05
    assert fit_trend(flat[:5]) is None
    steep = fit_trend([math.log(2) * i for i in range(10)])
    assert steep is not None
    assert math.isclose(steep.total_change, 9 * math.log(2))
    assert steep.p < 0.001


def test_numbers_at_the_ends_of_what_can_be_written() -> None:
    tiny, large = 5e-324, 1.7e308
    assert drifting_variants([large] * 8, [tiny] * 8, ("A", "B")) == []
    assert [
        one.variant
        for one in drifting_variants([1.0] * 12, [large * 10 ** (-i * 50) for i in range(12)], ("A", "B"))
    ] == ["B"]
