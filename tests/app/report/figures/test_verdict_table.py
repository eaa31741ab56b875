"""The verdicts as a table, and the signs of trust, from events that are given."""

from pathlib import Path

import msgspec
import pytest

from hostdx.app.recordings.reader import load_recording
from hostdx.app.recordings.session import RunSession
from hostdx.app.recordings.values import medians_apart_from_effect
from hostdx.app.report.delivery import WIDE, summary_lines
from hostdx.app.report.figures.verdict_table import notes_on_values
from hostdx.app.report.next_steps import list_remedies
from hostdx.app.report.validity import list_trust_signs
from hostdx.probes import units
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.disturbance import Disturbance
from hostdx.scenarios.contract.plan import Metric, Plan, Variant, Workload
from hostdx.scenarios.contract.verdict.verdict import Word
from tests.every_case import every_case

DEMOS = Path(__file__).parents[4] / "app" / "recordings" / "demos"


def make_verdict(workload: str, word: str, ratio: float | None, **more: object) -> ev.RunVerdict:
    base = {"t": 9.0, "metric": "IOPS", "baseline": "A", "variant": "B", "groups": 6 if ratio else 0, **more}
    return ev.RunVerdict(workload=workload, verdict=word, ratio=ratio, **base)  # type: ignore[arg-type]


def make_session(*events: ev.AnyEvent) -> RunSession:
    run_session = RunSession()
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
        run_session.apply(event)
    return run_session


def make_block(variant: str, value: float, group: int, **more: object) -> ev.Block:
    base = {"t": 1.0, "workload": "large", "index": group, "seconds": 0.5, **more}
    return ev.Block(variant=variant, group=group, values={"IOPS": value}, **base)  # type: ignore[arg-type]


@every_case(
    ("value", "unit", "text"),
    [
        (8136, "IOPS", "8.14 k IOPS"), (213_000, "ns", "213 µs"), (0.0021, "s", "2.1 ms"), (98.4, "MB/s", "98.4 MB/s"),
        (12, "1/s", "12/s"), (512, "ns/packet", "512 ns/packet"), (float("inf"), "IOPS", "? IOPS"),
    ],
)  # fmt: skip
def test_a_value_has_its_unit(value: float, unit: str, text: str) -> None:
    assert str(units.metric_quantity(value, unit)) == text


@every_case(
    ("events", "state", "part"),
    [
        ((make_verdict("c", "no material difference", 1.0, control=True),), "ok", "control equal (load c)"),
        ((make_verdict("c", "slower", 0.9, control=True),), "critical", "10 % slower): do not use this run"),
        ((make_verdict("c", "inconclusive", 0.9, control=True),), "unknown", "control inconclusive"),
        ((make_verdict("c", "not measured", None, control=True),), "unknown", "control not measured"),
        ((ev.Group(t=1, workload="large", index=0, order="ABBA"),), "ok", "0 of 1 groups disturbed"),
        (
            (ev.Group(t=1, workload="large", index=0, order="ABBA", disturbed=(Disturbance("cpu"),)),),
            "critical",
            "1 of 1 groups disturbed, measured again",
        ),
        ((make_block("A", 1.0, 0, bytes=100, device_bytes=99),), "ok", "reached the disk"),
        ((make_block("A", 1.0, 0, bytes=100, device_bytes=40),), "notice", "load large 40 %"),
        (
            (make_verdict("small", "slower", 0.5, drift={"A": (400.0, 100.0)}),),
            "notice",
            "A falls from 400 to 100",
        ),
        ((), "ok", "no load halved or doubled"),
        ((make_verdict("small", "inconclusive", 1.0, smallest_effect=0.03, groups=12),), "unknown", " 3 % "),
        (
            (make_verdict("small", "no material difference", 1.0, smallest_effect=0.03, groups=12),),
            "ok",
            " 3 % ",
        ),
        ((make_verdict("small", "inconclusive", 1.0, smallest_effect=0.16, groups=12),), "unknown", " 16 % "),
    ],
)
def test_each_sign_of_trust(events: tuple[ev.AnyEvent, ...], state: str, part: str) -> None:
    session = make_session(make_verdict("large", "slower", 0.5), *events)
    assert any(sign.state == state and part in sign.text for sign in list_trust_signs(session)), (
        list_trust_signs(session)
    )


@every_case(
    ("of_a", "of_b", "word", "ci95", "freed", "expected"),
    [
        ([100.0] * 6, [50.0] * 6, Word.SLOWER, (0.45, 0.55), "", None),  # medians as the effect
        ([100.0] * 4 + [400.0] * 2, [90.0] * 2 + [45.0] * 4, Word.SLOWER, (0.7, 0.9), "", 0.55),
        ([100.0] * 4 + [400.0] * 2, [90.0] * 2 + [45.0] * 4, Word.SLOWER, (0.7, 0.9), "c", None),
        ([100.0] * 4 + [400.0] * 2, [90.0] * 2 + [45.0] * 4, Word.UNDECIDED, (0.7, 1.1), "", None),
        ([100.0] * 6, [73.0] * 6, Word.SLOWER, (0.7, 0.9), "", None),
        ([45.0] * 4 + [90.0] * 2, [90.0] * 4 + [99.0] * 2, Word.FASTER, (1.1, 1.4), "", 1.0),
    ],
)
def test_two_regimes_are_told_where_the_medians_lie_outside_of_the_interval(
    of_a: list[float],
    of_b: list[float],
    word: Word,
    ci95: tuple[float, float],
    freed: str,
    expected: float | None,
) -> None:
    session = make_session(
        *(make_block(side, value, n) for n, pair in enumerate(zip(of_a, of_b, strict=True))
          for side, value in zip("AB", pair, strict=True)),
        make_verdict("large", word, 0.8, ci95=ci95),
    )  # fmt: skip
    assert session.plan is not None
    loads = [msgspec.structs.replace(load, freed_from=freed) for load in session.plan.workloads]
    session.plan = msgspec.structs.replace(session.plan, workloads=tuple(loads))
    [verdict] = session.verdicts.values()
    assert medians_apart_from_effect(session, verdict) == (expected and pytest.approx(expected))
    assert len(notes_on_values(session)) == (1 if freed or expected else 0)


@every_case("path", sorted(DEMOS.glob("*.jsonl")))
def test_at_a_terminals_edge_no_word_is_cut(path: Path) -> None:
    recording = load_recording(path)
    pasted = {command for step in list_remedies(recording) for command in step.commands}  # a line each, whole

    def words_at(width: int, *, charts: bool = False) -> list[str]:
        lines = ["".join(text for text, _ in line) for line in summary_lines(recording, None, width)]
        longest = max(len(word) for line in lines for word in line.split())
        assert all(len(line) <= max(width, 20 + longest) or line.strip() in pasted for line in lines)
        drawn = set("◂▸░┄├┤○●")  # a chart is as wide as there is room
        return sorted(word for line in lines if charts or not drawn & set(line) for word in line.split())

    narrow, wide = words_at(80), words_at(WIDE - 1)
    missing = set(wide) - set(narrow)
    assert not missing
    # a row of which only the wider one has room for a bar
    assert set(narrow) <= set(words_at(WIDE - 1, charts=True))
