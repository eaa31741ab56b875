"""Slopes and steps over results: found where planted, not called where there is only noise."""

import math
import random
from collections.abc import Sequence

from hostdx.probes.imports.model import ImportedMeasure
from hostdx.scenarios.analysis.compare.snapshot import RunSnapshot
from hostdx.scenarios.analysis.imported.cross_run import history_findings
from hostdx.scenarios.analysis.imported.pile import make_histories


def make_results(**courses: Sequence[float]) -> list[RunSnapshot]:
    count = len(next(iter(courses.values())))
    return [
        RunSnapshot(
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


def draw_noise(seed: int, count: int, share: float) -> list[float]:
    draw = random.Random(seed)
    return [draw.gauss(0, share) for _ in range(count)]


def test_a_step_is_found_where_it_is() -> None:
    values = [100 * math.exp(e) * (1.0 if n < 7 else 0.8) for n, e in enumerate(draw_noise(3, 14, 0.01))]
    order = make_results(a=values)
    [history] = make_histories(order)
    assert [s.before for s in history.steps] == [6] and abs(history.steps[0].ratio - 0.8) < 0.03
    first = history_findings(history and [history], order)[0]
    assert first.severity == "warning" and "r6 (2024-01-07)" in first.title


def test_what_not_all_results_have_is_left_out() -> None:
    order = [*make_results(a=[1.0, 1.0], b=[1.0, 1.0]), *make_results(a=[1.0])]
    assert [h.workload for h in make_histories(order)] == ["a"]
