"""Before, idle, after: only what goes beyond the idle control is the treatment's."""

import math
import random

import pytest

from hostdx.scenarios.experiment.before_after import (
    conclude_before_after,
    judge_before_after,
    mean_variance_share,
)
from tests.every_case import every_case
from tests.scenarios.oracle import numpy as np


def draw_phase(rng: random.Random, level: float, n: int = 20, deviation: float = 0.05) -> list[float]:
    """Blocks around `level` (a log), hanging together by 0.6."""
    noise = rng.gauss(0, deviation)
    values = []
    for _ in range(n):
        values.append(10_000 * math.exp(level + noise))
        noise = 0.6 * noise + rng.gauss(0, deviation * 0.8)
    return values


def test_what_the_idle_control_gave_too_is_not_the_treatments() -> None:
    rng = random.Random(6)
    change = judge_before_after(draw_phase(rng, 0.0), draw_phase(rng, -0.2), draw_phase(rng, -0.45))
    assert change.verdict == "inconclusive"
    assert change.idle_ratio == pytest.approx(math.exp(-0.2), abs=0.06)
    assert "after idling alone" in change.explain("the trim")


def test_quiet_blocks_can_say_that_nothing_changed() -> None:
    rng = random.Random(7)
    change = judge_before_after(
        draw_phase(rng, 0.0, 40, 0.005), draw_phase(rng, 0.0, 40, 0.005), draw_phase(rng, 0.0, 40, 0.005)
    )
    assert change.verdict == "no material difference"
    assert change.explain("the trim").endswith("within the margin of 5 %")


def steady_blocks(level: float) -> list[float]:
    """Blocks around `level` (a log) that hardly scatter."""
    return [10_000 * math.exp(level + 5e-4 * (-1) ** n) for n in range(20)]


@every_case(
    ("idle", "after", "word"),
    [
        (0.0, -0.02, "no material difference"),  # sure, yet within the margin
        (0.0, 0.02, "no material difference"),
        (0.01, -0.03, "inconclusive"),  # 4 % lost, give or take twice what idling did
        (0.0, -0.06, "slower"),
        (0.0, 0.06, "faster"),
        (-0.05, -0.06, "inconclusive"),  # the loss was there before the treatment
        (0.04, 0.10, "inconclusive"),  # so was the gain
    ],
)
def test_a_sure_change_must_be_beyond_the_margin_and_beyond_what_idling_did(
    idle: float, after: float, word: str
) -> None:
    change = judge_before_after(steady_blocks(0.0), steady_blocks(idle), steady_blocks(after))
    assert change.verdict == word
    assert change.ratio == pytest.approx(math.exp(after - idle))


def test_an_end_that_is_farther_from_no_effect_is_no_doubt() -> None:
    assert conclude_before_after(-0.08, -0.25, -0.02, 0.0, 60, 0.05).verdict == "slower"
    assert conclude_before_after(0.08, 0.02, 0.25, 0.0, 60, 0.05).verdict == "faster"


def test_a_figure_without_end_is_a_block_without_a_value() -> None:
    assert judge_before_after([1.0] * 6, [1.0] * 6, [math.inf] * 6).ratio is None


@every_case("n", [1, 2, 6, 40])
def test_the_variance_of_a_mean_of_correlated_blocks(n: int) -> None:
    covariance = 0.6 ** np.abs(np.subtract.outer(np.arange(n), np.arange(n)))
    assert mean_variance_share(n) == pytest.approx(covariance.mean(), abs=1e-9)
