"""Recordings summed up, made by hand: a load's runs and boots drawn around a value."""

import math
import random
from collections.abc import Iterable, Mapping, Sequence

from hostdx.probes.types import Json
from hostdx.scenarios.analysis.compare.run_summary import (
    FactKey,
    FigureKey,
    LoadFigure,
    PlannedLoad,
    RunSummary,
)
from hostdx.scenarios.contract.plan import Metric

RATE = Metric("rate", "1/s")


def key(load: str) -> FigureKey:
    return FigureKey(load, RATE.name)


def summary(
    values: Mapping[str, float],
    *,
    name: str = "run",
    host: str = "n1",
    boot: str = "n1/1",
    wall: str = "2026-11-20T10:00:00Z",
    facts: Mapping[FactKey, Json] | None = None,
    absent: Iterable[FactKey] = (),
    within: float | None = None,
) -> RunSummary:
    """A run with these rates; `within`: variance of each log mean from the run's own eight stretches."""
    stretches = 8 if within is not None else 0
    return RunSummary(
        name=name,
        host=host,
        boot=boot,
        wall=wall,
        scenario="kernel",
        version="0.1.0",
        status="done",
        facts=dict(facts or {}),
        absent=frozenset(absent),
        figures={key(k): LoadFigure(math.log(v), v, 20, within, stretches) for k, v in values.items()},
        loads={key(k): PlannedLoad(k, RATE) for k in values},
    )


def boots(
    rng: random.Random, loads: Sequence[str], count: int, side: str, *, deviation: float, **factor: float
) -> list[RunSummary]:
    """One run a boot; every load scatters by `deviation` from boot to boot. `factor`: by load, "_" for "-"."""
    return [
        summary(
            {
                load: 1000 * factor.get(load.replace("-", "_"), 1.0) * math.exp(rng.gauss(0, deviation))
                for load in loads
            },
            name=f"{side}{n}",
            boot=f"n1/{side}{n}",
            within=(deviation / 4) ** 2,
        )
        for n in range(count)
    ]
