"""The odd ones out: found where planted, with what else is different about them; two groups shown as two."""

import math
import random
from collections.abc import Mapping

import pytest

from hostdx.scenarios.analysis.compare.odd import ComparedRun, find_outliers
from hostdx.scenarios.analysis.compare.run_summary import FigureKey
from hostdx.scenarios.contract.plan import Metric

RATE = Metric("IOPS", "IOPS")
SECONDS = Metric("wall time", "s", better="less")


def make_member(name: str, values: Mapping[str, float], metric: Metric = RATE, **facts: str) -> ComparedRun:
    keys = {load: FigureKey(load, metric.name) for load in values}
    sign = 1 if metric.better == "more" else -1
    logs = {keys[load]: sign * math.log(value) for load, value in values.items()}
    return ComparedRun(
        name, logs, dict.fromkeys(keys.values(), metric), {("kernel", n): v for n, v in facts.items()}
    )


def draw_runs(rng: random.Random, runs: int, loads: int, deviation: float) -> list[dict[str, float]]:
    return [
        {f"load-{n}": 1000.0 * math.exp(rng.gauss(0, deviation)) for n in range(loads)} for _ in range(runs)
    ]


def test_a_run_that_is_slow_in_every_load_is_named_in_every_load() -> None:
    values = draw_runs(random.Random(5), 7, 12, 0.05)
    values[6] = {load: value / 3 for load, value in values[6].items()}
    outliers = find_outliers([make_member(f"run{n}", v) for n, v in enumerate(values)])
    assert len(outliers.found) == 12 and {
        outlier.run for load in outliers.found for outlier in load.apart
    } == {"run6"}


def test_what_takes_longer_is_the_worse() -> None:
    values = [{"job": 100.0 + n} for n in range(7)] + [{"job": 300.0}]
    [load] = find_outliers([make_member(f"run{n}", v, SECONDS) for n, v in enumerate(values)]).found
    assert load.apart[0].ratio == pytest.approx(103 / 300, abs=0.01) and load.apart[0].value == pytest.approx(
        300
    )


def test_what_else_is_different_about_the_odd_run_is_told() -> None:
    members = [
        make_member(
            f"run{n}",
            {"x": 300.0 if n == 3 else 1000.0 + n},
            release="3.10" if n == 3 else "5.14",
            machine="x86",
        )
        for n in range(7)
    ]
    [fact] = find_outliers(members).facts["run3"]
    assert (fact.subject, fact.name, fact.value, fact.others) == ("kernel", "release", "3.10", ("5.14",))


def test_a_thousand_runs_are_looked_at_in_seconds() -> None:
    values = draw_runs(random.Random(1), 1000, 3, 0.1)
    values[10]["load-0"] *= 0.2
    outliers = find_outliers([make_member(f"run{n}", v) for n, v in enumerate(values)])
    assert [(load.key.workload, outlier.run) for load in outliers.found for outlier in load.apart] == [
        ("load-0", "run10")
    ]
