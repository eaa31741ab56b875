"""What the screens know before a run: directories measured before, what triage saw, what was recorded."""

from pathlib import Path

import pytest

from hostdx.app.tui.commands import EarlierResults, Example
from hostdx.app.tui.plan_text import resolution_lines
from hostdx.app.tui.questions import card_for, list_questions
from hostdx.app.tui.screens.before.plan import PlanScreen
from hostdx.app.tui.widgets.home.scenario_list import ScenarioList
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.plan import Plan
from tests.fakes.terminals.screen import fake_plan, grid, keys, run_app, settle, wait_plan
from tests.needs import one_always


def make_pulse(**devices: tuple[float, float, float]) -> ev.Pulse:
    return ev.Pulse(t=3.0, load1=3.1, cpu=0.4, psi_cpu=0.0, psi_io=0.0, psi_memory=0.0, devices=devices)


async def test_beside_each_complaint_stands_what_is_known_of_it(tmp_path: Path) -> None:
    async with run_app(tmp_path, triage="triage", size="wide") as (app, pilot):
        past = Example("20260101-null-x.jsonl", "all is well", "2026-11-26T11:20:33Z", "ok")
        app.earlier_results = EarlierResults(last={"null": past})
        app.first_pulse = make_pulse(sdb=(1.0, 1.0, 0.25))
        await settle(pilot)
        rows = {row.key: row for row in app.screen.query_one(ScenarioList).build_rows()}
        row_texts = {key: "".join(part for part, _ in row.draw(100)) for key, row in rows.items()}
        session = app.home_session()
        for question in list_questions()[1:]:
            findings = [f for f in session.findings.values() if f.prove == card_for(question, session).id]
            loud = [f for f in findings if f.severity != "ok"]
            blocked = any(o.blocked for o in session.offers if o.id in [c.id for c in question.cards])
            if loud and not blocked:
                row = row_texts[f"?{question.id}"]
                assert str(len(loud)) in row and question.words in row
        null = next(f"?{q.id}" for q in list_questions() if q.cards[0].id == "null")
        assert "11-26 11:20" in row_texts[null]
        assert any("all is well" in "".join(p for p, _ in line) for line in rows[null].full_lines(114))


@pytest.mark.parametrize("size", one_always("narrow", "wide"))
async def test_the_plan_says_what_each_load_resolves_on_this_host(
    size: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_plan(monkeypatch, "storage")
    async with run_app(tmp_path, triage="triage", size=size) as (app, pilot):
        app.open_plan("storage")
        await wait_plan(app, pilot)
        assert isinstance(app.screen, PlanScreen) and app.screen.plan is not None
        load = app.screen.plan.workloads[0]
        before = grid(app)
        app.earlier_results = EarlierResults(detects={load.id: 0.0371, "of another plan": 0.2})
        app.draw()
        await keys(pilot)
        assert "±3.7 %" in grid(app) and "±3.7 %" not in before and "20 %" not in grid(app)
    assert resolution_lines(Plan(scenario="x", title="", question=""), {"a": 0.1}, 80) == []
