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
from tests.every_case import every_case
from tests.measured.simulation.noise_models import Noise, models
from tests.measured.simulation.simulated import a_then_b, hostdx
from tests.measured.simulation.verdict_table import Cell, requirements
from tests.needs import one_always, some_always

MODELS = models()
DISKS = ["randread4k-qd1", "randread4k-qd1-busy", "randread4k-qd1-3", "fsync4k-qd1", "fsync4k-qd1-3"]


def said(model: str, ratio: float, runs: int) -> list[int | None]:
    rng = random.Random(zlib.crc32(f"{model} {ratio}".encode()))
    return [hostdx(MODELS[model], math.log(ratio), rng).said for _ in range(runs)]


@pytest.mark.parametrize(
    "model",
    some_always(
        ("randread4k-qd1-busy", "AR(1) 0.6, 14 %"), (*DISKS, "cpu", "periodic, 2 s", "step in the middle")
    ),
)
def test_nothing_there_and_nothing_called(model: str) -> None:
    called = sum(word in (-1, 1) for word in said(model, 1.0, 200))
    assert called <= 0.05 * 200 + 4


@every_case(("model", "least"), [("randread4k-qd1", 0.98), ("fsync4k-qd1", 0.99), ("cpu", 0.99)])
def test_ten_per_cent_are_found(model: str, least: float) -> None:
    assert said(model, 0.9, 100).count(-1) >= least * 100
    assert said(model, 1 / 0.9, 100).count(1) >= least * 100


@pytest.mark.parametrize("model", one_always(*DISKS))
def test_a_quarter_is_found_even_on_a_busy_disk(model: str) -> None:
    words = said(model, 0.75, 100)
    assert words.count(-1) >= 93  # the orders alone lie on different sides in two runs of the noisiest series
    assert 1 not in words


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
            decision = comparison.at_look()
            if variant not in words and decision is not None:
                words[variant] = decision.verdict
    return words


@every_case("model", ["randread4k-qd1-busy", "drift 1 % a block", "AR(1) 0.6, 14 %"])
@every_case("groups", [4, 15])
def test_four_variants_share_the_error_of_the_run(model: str, groups: int) -> None:
    rng = random.Random(zlib.crc32(f"four {model} {groups}".encode()))
    runs = [four_variants(MODELS[model], 0.0, rng, groups) for _ in range(100)]
    assert all(set(words) == set("BCD") for words in runs)
    assert sum(bool({"slower", "faster"} & set(words.values())) for words in runs) <= 0.05 * 100 + 4


def test_one_of_four_variants_that_differs_is_the_one_that_is_named() -> None:
    rng = random.Random(3)
    runs = [four_variants(MODELS["randread4k-qd1"], math.log(0.75), rng, 15) for _ in range(50)]
    assert sum(words["B"] == "slower" for words in runs) >= 48
    assert sum("slower" in (words["C"], words["D"]) for words in runs) <= 4


def test_the_usual_way_calls_what_is_not_there() -> None:
    """Without this the benchmark's comparison would prove nothing: A-then-B does fail on the same noise."""
    rng = random.Random(1)
    assert sum(a_then_b(MODELS["randread4k-qd1-busy"], 0.0, rng) is not None for _ in range(100)) >= 30


def test_the_benchmark_can_fail() -> None:
    """A method that always says slower misses what is required; one that is always right does not."""
    rng = random.Random(2)
    outcome = hostdx(MODELS["white 5 %"], math.log(0.75), rng)
    assert outcome.said == -1
    blind = [
        Cell("cpu", effect, [(right, outcome) for right in (-1, 1) * 50], {}) for effect in (0, 3, 6, 10, 25)
    ]
    missed = [row.text for row in requirements(blind) if not row.held]
    assert any("nothing there" in text for text in missed)
    assert any("wrong direction" in text for text in missed)
    assert any("10 % found" in text for text in missed)
    none = outcome._replace(said=0)
    perfect = [
        Cell(
            "cpu",
            effect,
            [(right, none if effect < 6 else outcome._replace(said=right)) for right in (-1, 1) * 50],
            {},
        )
        for effect in (0, 3, 6, 10, 25)
    ]
    assert all(row.held for row in requirements(perfect))
