"""Slopes and steps over results: found where planted, not called where there is only noise."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence

from probes.imports.model import ImportedMeasure
from scenarios.analysis.compare.snapshot import Snapshot
from scenarios.analysis.imported.cross_run import history_findings
from scenarios.analysis.imported.history import find_steps, make_histories


def results(**courses: Sequence[float]) -> list[Snapshot]:
    count = len(next(iter(courses.values())))
    return [
        Snapshot(
            name=f"r{n}",
            kind="hepscore",
            began=f"2024-01-{n + 1:02}",
            host="h",
            measures=tuple(
                ImportedMeasure(workload=name, metric="score", value=values[n], unit="")
                for name, values in courses.items()
            ),
        )
        for n in range(count)
    ]


def noise(seed: int, count: int, share: float) -> list[float]:
    draw = random.Random(seed)
    return [draw.gauss(0, share) for _ in range(count)]


def test_two_of_nine_degrade_and_seven_do_not() -> None:
    count = 14
    courses = {
        f"w{k}": [
            100 * math.exp(e - (0.03 * n if k < 2 else 0)) for n, e in enumerate(noise(k, count, 0.003))
        ]
        for k in range(9)
    }
    order = results(**courses)
    found = make_histories(order)
    assert [h.workload for h in found if h.is_degrading] == ["w0", "w1"]
    assert all(h.ci95 is not None and h.ci95[0] < -0.025 < h.ci95[1] for h in found[:2])
    assert all(said in history_findings(found, order)[-1].title for said in ("2 of 9", "14", "7"))


def test_a_step_is_found_where_it_is() -> None:
    values = [100 * math.exp(e) * (1.0 if n < 7 else 0.8) for n, e in enumerate(noise(3, 14, 0.01))]
    order = results(a=values)
    [found] = make_histories(order)
    assert [s.before for s in found.steps] == [6] and abs(found.steps[0].ratio - 0.8) < 0.03
    first = history_findings(found and [found], order)[0]
    assert first.severity == "warning" and "r6 (2024-01-07)" in first.title


def test_noise_has_no_steps() -> None:
    called = sum(bool(find_steps(noise(seed, 13, 0.08))) for seed in range(100))
    assert called <= 3


def test_a_cost_that_grows_degrades() -> None:
    order = results(a=[1.0] * 8)
    growing = [100 * 1.05**n for n in range(8)]
    measured = [
        Snapshot(name=s.name, kind=s.kind, began=s.began, host=s.host, measures=(
            ImportedMeasure(workload="a", metric="time", value=v, unit="s", better="less"),))
        for s, v in zip(order, growing, strict=True)
    ]  # fmt: skip
    assert make_histories(measured)[0].verdict == "slower"


def test_what_scatters_is_said_not_called_sound() -> None:
    values = [100.0, 25, 25, 100, 25, 26, 25, 24, 25, 26, 100, 100, 100]
    order = results(a=values, b=[100 + n % 3 for n in range(13)])
    titles = [f.title for f in history_findings(make_histories(order), order)]
    assert any("scatters" in title and "4.17" in title for title in titles)


def test_nothing_decided_is_no_green_answer() -> None:
    order = results(a=[100.0, 60, 140, 90, 120], b=[70.0, 130, 95, 60, 110])
    [overview] = [f for f in history_findings(make_histories(order), order) if f.id == "trend.overview"]
    assert overview.title.endswith("2 undecided") and overview.severity == "notice"


def test_what_not_all_results_have_is_left_out() -> None:
    order = [*results(a=[1.0, 1.0], b=[1.0, 1.0]), *results(a=[1.0])]
    assert [h.workload for h in make_histories(order)] == ["a"]
