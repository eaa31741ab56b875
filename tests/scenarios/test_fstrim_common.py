"""How much of a reference is divided out: all of what is shared, nothing of what is its own."""

from __future__ import annotations

import math
import random
from pathlib import Path

import pytest

from scenarios.fstrim_common import shared, steps, weakened
from scenarios.fstrim_rounds import read
from scenarios.fstrim_series import course_of

ROUNDS = Path(__file__).parents[1] / "fixtures" / "rounds" / "throttled-sata.jsonl"


def noise(seed: int, n: int = 60) -> list[float]:
    rng = random.Random(seed)
    return [math.exp(rng.gauss(0, 0.2)) for _ in range(n)]


def test_what_the_host_does_to_both_is_divided_out() -> None:
    host = noise(1)
    assert shared(steps([500 * h for h in host], [9000 * h for h in host])) == pytest.approx(1.0)


def test_what_the_reference_does_alone_is_left_alone() -> None:
    assert shared(steps(noise(2), noise(3))) < 0.3


def test_half_of_it() -> None:
    host = noise(4)
    assert shared(steps([h**0.5 for h in host], host)) == pytest.approx(0.5)


def test_a_reference_that_runs_against_it_is_not_multiplied_in() -> None:
    host = noise(5)
    assert shared(steps(host, [1 / h for h in host])) == 0.0


def test_a_step_at_a_trim_says_nothing() -> None:
    host = noise(6)
    load = [h * (0.5 if i < 30 else 1.0) for i, h in enumerate(host)]
    assert shared(steps(load, host, [30])) == pytest.approx(1.0)
    assert len(steps(load, host, [30])) == len(host) - 2


@pytest.mark.parametrize("values", [[1.0, 0.0, 2.0], [1.0, math.inf, 2.0], [1.0, -1.0, 2.0]])
def test_a_block_without_a_value_gives_no_steps(values: list[float]) -> None:
    assert steps(values, [1.0, 2.0, 3.0]) == []
    assert weakened(values, 0.5)[1] == values[1]


def test_without_scatter_nothing_is_shared() -> None:
    assert shared(steps([1.0, 2.0, 3.0], [1.0, 1.0, 1.0])) == 0.0


def test_a_disk_slowed_round_by_round_in_a_guest_is_seen() -> None:
    """Real rounds: 4 % less each, a real trim before the eighth, with reads that scatter by a factor of two."""
    kept = read(ROUNDS)
    assert kept.bad == 0 and [r.trim_before for r in kept.rounds].index(True) == 7
    found = course_of(kept.rounds)
    assert found.trend.verdict == "slower" and found.trend.ci95 is not None
    assert found.trend.ci95[0] <= -0.04 <= found.trend.ci95[1]
    [jump] = found.jumps
    assert jump.called and jump.before_round == 8
    assert jump.ci95[0] <= 0.96**-8 - 1 <= jump.ci95[1] or jump.ci95[0] <= 0.96**-7 - 1 <= jump.ci95[1]
    first = course_of(kept.rounds[:7])
    assert first.trend.verdict == "slower" and first.jumps == ()
