"""The plan screen, its options and its keys."""

from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
import pytest
from textual import events

from hostdx.app.locks import LockHolder
from hostdx.app.terminal.lines import Line
from hostdx.app.tui.children.event_child import EventChild
from hostdx.app.tui.option_values import format_value, parse_value
from hostdx.app.tui.plan_text import panel_lines
from hostdx.app.tui.screens.ask import AskScreen
from hostdx.app.tui.screens.before.consent import ConsentScreen
from hostdx.app.tui.screens.before.options import OptionsScreen
from hostdx.app.tui.screens.before.plan import PlanScreen
from hostdx.app.tui.screens.explain import ExplainScreen
from hostdx.app.tui.shell import Shell
from hostdx.scenarios.contract.action import Action
from hostdx.scenarios.contract.events import ScenarioOffer
from hostdx.scenarios.contract.plan import Option, Plan
from tests.every_case import every_case
from tests.fakes.streams.story import RECORDINGS
from tests.fakes.terminals.screen import child_of, fake_plan, grid, keys, run_app, settle, wait, wait_plan
from tests.needs import one_always
from tests.syntax import ROOT

both = pytest.mark.parametrize("size", one_always("narrow", "wide"))
HELP = "a directory on the device whose schedulers are compared, on a file system that can be written to"
OFFER = ScenarioOffer(
    t=0.0,
    id="iosched",
    title="Which scheduler?",
    question="Who would starve?",
    takes_s=480.0,
    options=(
        Option(name="dir", kind="path", required=True, help=HELP),
        Option(name="ioprio", kind="flag", help="also two groups of readers of different priority"),
        Option(name="budget", kind="number", help="wall seconds of measuring, without the preparation"),
    ),
)


@both
async def test_what_is_needed_is_asked_for_before_anything_is_planned(
    size: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[list[str]] = []

    def planner(argv: Sequence[str]) -> EventChild:
        calls.append(list(argv))
        return child_of("iosched")

    monkeypatch.setattr("hostdx.app.tui.screens.before.plan.start_planner", planner)
    monkeypatch.setattr(
        "hostdx.app.tui.screens.before.directories.run_hostdx", lambda *_: None
    )  # the mounts are told by a child
    async with run_app(tmp_path, triage="triage", size=size) as (app, pilot):
        app.push_screen(PlanScreen(OFFER, {}))
        await settle(pilot)
        assert "one thing must be named" in grid(app) and not calls
        assert "Enter name it" in grid(app) and "Enter start" not in grid(app)
        await keys(pilot, "enter", "slash")  # from the list of mounts to a path of one's own
        for key in (*"/dot", "enter"):  # a slow line brings what is typed in one piece
            app.post_message(events.Key(key, key if len(key) == 1 else None))
        await wait(pilot, lambda: "/dot" in grid(app))
        await keys(pilot, "enter")
        await wait(pilot, lambda: bool(calls))
        await wait_plan(app, pilot)
        assert calls == [["iosched", "--dir=/dot"]]
        assert "Enter start" in grid(app) and "Enter name it" not in grid(app)
        await keys(pilot, "b")
        assert "; now 200" in grid(app)
        await keys(pilot, *"340", "enter")
        assert calls[-1] == ["iosched", "--dir=/dot", "--budget=340"]


@both
async def test_options_are_explained_whole_and_changed_in_place(
    size: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hostdx.app.tui.screens.before.plan.start_planner", lambda argv: child_of("iosched"))
    async with run_app(tmp_path, triage="triage", size=size) as (app, pilot):
        app.push_screen(PlanScreen(OFFER, {}))
        await keys(pilot, "O")
        assert isinstance(app.screen, OptionsScreen)
        below = " ".join(" ".join(grid(app).splitlines()[-5:]).split())
        assert HELP in below and "needed" in grid(app)
        await keys(pilot, "down", "enter")
        lines = grid(app).replace("▸", "").replace("│", "").splitlines()
        rows = {row.split()[0]: row.split()[1] for row in lines[2:5]}
        assert rows == {"dir": "needed", "ioprio": "yes", "budget": "not"}
        await keys(pilot, "down", "enter")
        assert isinstance(app.screen, AskScreen)
        await keys(pilot, *"90", "enter")
        assert isinstance(app.screen, OptionsScreen) and "budget         90 " in grid(app)
        await keys(pilot, "slash", *"nothing like it", "enter", "enter")
        assert isinstance(app.screen, OptionsScreen)


@every_case(
    ("kind", "words", "value", "text"),
    [
        ("number", "340", 340, "340"),
        ("number", "0.05", 0.05, "0.05"),
        ("integer", "7", 7, "7"),
        ("flag", "yes", True, "yes"),
    ],
)
def test_a_value_is_shown_as_it_was_typed(kind: str, words: str, value: object, text: str) -> None:
    option = Option(name="x", kind=kind, help="x")  # type: ignore[arg-type]
    parsed = parse_value(option, words)
    assert parsed == value and format_value(option, {"x": parsed}) == text


@every_case(
    ("unit", "words", "value"),
    [("s", "45s", 45), ("s", "2m", 120), ("s", "1m 30s", 90), ("share", "5%", 0.05)],
)
def test_a_field_takes_the_units_that_its_hint_names(unit: str, words: str, value: float) -> None:
    assert parse_value(Option(name="budget", kind="number", unit=unit, help="x"), words) == value


def consent_text(*actions: Action) -> str:
    plan = Plan(scenario="fstrim", title="t", question="q", actions=actions)
    rows: list[Line] = ConsentScreen(plan)._consent_lines(78)
    return "\n".join("".join(part for part, _ in row) for row in rows)


def test_consent_never_says_that_a_trim_is_undone() -> None:
    trim = Action(
        kind="command",
        title="trim",
        target="/data",
        apply=("fstrim", "/data"),
        irreversible=True,
        consent=True,
    )
    other = Action(kind="attribute", title="set", target="/sys/x", old="1", new="2", consent=True)
    quiet = Action(kind="resource", resource="directory", title="own", target="/data/.hostdx-*")
    text = consent_text(trim, quiet)
    assert (
        "1 change to this host" in text and "It cannot be undone." in text and "undone at the end" not in text
    )
    text = consent_text(trim, other, quiet)
    assert "1 of them cannot be undone." in text and "Every other one is recorded in the undo journal" in text
    text = consent_text(other, quiet)
    assert "It is recorded in the undo journal" in text and "cannot be undone" not in text


@both
async def test_e_shows_the_page_of_the_scenario_as_explain_prints_it(
    size: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hostdx.app.tui.screens.before.plan.start_planner", lambda argv: child_of("iosched"))
    async with run_app(tmp_path, triage="triage", size=size) as (app, pilot):
        app.push_screen(PlanScreen(OFFER, {"dir": "/x"}))
        await wait_plan(app, pilot)
        assert "e explain" in grid(app)
        await keys(pilot, "e")
        await wait(pilot, lambda: isinstance(app.screen, ExplainScreen))
        await settle(pilot)
        written = (ROOT / "scenarios/iosched/README.md").read_text()
        assert isinstance(app.screen, ExplainScreen) and app.screen.page.split() == written.split()
        title = written.splitlines()[0].removeprefix("# ")
        assert title in " ".join(grid(app).split())
        await keys(pilot, "escape")
        assert isinstance(app.screen, PlanScreen)


async def test_a_plan_opened_before_the_host_was_read_gets_its_options(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A key typed in the first second left a plan without `d` and `b`, and asked for nothing that it needs."""
    monkeypatch.setattr("hostdx.app.tui.screens.before.plan.start_planner", lambda _: child_of("iosched"))
    async with run_app(tmp_path, triage="triage") as (app, pilot):
        offers = [o for o in app.home_session().offers if o.id != "iosched"]
        app.home_session().offers[:] = offers
        app.open_plan("iosched", ["--budget=90"])
        await settle(pilot)
        assert isinstance(app.screen, PlanScreen) and app.screen.title_words == "plan"
        assert not app.screen.check_action("budget", ())
        app.home_session().offers.append(OFFER)
        await wait(pilot, lambda: "one thing must be named" in grid(app))
        assert app.screen.check_action("budget", ()) and app.screen.offer is OFFER


@both
async def test_a_plan_that_is_refused_offers_no_start(
    size: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hostdx.app.tui.screens.before.plan.start_planner", lambda _: child_of("iosched"))
    async with run_app(tmp_path, triage="triage", size=size) as (app, pilot):
        screen = PlanScreen(OFFER, {"dir": "/x"})
        app.push_screen(screen)
        await wait_plan(app, pilot)
        assert "Enter start" in grid(app)
        plan = Plan(scenario="iosched", title="t", question="q", refusal="no space")
        monkeypatch.setattr(PlanScreen, "plan", plan)
        screen.show()
        await settle(pilot)
        assert "Enter start" not in grid(app) and "d directory" in grid(app)


@both
async def test_a_plan_is_not_started_beside_a_run_that_measures(
    size: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Refused by the runner it would leave a recording of nothing."""
    now: list[LockHolder] = [LockHolder(pid=7, start=1, scenario="null", since="12:00:00 UTC")]
    monkeypatch.setattr(
        "hostdx.app.tui.screens.before.plan.measuring_lock_holder", lambda: now[0] if now else None
    )
    monkeypatch.setattr("hostdx.app.tui.screens.before.plan.start_planner", lambda _: child_of("storage"))
    runs: list[str] = []
    offer = msgspec.structs.replace(OFFER, id="storage", options=())
    async with run_app(tmp_path, triage="triage", size=size) as (app, pilot):
        app.start_run = lambda scenario, *_: runs.append(scenario)  # type: ignore[method-assign, misc, assignment]
        screen = PlanScreen(offer, {})
        app.push_screen(screen)
        await wait_plan(app, pilot)
        assert screen.plan is not None and screen.plan.measuring_s > 0 and screen.blocking_run == now[0]
        assert not screen.check_action("start", ()) and screen.check_action("attach", ())
        await keys(pilot, "enter", "enter")
        assert not runs and not screen.waits_for_end  # asked for, and taken back
        await keys(pilot, "enter")
        app.push_screen(ExplainScreen("storage", "# storage"))
        await settle(pilot)
        now.clear()
        screen._start_when_host_is_free()
        assert not runs and screen.waits_for_end  # never below another page
        app.pop_screen()
        await settle(pilot)
        screen._start_when_host_is_free()
        assert runs == ["storage"] and not screen.check_action("attach", ())


@every_case("able", [frozenset(), frozenset({"directories"}), frozenset({"directories", "budget"})])
def test_a_panel_names_no_key_that_does_nothing(able: frozenset[str]) -> None:
    """A watch takes neither directories nor a budget."""
    plan = Plan(scenario="s", title="t", question="q", seconds=30.0, measuring_s=30.0)
    lines = panel_lines(plan, 118, 40, [], "hostdx run s", {}, able)
    text = "\n".join("".join(part for part, _ in line) for line in lines)
    assert ("d directories" in text, "b budget" in text) == ("directories" in able, "budget" in able)


def test_a_plan_that_cannot_run_says_so_in_place_of_its_costs() -> None:
    plan = Plan(scenario="s", title="t", question="q", seconds=72.0, measuring_s=60.0)
    lines = {
        refusal: panel_lines(
            msgspec.structs.replace(plan, refusal=refusal),
            118,
            40,
            [],
            "hostdx run s",
            {},
            frozenset({"budget"}),
        )
        for refusal in ("", "the mount is read-only")
    }
    (able, cannot) = lines.values()
    red = [
        n
        for n, line in enumerate(cannot)
        for words, role in line
        if role == "critical" and "read-only" in words
    ]
    assert len(red) == 1 and red[0] <= 4  # in the second row of panels
    assert any(role == "key" and words == "b" for line in able for words, role in line)
    assert not any(role == "key" and words == "b" for line in cannot for words, role in line)


async def test_what_is_typed_before_the_options_are_known_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A path went to the plan as single keys, and the run used its default directory."""
    monkeypatch.setattr("hostdx.app.tui.screens.before.plan.start_planner", lambda argv: child_of("iosched"))
    monkeypatch.setattr("hostdx.app.tui.screens.before.directories.run_hostdx", lambda *_: None)
    async with run_app(tmp_path, triage="triage") as (app, pilot):
        assert app.triage is not None
        app.triage.ended = False  # it goes on
        app.push_screen(PlanScreen(msgspec.structs.replace(OFFER, options=()), {}))
        await settle(pilot)
        plan = app.screen
        assert isinstance(plan, PlanScreen)
        for key in ("d", "slash", *"/dot", "enter"):
            app.post_message(events.Key(key, key if len(key) == 1 else None))
        await wait(pilot, lambda: len(plan._held_keys) == 7)
        assert app.screen is plan and "kept" in grid(app)
        plan.offer = OFFER
        await wait(pilot, lambda: "/dot" in grid(app))
        assert not plan._held_keys
        app.triage.ended = True


async def test_escape_keeps_the_plan_before_a_change_that_is_being_planned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    children = [child_of("iosched"), EventChild(["sleep", "60"])]
    monkeypatch.setattr("hostdx.app.tui.screens.before.plan.start_planner", lambda argv: children.pop(0))
    async with run_app(tmp_path, triage="triage") as (app, pilot):
        plan = PlanScreen(OFFER, {"dir": "/dot"})
        app.push_screen(plan)
        await wait_plan(app, pilot)
        await keys(pilot, "b", *"340", "enter")
        assert plan.is_made_again and "made again" in grid(app) and "Enter start" not in grid(app)
        await keys(pilot, "escape")
        assert app.screen is plan and plan.plan is not None and plan.values == {"dir": "/dot"}


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
        monkeypatch.setattr(app, "run_command_then", lambda argv, refused, then: answers.append(then))
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
