"""What the screens know before a run: directories measured before, what triage saw, what was recorded."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.tui.commands import EarlierResults, Example
from app.tui.plan_text import resolution_lines
from app.tui.questions import card_for
from app.tui.questions import list_questions as known
from app.tui.screens.before.directories import DirectoriesScreen
from app.tui.screens.before.plan import PlanScreen
from app.tui.widgets.home.scenario_list import ScenarioList
from scenarios.contract import events as ev
from scenarios.contract.plan import Plan
from tests.fakes.terminals.screen import grid, keys, opened, planned, ready, settled, until
from tests.needs import one_always


def pulse(**devices: tuple[float, float, float]) -> ev.Pulse:
    return ev.Pulse(t=3.0, load1=3.1, cpu=0.4, psi_cpu=0.0, psi_io=0.0, psi_memory=0.0, devices=devices)


@pytest.mark.parametrize("size", one_always("narrow", "wide"))
async def test_two_own_directories_take_eight_keys_and_their_paths(
    size: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = planned(monkeypatch, "storage")
    monkeypatch.setattr("app.tui.screens.before.directories.run_hostdx", lambda shell, argv, then: None)
    started: list[list[str]] = []
    async with opened(tmp_path, triage="triage", size=size) as (app, pilot):
        app.start_run = lambda scenario, argv, plan: started.append([scenario, *argv])  # type: ignore[method-assign]
        await keys(pilot, "2", "slash", *"tmp", "enter", "slash", *"srv", "enter", "enter")
        assert isinstance(app.screen, PlanScreen)
        await until(
            pilot, lambda: asked[-1] == ["storage", "--dir=/tmp", "--dir=/srv"] and app.screen.is_plan_final
        )
        await keys(pilot, "enter")
    assert started == [["storage", "--dir=/tmp", "--dir=/srv"]]


async def test_directories_that_were_measured_before_are_listed_and_taken_in_the_order_of_marking(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = planned(monkeypatch, "storage")
    monkeypatch.setattr("app.tui.screens.before.directories.run_hostdx", lambda shell, argv, then: None)
    earlier = ["/scratch/x", "/data/y"]
    async with opened(tmp_path, triage="triage") as (app, pilot):
        app.earlier_results = EarlierResults(directories=earlier)
        await keys(pilot, "2")
        picker = app.screen
        assert isinstance(picker, DirectoriesScreen)
        for path in earlier:
            await keys(pilot, "home")
            while picker.selected_place is None or picker.selected_place.path != path:
                before = picker.selected_place
                await keys(pilot, "down")
                assert picker.selected_place != before, "the directory is not listed"
            await keys(pilot, "space")
        await keys(pilot, "enter")
        await until(pilot, lambda: asked[-1] == ["storage", "--dir=/scratch/x", "--dir=/data/y"])
        await keys(pilot, "q", "1")
        assert isinstance(app.screen, PlanScreen)  # the whole host finds its directories itself


async def test_beside_each_complaint_stands_what_is_known_of_it(tmp_path: Path) -> None:
    async with opened(tmp_path, triage="triage", size="wide") as (app, pilot):
        past = Example("20260101-null-x.jsonl", "all is well", "2026-11-26T11:20:33Z", "ok")
        app.earlier_results = EarlierResults(last={"null": past})
        app.first_pulse = pulse(sdb=(1.0, 1.0, 0.25))
        await settled(pilot)
        rows = {row.key: row for row in app.screen.query_one(ScenarioList).build_rows()}
        told = {key: "".join(part for part, _ in row.draw(100)) for key, row in rows.items()}
        session = app.home_session()
        for question in known()[1:]:
            here = [f for f in session.findings.values() if f.prove == card_for(question, session).id]
            loud = [f for f in here if f.severity != "ok"]
            blocked = any(o.blocked for o in session.offers if o.id in [c.id for c in question.cards])
            if loud and not blocked:
                assert (
                    str(len(loud)) in told[f"?{question.key}"] and question.words in told[f"?{question.key}"]
                )
        assert "11-26 11:20" in told["null"]
        assert any("all is well" in "".join(p for p, _ in line) for line in rows["null"].full_lines(114))


@pytest.mark.parametrize("size", one_always("narrow", "wide"))
async def test_the_plan_says_what_each_load_resolves_on_this_host(
    size: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    planned(monkeypatch, "storage")
    async with opened(tmp_path, triage="triage", size=size) as (app, pilot):
        app.open_plan("storage")
        await ready(app, pilot)
        assert isinstance(app.screen, PlanScreen) and app.screen.plan is not None
        load = app.screen.plan.workloads[0]
        before = grid(app)
        app.earlier_results = EarlierResults(detects={load.id: 0.0371, "of another plan": 0.2})
        app.draw()
        await keys(pilot)
        assert "±3.7 %" in grid(app) and "±3.7 %" not in before and "20 %" not in grid(app)
    assert resolution_lines(Plan(scenario="x", title="", question=""), {"a": 0.1}, 80) == []
