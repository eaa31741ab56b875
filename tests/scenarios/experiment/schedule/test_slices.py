"""The length of a slice: found in the warm-up, and what a switch costs."""

from __future__ import annotations

import random

import pytest

from scenarios.experiment.schedule.slices import WarmUpSlice, slice_length


def warm(
    seconds: float, rate: float, count: int = 25, cost: float = 0.0, cost_s: float = 0.0, noise: float = 0.2
) -> list[WarmUpSlice]:
    """Slices of A and B in turn; B loses the share `cost` of its rate in the first `cost_s` after a switch."""
    rng = random.Random(f"{seconds} {rate} {cost}")
    slices = []
    for variant in ("A", "B") * count:
        level = rate * rng.lognormvariate(0, noise)
        parts = []
        for part in range(4):
            lost = min(seconds / 4, max(0.0, cost_s - part * seconds / 4)) / (seconds / 4)
            share = 1 - cost * lost if variant == "B" else 1.0
            parts.append(level * share * rng.lognormvariate(0, noise / 2))
        slices.append(WarmUpSlice(variant, seconds, round(sum(parts) / 4 * seconds), parts))
    return slices


def test_a_fast_side_has_the_shortest_slice() -> None:
    found = slice_length(warm(0.02, 10_000), margin=0.05, most_s=0.5)
    assert (found.seconds, found.onset_s, found.why, found.settled) == (0.02, 0.0, "shortest", True)
    assert found.quarter is not None
    assert found.quarter.low < 0 < found.quarter.high


def test_a_slow_side_has_fifty_operations() -> None:
    found = slice_length(warm(0.02, 660), margin=0.05, most_s=0.5)
    assert (found.why, found.settled) == ("operations", False)
    assert found.seconds == pytest.approx(50 / found.rate, abs=0.001)
    assert 500 < found.rate < 800
    deep = slice_length(warm(0.02, 10_000), margin=0.05, most_s=0.5, least_operations=50 * 16)
    assert deep.seconds == pytest.approx(800 / deep.rate, abs=0.001)


@pytest.mark.parametrize("depth", [1, 16])
def test_where_fifty_operations_take_over_a_tenth_of_a_second_a_slice_holds_fewer_and_fifteen_at_least(
    depth: int,
) -> None:
    for rate, operations in ((600.0, 50), (400.0, 40), (110.0, 15)):
        level = rate * depth
        found = slice_length(
            warm(0.5, level, noise=0.0), margin=0.05, most_s=5.0, least_operations=50 * depth
        )
        assert found.why == "operations"
        assert found.seconds * found.rate == pytest.approx(operations * depth, abs=0.001 * found.rate)


def test_streams_of_a_slow_disk_keep_their_operations() -> None:
    """Two of each of 8 workers are few already."""
    found = slice_length(warm(1.0, 100.0, noise=0.0), margin=0.05, most_s=5.0, least_operations=16)
    assert found.why == "operations" and 15 <= found.seconds * found.rate <= 16.1
    fewest = slice_length(warm(1.0, 100.0, noise=0.0), margin=0.05, most_s=5.0, least_operations=12)
    assert fewest.seconds * fewest.rate == pytest.approx(12, abs=0.1)


def test_the_slower_side_decides() -> None:
    slices = [
        w if w.variant == "A" else w._replace(operations=w.operations // 10) for w in warm(0.02, 10_000)
    ]
    assert slice_length(slices, margin=0.05, most_s=0.5).seconds > 0.045


def test_a_disk_of_two_operations_a_second_has_a_block() -> None:
    found = slice_length(warm(0.5, 2.0, noise=0.0), margin=0.05, most_s=0.5)
    assert (found.seconds, found.why, found.settled) == (0.5, "block", True)
    still = [WarmUpSlice("A", 0.5, 0, (0.0,) * 4)] * 10
    for least in (16, 50, 800):
        found = slice_length(still, margin=0.05, most_s=0.5, least_operations=least)
        assert (found.seconds, found.why) == (0.5, "block")


def test_the_slice_grows_until_the_switch_does_not_show() -> None:
    """4 ms at half the rate after each switch: 40 % of the first quarter of 20 ms, 1.25 % of that of 640 ms."""
    first = slice_length(warm(0.02, 10_000, cost=0.5, cost_s=0.004), margin=0.05, most_s=2.0)
    assert (first.why, first.settled) == ("switch", False)
    assert first.quarter is not None
    assert first.quarter.variant == "B"
    assert first.quarter.difference == pytest.approx(-0.4, abs=0.12)
    assert 0.4 < first.seconds < 0.9
    short, long = (warm(s, 10_000, cost=0.5, cost_s=0.004) for s in (0.02, first.seconds))
    second = slice_length([*short, *long], margin=0.05, most_s=2.0)
    assert (second.seconds, second.why, second.settled) == (
        pytest.approx(first.seconds),
        "switch",
        True,
    )


def test_where_a_block_is_too_short_its_first_quarter_is_cut_off() -> None:
    seen = [w for s in (0.02, 0.5) for w in warm(s, 10_000, cost=0.8, cost_s=s / 5)]
    found = slice_length(seen, margin=0.05, most_s=0.5)
    assert (found.seconds, found.onset_s, found.why, found.settled) == (0.5, 0.125, "block", True)


def test_too_few_slices_ask_for_more() -> None:
    found = slice_length(warm(0.02, 10_000, count=5), margin=0.05, most_s=0.5)
    assert (found.seconds, found.settled, found.quarter) == (0.02, False, None)


def test_on_noise_alone_it_grows_in_one_run_of_a_hundred() -> None:
    rng = random.Random(3)
    grown = 0
    for _ in range(1000):
        slices = [
            WarmUpSlice(variant, 0.02, 200, [rng.lognormvariate(0, 0.2) for _ in range(4)])
            for variant in ("A", "B") * 12
        ]
        grown += slice_length(slices, margin=0.05, most_s=0.5).why != "shortest"
    assert grown <= 20


def test_a_long_first_slice_does_not_make_the_others_long() -> None:
    rehearsal = warm(0.15, 10_000, count=1)
    assert slice_length(rehearsal, margin=0.05, most_s=0.5)[:4] == (0.02, 0.0, "shortest", False)
    found = slice_length([*rehearsal, *warm(0.021, 10_000)], margin=0.05, most_s=0.5)
    assert found[:4] == (0.02, 0.0, "shortest", True)
