"""The verdicts as a table, and the signs of trust, from events that are given."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from app.recordings.reader import load
from app.recordings.session import RunSession
from app.recordings.store import resolve_recording
from app.recordings.values import regimes_words, values_beside
from app.report.end_of_run import WIDE, summary_lines
from app.report.figures.verdict_table import (
    NO_VALUES,
    effects_part,
    list_verdict_rows,
    make_bars,
    notes_on_values,
    on_page,
    verdicts_table,
)
from app.report.full_report import report
from app.report.next_steps import list_remedies
from app.report.validity import list_trust_signs
from app.report.wording import resolution_text
from probes import units
from scenarios.contract import events as ev
from scenarios.contract.disturbance import Disturbance
from scenarios.contract.plan import Metric, Plan, Variant, Workload
from scenarios.contract.results import document as doc
from scenarios.contract.results.document import Toned
from scenarios.experiment.wording import reckoned_s
from tests.every_case import every_case

DEMOS = Path(__file__).parents[4] / "app" / "recordings" / "demos"


def verdict(workload: str, word: str, ratio: float | None, **more: object) -> ev.RunVerdict:
    given = {"t": 9.0, "metric": "IOPS", "baseline": "A", "variant": "B", "groups": 6 if ratio else 0, **more}
    return ev.RunVerdict(workload=workload, verdict=word, ratio=ratio, **given)  # type: ignore[arg-type]


def session(*events: ev.AnyEvent) -> RunSession:
    told = RunSession()
    loads = tuple(
        Workload(
            id=name,
            title=f"load {name}",
            metrics=(Metric("IOPS", "1/s"),),
            control=name == "c",
            aside=name == "z",
        )
        for name in ("small", "large", "same", "c", "z")
    )
    sides = (Variant(id="A", label="/a"), Variant(id="B", label="/b"))
    plan = Plan(scenario="storage", title="t", question="q", workloads=loads, variants=sides)
    for event in (ev.Planned(t=0.0, plan=plan), *events):
        told.apply(event)
    return told


def block(variant: str, value: float, group: int, **more: object) -> ev.Block:
    given = {"t": 1.0, "workload": "large", "index": group, "seconds": 0.5, **more}
    return ev.Block(variant=variant, group=group, values={"IOPS": value}, **given)  # type: ignore[arg-type]


def test_both_sides_medians_and_the_largest_effect_first() -> None:
    told = session(
        verdict("c", "slower", 0.2, control=True),
        verdict("same", "no material difference", 1.0),
        verdict("small", "slower", 0.9),
        verdict("large", "faster", 3.0, ci95=(2.5, 3.5)),
        *(block("A", v, n) for n, v in enumerate((1000, 2000, 9000))),
        *(block("B", v, n) for n, v in enumerate((6000, 6100))),
        block("A", 1.0, 9, phase="warmup"),
        block("A", 1.0, 9, disturbed=(Disturbance("cpu"),)),
    )
    assert [row.load for row in list_verdict_rows(told)] == [
        "load large",
        "load small",
        "load same",
        "load c (control)",
    ]
    found = verdicts_table(told)
    assert found is not None and found.header == ("load", "A", "B", "effect", "95 % CI", "groups")
    assert (
        found.rows[0]
        == (
            "load large",
            "1.74 k/s",  # 1.5 and 6.05 k/s are the medians of common groups, moved so that they divide to the effect
            "5.22 k/s",
            Toned("3 × faster", "ok"),
            "2.5 to 3.5 ×",
            "6",
        )
    )


def test_a_load_that_is_set_aside_stands_in_the_appendix_only() -> None:
    told = session(
        verdict("z", "slower", 0.1),
        verdict("small", "slower", 0.9),
        verdict("c", "slower", 1.0, control=True),
    )
    assert [row.load for row in list_verdict_rows(told)] == ["load small", "load c (control)", "load z"]
    front, back = (verdicts_table(told, appendix=appendix) for appendix in (False, True))
    assert front is not None and [row[0] for row in front.rows] == ["load small", "load c (control)"]
    assert back is not None and [row[0] for row in back.rows] == ["load z"]


@pytest.mark.parametrize(("right", "is_said"), [(6000, False), (400, True)])
def test_two_regimes_are_said_where_the_medians_do_not_fit_the_effect(right: float, is_said: bool) -> None:
    told = session(
        verdict("large", "faster", 3.0, ci95=(2.5, 3.5)), block("A", 2000, 0), block("B", right, 0)
    )
    assert bool(regimes_words(told, told.verdicts["large", "IOPS", "A", "B"])) is is_said
    assert bool(notes_on_values(told)) is is_said


@every_case(
    ("ratio", "better", "share"),
    [(0.744, "less", "34 % more"), (1.25, "less", "20 % less"), (0.744, "more", "")],
)
def test_a_share_of_the_speed_is_said_as_a_share_of_the_cost_too(
    ratio: float, better: Any, share: str
) -> None:
    metrics = (Metric("IOPS", "ns/packet", better),)
    plan = Plan(
        scenario="s", title="", question="", workloads=(Workload(id="large", title="l", metrics=metrics),)
    )
    told = RunSession()
    for event in (ev.Planned(t=0.0, plan=plan), verdict("large", "slower" if ratio < 1 else "faster", ratio)):
        told.apply(event)
    assert (share in notes_on_values(told)[0]) if share else notes_on_values(told) == []


@every_case("third", [None, 2.0, 3.0])
def test_a_variant_has_one_value_in_a_load_and_a_pair_that_does_not_fit_has_none(
    third: float | None,
) -> None:
    """A to B is 0.5 and A to C is 1: B to C can be 2 and nothing else."""
    pairs = [
        verdict("large", "slower", 0.5, groups=1),
        verdict("large", "inconclusive", 1.0, variant="C", groups=1),
    ]
    if third:
        pairs.append(verdict("large", "faster", third, baseline="B", variant="C", groups=1))
    values = (("A", 0, 4000.0), ("B", 0, 2000.0), ("A", 1, 9000.0), ("C", 1, 9000.0))
    told = session(*(block(side, value, n) for side, n, value in values), *pairs)
    shown = {
        (row.verdict.baseline, row.verdict.variant): values_beside(told, row.verdict)
        for row in list_verdict_rows(told)
    }
    for pair, (left, right) in shown.items():
        ratio = told.verdicts["large", "IOPS", *pair].ratio
        if pair == ("B", "C") and third == 3.0:
            assert left is right is None
        else:
            assert left and right and ratio and right / left == pytest.approx(ratio, rel=1e-9)
    assert shown["A", "B"][0] == shown["A", "C"][0]
    assert (NO_VALUES in notes_on_values(told)) is (third == 3.0)


def test_rows_without_values_have_their_reason_below_them_in_the_appendix_too() -> None:
    told = load(resolve_recording("demo:fullstack"))
    rows = [row for row in on_page(told, appendix=True) if row.verdict.ratio]
    assert any(row.left is None for row in rows)
    table = effects_part(told, appendix=True)
    (parts,) = (s.parts for s in report(told, "demo:fullstack").sections if table in s.parts)
    assert doc.paragraph_of(NO_VALUES) in parts


def test_nothing_measured_has_no_table_and_no_trust() -> None:
    told = session(verdict("large", "not measured", None, reason="no time"))
    assert verdicts_table(told) is None and list_trust_signs(told) == []


@every_case(
    ("value", "unit", "shown"),
    [
        (8136, "IOPS", "8.14 k IOPS"), (213_000, "ns", "213 µs"), (0.0021, "s", "2.1 ms"), (98.4, "MB/s", "98.4 MB/s"),
        (12, "1/s", "12/s"), (512, "ns/packet", "512 ns/packet"), (float("inf"), "IOPS", "? IOPS"),
    ],
)  # fmt: skip
def test_a_value_has_its_unit(value: float, unit: str, shown: str) -> None:
    assert str(units.metric_quantity(value, unit)) == shown


@every_case(
    ("events", "state", "says"),
    [
        ((verdict("c", "no material difference", 1.0, control=True),), "ok", "control equal (load c)"),
        ((verdict("c", "slower", 0.9, control=True),), "critical", "10 % slower): do not use this run"),
        ((verdict("c", "inconclusive", 0.9, control=True),), "unknown", "control inconclusive"),
        ((verdict("c", "not measured", None, control=True),), "unknown", "control not measured"),
        ((ev.Group(t=1, workload="large", index=0, order="ABBA"),), "ok", "0 of 1 groups disturbed"),
        (
            (ev.Group(t=1, workload="large", index=0, order="ABBA", disturbed=(Disturbance("cpu"),)),),
            "critical",
            "1 of 1 groups disturbed, measured again",
        ),
        ((block("A", 1.0, 0, bytes=100, device_bytes=99),), "ok", "reached the disk"),
        ((block("A", 1.0, 0, bytes=100, device_bytes=40),), "notice", "load large 40 %"),
        (
            (verdict("small", "slower", 0.5, drift={"A": (400.0, 100.0)}),),
            "notice",
            "A falls from 400 to 100",
        ),
        ((), "ok", "no variant drifted"),
        (
            (verdict("small", "inconclusive", 1.0, smallest_effect=0.03, groups=12),),
            "ok",
            ": ±3 %",
        ),
        (
            (verdict("small", "inconclusive", 1.0, smallest_effect=0.16, groups=12),),
            "unknown",
            ": ±16 %",
        ),
    ],
)
def test_each_sign_of_trust(events: tuple[ev.AnyEvent, ...], state: str, says: str) -> None:
    told = session(verdict("large", "slower", 0.5), *events)
    assert any(sign.state == state and says in sign.text for sign in list_trust_signs(told)), (
        list_trust_signs(told)
    )


def test_no_smallest_effect_is_said_of_a_large_one() -> None:
    """Half an interval of 78 to 112 times is ±0.2 % of the ratio 0.01: that says nothing about small effects."""
    told = session(verdict("large", "slower", 0.01, smallest_effect=0.002))
    assert not any("±" in sign.text for sign in list_trust_signs(told))
    assert resolution_text(next(iter(told.verdicts.values()))) == "–"


def test_a_drift_is_seen_in_a_recording_whose_verdict_does_not_name_it() -> None:
    falls = [
        block(side, value, n) for n in range(12) for side, value in (("A", 400 - 30 * n), ("B", 300 + n % 3))
    ]
    told = session(verdict("large", "faster", 2.0), *falls)
    (sign,) = (sign for sign in list_trust_signs(told) if "while it is measured" in sign.text)
    assert sign.state == "notice" and sign.text.startswith("load large: A falls from ")


@every_case("path", sorted(DEMOS.glob("*.jsonl")))
def test_at_a_terminals_edge_no_word_is_cut(path: Path) -> None:
    told = load(path)
    pasted = {command for step in list_remedies(told) for command in step.commands}  # a line each, whole

    def words(width: int, *, charts: bool = False) -> list[str]:
        lines = ["".join(text for text, _ in line) for line in summary_lines(told, None, width)]
        longest = max(len(word) for line in lines for word in line.split())
        assert all(len(line) <= max(width, 20 + longest) or line.strip() in pasted for line in lines)
        drawn = set("◂▸░┄├┤○●")  # a chart is as wide as there is room
        return sorted(word for line in lines if charts or not drawn & set(line) for word in line.split())

    narrow, wide = words(80), words(WIDE - 1)
    lost = set(wide) - set(narrow)
    assert not lost
    # a row of which only the wider one has room for a bar
    assert set(narrow) <= set(words(WIDE - 1, charts=True))


@every_case("name", ["storage", "rpfilter", "iosched", "null"])
def test_at_80_cells_no_row_is_higher_than_two_lines(name: str) -> None:
    told = load(DEMOS / f"{name}.jsonl")
    lines = ["".join(text for text, _ in line) for line in summary_lines(told, None, 80)]
    first = next(n for n, line in enumerate(lines) if "effect" in line and "95 % CI" in line)
    body = lines[first + 1 : lines.index("", first)]
    assert len(body) <= 2 * len(list_verdict_rows(told)) + 2 * bool(notes_on_values(told))


def test_of_one_load_the_rows_say_only_what_is_compared() -> None:
    made = verdicts_table(load(DEMOS / "rpfilter.jsonl"))
    assert made is not None and made.header[0] == "compared"
    assert [row[0] for row in made.rows] == ["check against none", "trivial against none (control)"]


def test_what_the_headline_says_is_no_finding_below_it_and_a_hint_is_named_one() -> None:
    null = " ".join(
        "".join(t for t, _ in line) for line in summary_lines(load(DEMOS / "null.jsonl"), None, 80)
    )
    assert null.count("This host can be measured") == 1
    storage = " ".join(
        "".join(t for t, _ in line) for line in summary_lines(load(DEMOS / "storage.jsonl"), None, 80)
    )
    assert "a hint: sda" in storage


def test_too_few_groups_have_no_interval_and_promise_no_time() -> None:
    """Three groups of eight drew an interval from 3.8 times slower to 3.3 times faster, and promised 19 hours."""
    few = {"ci95": (0.26, 3.3), "smallest_effect": 2.5, "seconds": 11.0, "seconds_to_decide": 71_000.0}
    told = session(verdict("small", "inconclusive", 1.0, groups=3, **few), verdict("large", "slower", 0.5))
    small = next(row for row in list_verdict_rows(told) if row.verdict.workload == "small")
    assert (small.interval, small.shown_estimate) == ("", None) and len(
        make_bars(list_verdict_rows(told))
    ) == 1
    assert not any("smallest" in sign.text for sign in list_trust_signs(told))
    assert reckoned_s(small.verdict) is None
    longer = msgspec.structs.replace(small.verdict, seconds_to_decide=100.0)
    assert reckoned_s(longer) == 100.0
