"""Throttles are recognised in what a metered disk gives, and in nothing that an unmetered one does."""

from __future__ import annotations

import random

import pytest

from scenarios.storage.throttling.detection import BlockCompletions, cap_of
from tests.fakes.throttled_disk import bucket, courses, slices, unmetered
from tests.needs import some_always

SEEDS = some_always(range(1, 4), range(4, 11))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    ("rate", "period_s", "operation_s", "workers"),
    [
        (2000, 0.1, 80e-6, 1),
        (2000, 0.1, 250e-6, 16),
        (191, 0.1, 1e-3, 1),
        (191, 0.1, 7e-3, 8),
        (3000, 0.02, 250e-6, 16),
    ],
)
def test_pauses_at_a_fixed_rate_give_the_cap(
    rate: float, period_s: float, operation_s: float, workers: int, seed: int
) -> None:
    cap = cap_of(
        courses(slices(rate, period_s), operation_s=operation_s, workers=workers, blocks=14, seed=seed)
    )
    assert cap is not None and cap.form == "pauses"
    assert cap.rate == pytest.approx(rate, rel=0.05)
    assert cap.period_s == pytest.approx(period_s, rel=0.1)
    assert not cap.burst_operations


@pytest.mark.parametrize("seed", SEEDS)
def test_a_period_whose_operations_come_in_parts_is_seen(seed: int) -> None:
    """As measured where the CPUs were busy: 200 reads in each 100 ms, in some steps of its first 40 ms."""
    rng = random.Random(seed)
    blocks = []
    for number in range(7):
        counts = [0] * 250
        for first in range(0, 250, 50):
            parts = rng.sample(range(20), 10)
            for _ in range(200):
                counts[first + rng.choice(parts)] += 1
        blocks.append(BlockCompletions(began_s=0.6 * number, seconds=0.5, completions=counts))
    cap = cap_of(blocks)
    assert cap is not None and cap.form == "pauses"
    assert cap.rate == pytest.approx(2000, rel=0.05)


@pytest.mark.parametrize("seed", SEEDS)
def test_pauses_longer_than_a_block_are_seen_across_blocks(seed: int) -> None:
    cap = cap_of(courses(slices(500, 0.5), operation_s=1e-3, workers=8, blocks=24, seed=seed))
    assert cap is not None and cap.form == "pauses"
    assert cap.rate == pytest.approx(500, rel=0.05)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_bucket_without_a_burst_is_even(seed: int) -> None:
    for rate, workers, operation_s in ((3000, 16, 500e-6), (125, 8, 10e-3)):
        cap = cap_of(
            courses(bucket(rate, rate / 10), operation_s=operation_s, workers=workers, blocks=14, seed=seed)
        )
        assert cap is not None and cap.form == "even"
        assert cap.rate == pytest.approx(rate, rel=0.02)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("mb_s", "block_s", "blocks"), [(25, 5.0, 2), (60, 3.5, 3), (60, 0.5, 17)])
def test_a_slow_cap_of_streams_is_seen_in_few_long_blocks_and_in_short_ones(
    mb_s: float, block_s: float, blocks: int, seed: int
) -> None:
    rate = mb_s * 1e6 / (1 << 20)
    meter = bucket(rate, rate / 10)
    cap = cap_of(courses(meter, operation_s=30e-3, workers=8, blocks=blocks, block_s=block_s, seed=seed))
    assert cap is not None and cap.form == "even"
    assert cap.rate == pytest.approx(rate, rel=0.05)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_burst_that_ends_within_a_long_block_is_seen(seed: int) -> None:
    found = courses(bucket(57, 340), operation_s=30e-3, workers=8, blocks=3, block_s=3.5, seed=seed)
    cap = cap_of(found)
    assert cap is not None and cap.rate == pytest.approx(57, rel=0.05)
    assert cap.burst_operations == pytest.approx(340, rel=0.1)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_burst_of_two_gigabytes_is_named_with_its_size(seed: int) -> None:
    mb = 1 << 20
    rate, size = 250e6 / mb, 2e9 / mb
    cap = cap_of(courses(bucket(rate, size), operation_s=8e-3, workers=8, blocks=17, seed=seed, drift=0.05))
    assert cap is not None
    assert cap.rate * mb == pytest.approx(250e6, rel=0.05)
    assert cap.burst_operations * mb == pytest.approx(2e9, rel=0.1)
    assert cap.burst_rate * mb == pytest.approx(1e9, rel=0.2)
    assert cap.refill_s == pytest.approx(8, rel=0.1)


@pytest.mark.parametrize(
    ("operation_s", "workers", "scatter", "drift"),
    [
        (80e-6, 1, 0.3, 0.03), (300e-6, 16, 0.5, 0.05), (8e-3, 1, 0.4, 0.0), (60e-3, 16, 0.6, 0.0),
        (8e-3, 8, 0.5, 0.05), (80e-3, 8, 0.3, 0.0), (50e-6, 1, 2.0, 0.1), (1e-3, 8, 0.3, 0.25),
    ],
)  # fmt: skip
def test_an_unmetered_disk_is_not_throttled(
    operation_s: float, workers: int, scatter: float, drift: float
) -> None:
    """One draw in twenty at most: of 400 each, 11 of the slow disk with one worker had a cap, 7 of the slowest."""
    found = [
        cap_of(
            courses(
                unmetered,
                operation_s=operation_s,
                workers=workers,
                blocks=14,
                scatter=scatter,
                drift=drift,
                seed=seed,
            )
        )
        for seed in range(20)
    ]
    assert len([cap for cap in found if cap is not None]) <= 1


def test_a_disk_that_stalls_now_and_then_is_not_throttled() -> None:
    blocks = courses(unmetered, operation_s=80e-6, workers=1, blocks=14, drift=0.03)
    stalled = []
    for number, block in enumerate(blocks):
        counts = list(block.completions)
        for at in range(13 * number % 40, len(counts), 37 + 23 * (number % 5)):
            counts[at : at + 15] = [0] * len(counts[at : at + 15])
        stalled.append(BlockCompletions(began_s=block.began_s, seconds=block.seconds, completions=counts))
    assert cap_of(stalled) is None


def test_pauses_now_and_then_are_no_cap() -> None:
    """Seen on a shared disk: streamed writes paused at a fixed rate for some blocks, and not in the others."""
    blocks = courses(unmetered, operation_s=80e-6, workers=1, blocks=8, drift=0.03)
    paused = courses(slices(3000, 0.05), operation_s=80e-6, workers=1, blocks=3)
    later = [
        BlockCompletions(began_s=c.began_s + 60, seconds=c.seconds, completions=c.completions) for c in paused
    ]
    assert cap_of(paused) is not None
    assert cap_of([*blocks, *later]) is None


def test_too_little_was_measured() -> None:
    assert cap_of([]) is None
    assert cap_of(courses(slices(2000, 0.1), operation_s=80e-6, workers=1, blocks=1)) is None
