"""The report's tables of numbers, from events that are given."""

from __future__ import annotations

from app.recordings.session import RunSession
from app.report.method import method_parts
from app.report.numbers import _value, number_parts, run_galleries
from app.report.wording import legend_text
from scenarios.contract import events as ev
from scenarios.contract.plan import Plan, Variant
from scenarios.contract.results.document import Chart, Table
from scenarios.experiment.guards.thresholds import THRESHOLDS
from scenarios.experiment.looks import nominal_level, plan_analyses


def session(operations: int) -> RunSession:
    """Two groups of two blocks; of 100 operations 98 take up to 50 µs, one 80 µs, and one 3 ms."""
    told = RunSession()
    each = operations // 100
    for number in range(4):
        told.apply(
            ev.Block(
                t=1.0 + number, workload="reads", variant="A", group=number // 2, index=number, seconds=0.5,
                values={"IOPS": 1000.0}, operations=operations,
                histogram=[(50_000, 98 * each), (80_000, each), (3_000_000, each)],
            )
        )  # fmt: skip
        told.apply(ev.Group(t=1.0 + number, workload="reads", index=number // 2, order="AA"))
    told.apply(
        ev.RunVerdict(
            t=9.0, workload="reads", metric="IOPS", baseline="A", variant="B", verdict="slower", ratio=0.5,
            ci95=(0.4, 0.6), groups=6, look=1, alpha=0.05 / 7,
        )
    )  # fmt: skip
    return told


def test_how_it_was_measured_names_every_guard_with_its_threshold_and_the_looks_levels() -> None:
    parts = method_parts(session(500), "x.jsonl")
    guards = next(part for part in parts if isinstance(part, Table) and part.header[0] == "guard")
    assert [row[0] for row in guards.rows] == [rule.kind for rule in THRESHOLDS]
    assert guards.rows[0][1] == "25 % of all CPUs, where the CPUs were 90 % busy"
    text = " ".join(str(part) for part in parts)
    assert "0.71 % of such runs" in text
    last = 100 * nominal_level(30, plan_analyses(30), 0.05 / 7)
    assert f"{last:.2g} %" in text


def test_a_value_has_its_unit_unless_the_metric_is_one() -> None:
    assert _value(977.1e6, "bandwidth", "B/s") == "977 MB/s"
    assert _value(1_380_000, "CPU time", "ns/piece") == "1.38 ms/piece"
    assert _value(12900, "IOPS", "IOPS") == "12900"


def test_each_side_keeps_its_letter_and_its_place_whoever_was_measured_first() -> None:
    """The order within a group is random; a side whose id is no single letter (A') is none of the other's letters."""
    for first, second in (("A", "A'"), ("mq-deadline", "bfq")):
        told = RunSession()
        sides = (Variant(id=first, label="itself"), Variant(id=second, label="itself again"))
        told.apply(ev.Planned(t=0, plan=Plan(scenario="null", title="", question="", variants=sides)))
        for n, variant in enumerate((second, first, first, second)):
            values = {"IOPS": 10.0 ** (n + 1)}
            told.apply(
                ev.Block(t=n, workload="r", variant=variant, group=0, index=n, seconds=1, values=values)
            )
        ((drawn,),) = (gallery.drawings for gallery in run_galleries(told))
        assert isinstance(drawn, Chart)
        assert [one.marker for one in drawn.series] == ["A", "B"]
        assert [one.legend for one in drawn.series] == [
            legend_text(told, "A", first),
            legend_text(told, "B", second),
        ]
        assert all(one.points for one in drawn.series)
        table = next(part for part in number_parts(told) if isinstance(part, Table))
        column = table.header.index("variant")
        assert [row[column].split(" ")[0] for row in table.rows] == [first, second]
        assert drawn.y.log
