"""An effect in words: memory by its own ratio, speeds by theirs."""

from __future__ import annotations

import pytest

from probes.imports.model import ImportedMeasure, ImportResult
from scenarios.analysis.compare.effects import (
    direction_word,
    effect_size_text,
    effects_between,
    metric_interval_text,
    metric_ratio_text,
)
from scenarios.analysis.compare.groups import group_means
from scenarios.analysis.compare.run_summary import RunSummary
from scenarios.analysis.compare.snapshot import summarise_import
from scenarios.contract.plan import Metric
from tests.every_case import every_case

MEMORY = Metric("max pss", "B", "less")


def used(name: str, mib: float) -> RunSummary:
    measure = ImportedMeasure(
        workload="other", metric=MEMORY.name, value=mib * 2**20, unit="B", better="less",
    )  # fmt: skip
    return summarise_import(ImportResult(kind="prmon", tool="prmon", measures=(measure,)), name)


@every_case(
    ("a", "b", "said"),
    [(977, 586, "40 % less"), (977, 1853, "90 % more"), (100, 25, "4 × less"), (100, 400, "4 × more")],
)
def test_memory_changes_by_its_own_ratio(a: float, b: float, said: str) -> None:
    runs = [used("a", a)], [used("b", b)]
    (effect,) = effects_between(*runs, margin=0.05)
    (mean,) = group_means(*runs, margin=0.05)
    assert effect_size_text(effect) == effect_size_text(mean) == said
    assert direction_word(effect) == said.split()[-1]
    assert mean.a == pytest.approx(a * 2**20)


def test_the_interval_of_memory_is_that_of_its_own_ratio() -> None:
    assert metric_interval_text((1.25, 2.0), 1.6, MEMORY) == "20 to 50 %"
    assert metric_interval_text((0.8, 1.25), 1.0, MEMORY) == "20 % less to 25 % more"
    assert metric_ratio_text(1.25, Metric("free memory", "B", "more")) == "25 % more"
    assert metric_interval_text((0.5, 0.8), 0.7, Metric("rate", "1/s")) == "20 to 50 %"
