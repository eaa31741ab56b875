"""The decision on slices of recorded noise: a small share of the benchmark `verdicts`, for every change.

Limits are those of the benchmark plus what a hundred runs may be off by chance (seeded, so they hold or not).
"""

import math
import random
import statistics
import zlib
from collections.abc import Sequence

import pytest

from tests.measured.simulation.fine import COPIES, fine_models, measure, slice_ticks
from tests.measured.simulation.simulated import Outcome
from tests.needs import some_always

SERIES = fine_models(COPIES)
QUIET = [name for name in SERIES if name.startswith("quiet")]


def outcomes_of(name: str, trues: Sequence[float], count: int, family: int = 1) -> list[list[Outcome]]:
    rng = random.Random(zlib.crc32(f"{name} {trues} {family}".encode()))
    return [measure(SERIES[name], trues, rng, family=family) for _ in range(count)]


def test_every_series_is_here() -> None:
    assert len(SERIES) == 6
    assert len(QUIET) == 3


def test_a_slice_holds_fifty_operations() -> None:
    rng = random.Random(1)
    assert slice_ticks(SERIES["quiet-read"](rng)) == 2
    assert slice_ticks(SERIES["busy-sync"](rng)) >= 5


@pytest.mark.parametrize("name", some_always(("busy-read", "quiet-read"), SERIES))
def test_nothing_there_and_nothing_called(name: str) -> None:
    answers = [outcome.direction for [outcome] in outcomes_of(name, [0.0], 30)]
    assert sum(word in (-1, 1) for word in answers) <= 4


def test_a_busy_disk_shows_a_tenth_within_ten_seconds() -> None:
    outcomes = [outcome for [outcome] in outcomes_of("busy-read", [math.log(1 / 0.9)], 40)]
    assert [o.direction for o in outcomes].count(1) >= 36
    assert statistics.median(o.seconds for o in outcomes) <= 10


def test_the_interval_covers() -> None:
    covered = [outcome.covered for [outcome] in outcomes_of("busy-cpu", [math.log(0.97)], 30)]
    assert sum(covered) >= 26
