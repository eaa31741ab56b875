"""Keys of the plan mean one thing: a filled field, a refused value, the exact steps, a page that is opening."""

from collections.abc import Callable
from pathlib import Path

import pytest

from hostdx.app.tui.children.event_child import EventChild
from hostdx.app.tui.screens.ask import AskScreen
from hostdx.app.tui.screens.before.plan import PlanScreen
from hostdx.app.tui.screens.explain import ExplainScreen
from hostdx.app.tui.shell import Shell
from tests.fakes.streams.story import RECORDINGS
from tests.fakes.terminals.screen import fake_plan, keys, run_app, wait, wait_plan


def plan_of(app: Shell) -> PlanScreen:
    return next(screen for screen in app.screen_stack if isinstance(screen, PlanScreen))


def catch_runs(app: Shell, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    runs: list[str] = []
    monkeypatch.setattr(app, "start_run", lambda scenario, argv, plan: runs.append(scenario))
    return runs


async def test_typing_replaces_what_stands_in_a_field_and_editing_keeps_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A budget of 300 with 100 typed became 300100."""
    calls = fake_plan(monkeypatch, "storage")
    async with run_app(tmp_path, triage="triage", size="wide") as (app, pilot):
        app.open_plan("storage", ["--budget=300"])
        await wait_plan(app, pilot)
        await keys(pilot, "b", "1", "0", "0", "enter")
        assert plan_of(app).values["budget"] == 100.0 and "--budget=100" in calls[-1]
        await keys(pilot, "b", "end", "5", "enter")
        assert plan_of(app).values["budget"] == 1005.0


async def test_a_value_that_the_planner_refuses_keeps_the_plan_and_comes_back_into_the_field(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def planner(argv: list[str]) -> EventChild:
        if any("77" in word for word in argv):
            return EventChild(["sh", "-c", "echo 'hostdx: too large' >&2; exit 2"])
        return EventChild(["cat", str(RECORDINGS / "storage.jsonl")])

    monkeypatch.setattr("hostdx.app.tui.screens.before.plan.start_planner", planner)
    async with run_app(tmp_path, triage="triage", size="wide") as (app, pilot):
        app.open_plan("storage", ["--budget=60"])
        await wait_plan(app, pilot)
        plan = plan_of(app)
        before = dict(plan.values)
        await keys(pilot, "b", "7", "7", "enter")
        await wait(pilot, lambda: isinstance(app.screen, AskScreen))
        field = app.screen.query_one("#field")
        assert plan.plan is not None and plan.values == before
        assert getattr(field, "value", "") == "77"
        await keys(pilot, "escape")
        assert app.screen is plan and plan.check_action("start", ())


async def test_escape_leaves_the_exact_steps_and_not_the_plan(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two directories and a budget were gone."""
    fake_plan(monkeypatch, "storage")
    async with run_app(tmp_path, triage="triage", size="wide") as (app, pilot):
        app.open_plan("storage")
        await wait_plan(app, pilot)
        for key in ("escape", "q"):
            await keys(pilot, "x", key)
            assert isinstance(app.screen, PlanScreen)
        await keys(pilot, "escape")
        assert not isinstance(app.screen, PlanScreen)


async def test_enter_starts_nothing_while_a_page_is_opening_and_only_one_page_opens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pasted path opened three pages on top of each other and started a run below them."""
    fake_plan(monkeypatch, "storage")
    answers: list[Callable[[str], None]] = []
    async with run_app(tmp_path, triage="triage", size="wide") as (app, pilot):
        runs = catch_runs(app, monkeypatch)
        monkeypatch.setattr(app, "ask_command", lambda argv, refused, then: answers.append(then))
        app.open_plan("storage")
        await wait_plan(app, pilot)
        await keys(pilot, "e", "e", "enter")
        assert len(answers) == 1 and not runs
        answers[0]("# storage\n")
        await wait(pilot, lambda: isinstance(app.screen, ExplainScreen))
        await keys(pilot, "e", "enter")
        assert not runs and len([s for s in app.screen_stack if isinstance(s, ExplainScreen)]) == 1
        await keys(pilot, "escape", "e")
        assert len(answers) == 2  # once it is closed, it opens again
        app.pop_screen()
        answers[1]("# storage\n")
        await pilot.pause()
        assert not isinstance(app.screen, ExplainScreen)  # whoever asked has gone on


async def test_a_filter_puts_names_before_questions(tmp_path: Path) -> None:
    """`scheduler` put the scenario of stuck tasks above the one that compares schedulers."""
    async with run_app(tmp_path, triage="triage", size="wide") as (app, pilot):
        await keys(pilot, "slash", *"scheduler", "enter")
        shown_rows = app.screen.query_one("#scenarios").shown_rows  # type: ignore[attr-defined]
        assert len(shown_rows) > 1 and "iosched" in shown_rows[0].name
