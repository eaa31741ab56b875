"""The numbers as CSV: what a spreadsheet reads back is what was measured, and no name is a formula."""

import csv
import io
import math
from pathlib import Path

import msgspec
import pytest

from hostdx.app.recordings.session import RunSession
from hostdx.app.recordings.sides import read_run_summaries
from hostdx.app.recordings.store import resolve_recording
from hostdx.app.report.forms.csv_rows import COMPARED, MEASURED, csv_of_comparison, csv_of_recording
from hostdx.scenarios.analysis.compare.comparison import compare_recordings as comparison
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.plan import Metric, Plan, Workload
from tests.every_case import every_case

HOSTILE = ("=1+1", "+1", "-1", "@A1", "\t=1", "  =cmd|'/C calc'!A0", "＝1")


def read(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def make_session(title: str = "synced write") -> RunSession:
    run_session = RunSession()
    metrics = (Metric("latency", "ns", "less"),)
    load = Workload(id="w", title=title, metrics=metrics)
    plan = Plan(scenario="storage", title="t", question="q", workloads=(load,))
    run_session.apply(ev.Planned(t=0.0, plan=plan))
    for n, (variant, value) in enumerate((("A", 1000.0), ("B", 4000.0), ("A", 3000.0), ("B", 4000.0))):
        run_session.apply(
            ev.Block(
                t=n, workload="w", index=n, group=n // 2, seconds=1.0, variant=variant,
                values={"latency": value}, histogram=[(int(value), 600), (900_000, 10)],
            )
        )  # fmt: skip
    return run_session


def make_verdict(baseline: str = "A", variant: str = "B") -> ev.RunVerdict:
    return ev.RunVerdict(
        t=9.0, workload="w", metric="latency", baseline=baseline, variant=variant, verdict="slower",  # type: ignore[arg-type]
        ratio=0.5, ci95=(0.25, 0.75), groups=2, seconds=4.5,
    )  # fmt: skip


def test_what_was_compared_with_nothing_has_a_row_of_its_own() -> None:
    rows = read(csv_of_recording(make_session(), "r.jsonl"))
    assert [(r["baseline"], r["variant"], r["variant_value"], r["verdict"]) for r in rows] == [
        ("", "A", "2000", ""),
        ("", "B", "4000", ""),
    ]
    infinite = msgspec.structs.replace(make_verdict(), ratio=math.inf, ci95=(0.25, math.nan))
    session = make_session()
    session.apply(infinite)
    (row,) = read(csv_of_recording(session, "r.jsonl"))
    assert (row["ratio"], row["ratio_ci95_low"], row["ratio_ci95_high"]) == ("", "0.25", "")


@every_case("name", [*HOSTILE, 'a,"b"\nc', "\udce9"])
def test_no_name_is_a_formula_nor_breaks_a_row(name: str) -> None:
    session = make_session(title=name)
    session.apply(make_verdict(variant=name))
    (row, *rest) = read(csv_of_recording(session, name))
    assert all(set(cells) == set(MEASURED) for cells in (row, *rest))
    for cell in (row["load"], row["variant"], row["recording"]):
        assert cell.startswith("'") == (name in HOSTILE and name[0] != "\t") and "\n" not in cell


def test_every_load_of_two_sides_is_a_row() -> None:
    sides = [read_run_summaries([resolve_recording(name)]) for name in ("demo:kernel-5-10", "demo:kernel")]
    compared = comparison(*sides)
    rows = read(csv_of_comparison(compared))
    assert len(rows) == len(compared.effects) and list(rows[0]) == list(COMPARED)
    for row, effect in zip(rows, compared.effects, strict=True):
        assert float(row["ratio"]) == pytest.approx(effect.ratio, rel=1e-6)
        assert float(row["baseline_mean"]) == pytest.approx(effect.a, rel=1e-6)
        assert (row["baseline_runs"], row["variant_runs"]) == tuple(map(str, effect.runs))
    assert Path(compared.a.names[0]).name in rows[0]["baseline"]
