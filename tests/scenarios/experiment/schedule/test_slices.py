"""The length of a slice: found in the warm-up, and what a switch costs."""

import random

import pytest

from hostdx.scenarios.experiment.schedule.slices import WarmUpSlice, slice_length


def warm_up_slices(
    seconds: float, rate: float, count: int = 25, cost: float = 0.0, cost_s: float = 0.0, noise: float = 0.2
) -> list[WarmUpSlice]:
    """Slices of A and B in turn; B loses the share `cost` of its rate in the first `cost_s` after a switch."""
    rng = random.Random(f"{seconds} {rate} {cost}")
    slices = []
    for variant in ("A", "B") * count:
        level = rate * rng.lognormvariate(0, noise)
        parts = []
        for part in range(4):
            loss = min(seconds / 4, max(0.0, cost_s - part * seconds / 4)) / (seconds / 4)
            share = 1 - cost * loss if variant == "B" else 1.0
            parts.append(level * share * rng.lognormvariate(0, noise / 2))
        slices.append(WarmUpSlice(variant, seconds, round(sum(parts) / 4 * seconds), parts))
    return slices


def test_the_slice_grows_until_the_switch_does_not_show() -> None:
    """4 ms at half the rate after each switch: 40 % of the first quarter of 20 ms, 1.25 % of that of 640 ms."""
    first = slice_length(warm_up_slices(0.02, 10_000, cost=0.5, cost_s=0.004), margin=0.05, most_s=2.0)
    assert (first.why, first.settled) == ("switch", False)
    assert first.quarter is not None
    assert first.quarter.variant == "B"
    assert first.quarter.difference == pytest.approx(-0.4, abs=0.12)
    assert 0.4 < first.seconds < 0.9
    short, long = (warm_up_slices(s, 10_000, cost=0.5, cost_s=0.004) for s in (0.02, first.seconds))
    second = slice_length([*short, *long], margin=0.05, most_s=2.0)
    assert (second.seconds, second.why, second.settled) == (pytest.approx(first.seconds), "switch", True)
