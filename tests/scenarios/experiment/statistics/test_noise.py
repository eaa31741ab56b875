"""The decision on recorded noise: a small share of the benchmark `verdicts`, for every change.

Limits are those of the benchmark plus what a few hundred runs may be off by chance (seeded, so they hold or not).
"""

import itertools
import math
import random
import zlib

import pytest

from hostdx.scenarios.experiment.sequential import SequentialComparison, draw_orders
from hostdx.scenarios.experiment.statistics.stats import group_value
from tests.measured.simulation.noise_models import Noise, noise_models
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


def four_variants(noise: Noise, true: float, rng: random.Random, groups: int) -> dict[str, str]:
    """A against B, C and D in mirrored groups of eight blocks; B differs by `true`. The last words."""
    logs = iter(noise(rng, 8 * groups))
    comparisons = {
        v: SequentialComparison("A", v, "IOPS", planned_groups=groups, min_groups=min(8, groups), family=3)
        for v in "BCD"
    }
    words: dict[str, str] = {}
    for order in itertools.islice(draw_orders("ABCD", rng), groups):
        values: dict[str, list[float]] = {v: [] for v in "ABCD"}
        for variant in order:
            values[variant].append(math.exp(next(logs) + (true if variant == "B" else 0.0)))
        for variant, comparison in comparisons.items():
            value = group_value(values["A"], values[variant])
            assert value is not None
            comparison.add(value.log_ratio, value.scatter)
            decision = comparison.verdict_at_look()
            if variant not in words and decision is not None:
                words[variant] = decision.verdict
    return words
