"""A side with a course of its own has no effect: it would be a function of how long one looked."""

import random

from hostdx.scenarios.experiment.statistics.drift import drifting_variants


def decline(groups: int, to: float, rng: random.Random, noise: float = 0.1) -> list[float]:
    return [1000 * to ** (i / (groups - 1)) * rng.lognormvariate(0, noise) for i in range(groups)]


def test_of_two_that_fall_only_the_one_that_falls_faster_has_a_course_of_its_own() -> None:
    rng = random.Random(6)
    variants = drifting_variants(decline(30, 0.2, rng, 0.02), decline(30, 0.4, rng, 0.02), ("A", "B"))
    assert [drift.variant for drift in variants] == ["A"]


def test_a_sure_but_small_difference_of_two_that_fall_is_the_hosts() -> None:
    rng = random.Random(7)
    assert not drifting_variants(decline(30, 0.40, rng, 0.005), decline(30, 0.45, rng, 0.005), ("A", "B"))
