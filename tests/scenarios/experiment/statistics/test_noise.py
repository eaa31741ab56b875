"""The decision on recorded noise: a small share of the benchmark `verdicts`, for every change.

Limits are those of the benchmark plus what a few hundred runs may be off by chance (seeded, so they hold or not).
"""

import math
import random
import zlib

import pytest

from tests.measured.simulation.noise_models import noise_models
from tests.measured.simulation.simulated import run_hostdx
from tests.needs import some_always

MODELS = noise_models()
DISKS = ["randread4k-qd1", "randread4k-qd1-busy", "randread4k-qd1-3", "fsync4k-qd1", "fsync4k-qd1-3"]


def answers_of(model: str, ratio: float, runs: int) -> list[int | None]:
    rng = random.Random(zlib.crc32(f"{model} {ratio}".encode()))
    return [run_hostdx(MODELS[model], math.log(ratio), rng).direction for _ in range(runs)]


@pytest.mark.parametrize(
    "model",
    some_always(
        ("randread4k-qd1-busy", "AR(1) 0.6, 14 %"), (*DISKS, "cpu", "periodic, 2 s", "step in the middle")
    ),
)
def test_nothing_there_and_nothing_called(model: str) -> None:
    called = sum(word in (-1, 1) for word in answers_of(model, 1.0, 200))
    assert called <= 0.05 * 200 + 4
