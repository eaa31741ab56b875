"""Runs of fine slices: counts of 10 ms out of a recorded series, put together to slices, trains and a verdict.

The series are resampled by the stationary bootstrap (Politis and Romano 1994), stretches of 5 s in the mean: a stretch
keeps what the host did from one slice to the next. Seconds are seconds of measuring: what a switch and the warm-up cost
comes on top.
"""

import json
import math
import random
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeAlias

from hostdx.scenarios.experiment.places import FileSetVisits
from hostdx.scenarios.experiment.schedule.slices import MIN_SLICE_OPERATIONS, MIN_SLICE_S
from hostdx.scenarios.experiment.sequential import SequentialComparison, draw_orders
from hostdx.scenarios.experiment.statistics.stats import group_value
from tests.measured.simulation.simulated import Outcome, outcome

TICK_S = 0.01
BUDGET_S = 20.0  # of one load
_STRETCH = 500  # ticks
_WARM = 100
MAX_TICKS = 50  # a block of 0.5 s

Ticks: TypeAlias = Callable[[random.Random], Iterator[float]]

HERE = Path(__file__).resolve()
COPIES = HERE.parents[2] / "fixtures" / "noise-fine"
SHARED = HERE.parents[4] / "shared" / "samples" / "noise-fine"


def replay(counts: list[float]) -> Ticks:
    def draw_counts(rng: random.Random) -> Iterator[float]:
        while True:
            at, length = rng.randrange(len(counts)), 1 + int(rng.expovariate(1 / _STRETCH))
            for i in range(at, at + length):
                yield counts[i % len(counts)]

    return draw_counts


def fine_models(*folders: Path) -> dict[str, Ticks]:
    """Every series by name: ten seconds of each, which the tests bring, or the long originals where they are."""
    models: dict[str, Ticks] = {}
    for folder in folders or (SHARED, COPIES):
        for path in sorted(folder.glob("*.json")):
            models.setdefault(path.stem, replay([float(count) for count in json.loads(path.read_text())]))
    return models


def slice_ticks(ticks: Iterator[float]) -> int:
    """Of a slice: 20 ms or 50 operations, by the rate of a second of warm-up."""
    rate = sum(next(ticks) for _ in range(_WARM)) / _WARM
    return math.ceil(max(MIN_SLICE_S / TICK_S, MIN_SLICE_OPERATIONS / max(0.1, rate)))


def measure(
    noise: Ticks,
    trues: Sequence[float],
    rng: random.Random,
    *,
    family: int = 1,
    margin: float = 0.05,
    budget_s: float = BUDGET_S,
    places: int = 1,
    place_sd: float = 0.0,
    is_placed: bool = True,
) -> list[Outcome]:
    """Groups of slices until every comparison is decided; `trues`: ln(variant/baseline) of B, C, ... against A.

    Each variant has so many `places` whose log rates differ by `place_sd`, drawn anew in each run; `is_placed`: whether
    the comparison knows in which place a group was measured.
    """
    ticks = noise(rng)
    length = min(slice_ticks(ticks), MAX_TICKS)
    variants = "ABCDEFGH"[: len(trues) + 1]
    group_s = 2 * len(variants) * length * TICK_S
    planned = max(4, int(budget_s / group_s))
    ratios = dict(zip(variants, (1.0, *map(math.exp, trues)), strict=True))
    open_ = {
        v: SequentialComparison(
            "A", v, "IOPS", planned_groups=planned, family=family * len(trues), margin=margin,
            all_pairs=places if is_placed and places > 1 else 0,
        )
        for v in variants[1:]
    }  # fmt: skip
    fast = {v: [math.exp(rng.gauss(0.0, place_sd)) for _ in range(places)] for v in variants}
    visits = FileSetVisits(places, rng)
    outcomes: dict[str, Outcome] = {}
    for index, order in enumerate(draw_orders(variants, rng), 1):
        values: dict[str, list[float]] = {v: [] for v in variants}
        (place,) = visits.choose_for(1)
        for v in order:
            values[v].append(ratios[v] * fast[v][place] * sum([next(ticks) for _ in range(length)]))
        for v, comparison in list(open_.items()):
            decision = None
            if (value := group_value(values["A"], values[v])) is not None:  # None: a stall, measured again
                first = order.index("A") < order.index(v)
                comparison.add(*value, place=place if comparison.all_pairs else None, baseline_first=first)
                visits.count_visits([place])
                decision = comparison.verdict_if_due(group_s)
            if decision is None and index >= planned:
                decision = comparison.final_verdict(group_s)
            if decision is not None:
                outcomes[v] = outcome(decision, math.log(ratios[v]), index * group_s, early=index < planned)
                del open_[v]
        if not open_:
            return [outcomes[v] for v in variants[1:]]
    raise AssertionError("the last look always decides")
