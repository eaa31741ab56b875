"""Every binding of every screen does what it says, at both sizes."""

import base64
import importlib
import pkgutil
import re
from importlib.metadata import EntryPoint
from pathlib import Path
from types import SimpleNamespace

import msgspec
import pytest
from textual import events
from textual.binding import Binding

from hostdx.app import features
from hostdx.app.recordings import store
from hostdx.app.tui import screens, shell, theme
from hostdx.app.tui.screens import keys as key_screen
from hostdx.app.tui.screens.ask import AskScreen
from hostdx.app.tui.screens.base import Base
from hostdx.app.tui.screens.before.consent import ConsentScreen
from hostdx.app.tui.screens.before.directories import DirectoriesScreen
from hostdx.app.tui.screens.before.options import OptionsScreen
from hostdx.app.tui.screens.before.plan import PlanScreen
from hostdx.app.tui.screens.facts import FactsScreen
from hostdx.app.tui.screens.finding import FindingScreen
from hostdx.app.tui.screens.home import HomeScreen
from hostdx.app.tui.screens.keys import KeysScreen, list_openings
from hostdx.app.tui.screens.live import LiveScreen
from hostdx.app.tui.screens.recordings import RecordingsScreen
from hostdx.app.tui.screens.report import ReportScreen
from hostdx.app.tui.screens.undo import UndoScreen
from hostdx.app.tui.screens.verdict import VerdictScreen
from hostdx.app.tui.shell import Shell
from hostdx.app.tui.widgets.picker import Picker, PickerRow
from hostdx.app.tui.widgets.reader import Reader
from hostdx.scenarios.contract.finding import Finding, Remedy
from tests.every_case import every_case
from tests.fakes.terminals.screen import child_of, fake_plan, feed, grid, keys, run_app, wait, wait_plan
from tests.needs import one_always

SCREENS = (
    HomeScreen, PlanScreen, OptionsScreen, ConsentScreen, LiveScreen, VerdictScreen, FindingScreen, FactsScreen,
    KeysScreen, RecordingsScreen, ReportScreen, UndoScreen,
)  # fmt: skip
BY_STATE = (
    {"start", "wait"},
    {"name", "wait"},
    {"leave", "back"},
    {"start", "name"},
    {"play", "freeze"},
    {"verdict", "final"},
)  # of two with one key, one is there at a time
STEPS = ("step_load", "step_comparison", "step_curve")
MEANINGS = {
    "move": ("move", "scroll", *STEPS, "next_list", "focus_next", "focus_previous"),
    "go on": ("start", "name", "take", "choose", "change", "prove", "zoom", "open", "wait"),
    "sideways": ("select_measure", "move_sideways"),
    "leave": ("back", "leave", "refuse", "later", "clear"),
    "the item of that number": ("ask", "digit"),
    "yes": ("agree", "undo"),
    "more or less": ("longer", "speed"),
    "from the start": ("first", "replay"),
    "the other view": ("verdict", "final", "live"),
}
IN_CONTEXT = {
    "space": {"mark", "freeze", "play"},  # as lists and players have it
    "slash": {"filter", "path"},  # a path begins with it, and such a list has no filter
    "c": {"compare", "copy"},  # two recordings, or commands and a report
    "y": {"yes", "copy_row"},  # a question is open, or a list
    "u": {"yes", "name_keys"},  # it opens what is to be undone; there `y` undoes it, and `u` says so
    "n": {"leave", "jump"},  # a question is open, or a recording
}
both = pytest.mark.parametrize("size", one_always("narrow", "wide"))


def test_every_action_has_words_and_no_key_means_two_things() -> None:
    for screen in (*SCREENS, Shell, Picker, Reader):
        actions: dict[str, str] = {}
        for binding in screen.BINDINGS:
            assert isinstance(binding, Binding) and binding.description, binding
            for key in binding.key.split(","):
                assert key not in actions or {actions[key], binding.action} in (
                    *BY_STATE,
                    {"start", "wait"},
                    {"name", "wait"},
                ), (screen, key)
                actions[key] = binding.action


def test_one_key_means_one_thing_on_every_screen() -> None:
    for package in (screens, features):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if package is screens or module.name.endswith("screen"):
                importlib.import_module(module.name)
    nodes = [*_subclasses(Base), Base, Shell, Picker, Reader]
    means: dict[str, set[str]] = {}
    for node in nodes:
        for binding in node.BINDINGS:
            assert isinstance(binding, Binding)
            for key in binding.key.split(","):
                action = binding.action.partition("(")[0].rpartition(".")[2]
                means.setdefault(key, set()).add(
                    next((m for m, names in MEANINGS.items() if action in names), action)
                )
    assert {"c", "o", "space", "0"} <= means.keys() and len(nodes) > 20
    assert {key: texts for key, texts in means.items() if len(texts) > 1} == IN_CONTEXT


def _subclasses(kind: type) -> list[type[Base]]:
    return [subclass for direct in kind.__subclasses__() for subclass in (direct, *_subclasses(direct))]


@every_case("screen", SCREENS)
def test_every_screen_can_be_left_and_explains_its_keys(screen: type[Base]) -> None:
    keys = {
        key
        for kind in screen.__mro__
        for b in getattr(kind, "BINDINGS", ())
        for key in getattr(b, "key", "").split(",")
    }
    assert {"q", "escape", "question_mark"} <= keys


def test_replay_has_exactly_the_keys_that_were_promised() -> None:
    from hostdx.app.tui.screens.run import RunScreen

    promised = {
        "space": "play", "t": "step_group(1)", "T": "step_group(-1)", "n": "jump(1)", "N": "jump(-1)",
        "colon": "go", "0": "first", "Z": "last", "plus": "speed(1)", "minus": "speed(-1)",
    }  # fmt: skip
    have = {k: b.action for b in RunScreen.BINDINGS if isinstance(b, Binding) for k in b.key.split(",")}
    assert promised.items() <= have.items()


@both
async def test_replay_keys(size: str, tmp_path: Path) -> None:
    async with run_app(tmp_path, run=feed("storage", 0.0), size=size) as (app, pilot):
        play = app.run_feed.playback
        await keys(pilot, "t")
        first = play.position
        assert first > 0
        await keys(pilot, "t", "T")
        assert play.position == first
        await keys(pilot, "n", "n", "n")
        third = play.position
        await keys(pilot, "N")
        assert 0 < play.position < third
        await keys(pilot, "plus", "plus", "equals_sign", "minus")
        assert play.speed == 4 and "4×" in grid(app)
        await keys(pilot, "colon")
        assert isinstance(app.screen, AskScreen)
        await keys(pilot, *"x1", "enter")
        assert isinstance(app.screen, AskScreen) and "write seconds" in grid(app)
        await keys(pilot, "backspace", "backspace", *"0:30", "enter")
        assert play.time == 30.0 and "00:30 / 01:02" in grid(app)
        await keys(pilot, "space")
        assert play.playing
        await keys(pilot, "space")
        assert not play.playing
        assert isinstance(app.screen, LiveScreen)
        await keys(pilot, "Z")
        assert play.is_at_end and isinstance(app.screen, VerdictScreen)
        await keys(pilot, "v")
        assert isinstance(app.screen, LiveScreen)
        await keys(pilot, "v")
        assert isinstance(app.screen, VerdictScreen)
        await keys(pilot, "0")
        assert play.position == len([e for e in play.events if e.t <= 0]) and isinstance(
            app.screen, LiveScreen
        )
        await keys(pilot, "colon", "escape")
        assert play.time == 0.0
        assert "q back" in grid(app)  # nothing runs that could be left running
        await keys(pilot, "f")
        assert isinstance(app.screen, FactsScreen)
        await keys(pilot, "q")
        assert isinstance(app.screen, LiveScreen)


async def test_keys_behind_an_answer_are_for_the_screen_below(tmp_path: Path) -> None:
    """A slow line delivers both in one piece."""
    async with run_app(tmp_path, triage="home") as (app, pilot):
        await keys(pilot, "slash")
        for key in ("enter", "question_mark"):
            app.post_message(events.Key(key, "?" if key == "question_mark" else "\r"))
        await wait(pilot, lambda: isinstance(app.screen, KeysScreen))


@both
async def test_lists_move_filter_and_leave_over_the_edge(size: str, tmp_path: Path) -> None:
    async with run_app(tmp_path, triage="triage", size=size) as (app, pilot):
        scenarios = app.screen.query_one("#scenarios", Picker)
        suspects = app.screen.query_one("#suspects", Picker)
        assert scenarios.has_focus and scenarios.selected_key == "?1"
        await keys(pilot, *["down"] * 9)
        assert scenarios.selected_key.startswith("?figures")
        await keys(pilot, "home", "end")
        assert scenarios.selected_key.endswith("scheduler for a disk")
        await keys(pilot, "home", "up")
        assert scenarios.selected_key == "?1"
        await keys(pilot, "end", "down")
        assert suspects.has_focus and scenarios.selected_key.endswith("scheduler for a disk")
        await keys(pilot, "pagedown")
        assert suspects.selected_key.startswith("fstrim")
        await keys(pilot, "pageup", "down", "tab")
        assert scenarios.has_focus and suspects.selected_key.startswith("rpfilter")
        await keys(pilot, "slash", *"stuck", "enter")
        assert [r.key for r in scenarios.shown_rows] == ["?5"] and "/stuck" in grid(app)
        await keys(pilot, "slash", *"zz")
        assert scenarios.shown_rows == [] and "nothing matches" in grid(app)
        await keys(pilot, "escape")
        assert scenarios.filter == "stuck"


async def test_the_command_that_tries_a_remedy_is_copied_where_it_is_a_setting(tmp_path: Path) -> None:
    remedy = Remedy(title="set it", settings={"vm.swappiness": "10"})
    tried = Finding(id="memory.swappiness", severity="notice", title="swaps", subject="a b", remedy=(remedy,))
    async with run_app(tmp_path, triage="triage") as (app, pilot):
        for finding in (tried, msgspec.structs.replace(tried, remedy=(Remedy(title="none"),))):
            app.copy_to_clipboard("")
            app.push_screen(FindingScreen(finding, app.home_session()))
            await keys(pilot, "P")
            assert app.clipboard.endswith(" prove 'memory.swappiness|a b'") == (finding is tried)


@both
async def test_a_finding_leads_to_the_plan_that_proves_it(
    size: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = fake_plan(monkeypatch, "storage")
    monkeypatch.setattr("hostdx.app.tui.screens.before.directories.run_hostdx", lambda *args: None)
    async with run_app(tmp_path, triage="triage", size=size) as (app, pilot):
        await keys(pilot, "tab", "home", "down", "down", "enter")
        assert isinstance(app.screen, FindingScreen) and app.screen.finding.id == "storage.pcie-link"
        await keys(pilot, "c")
        assert "lspci -vv" in app.clipboard and "OSC 52" in grid(app)
        await keys(pilot, "enter")
        argv = ["storage", "--dir=/var/tmp", "--dir=/scratch"]  # a disk is judged against another one
        assert isinstance(app.screen, PlanScreen) and calls[-1] == argv
        await keys(pilot, "d", "slash", *"b c", "enter")  # a blank is a part of the name
        assert "[A] /var/tmp" in grid(app) and "[B] /scratch" in grid(app) and "[C] /b c" in grid(app)
        await keys(pilot, "enter")
        assert calls[-1] == [*argv, "--dir=/b c"]
        await keys(pilot, "b", "end", *["backspace"] * 3, *"9x", "enter")
        assert isinstance(app.screen, AskScreen) and "is not a valid number" in grid(app)
        await keys(pilot, "backspace", "0", "enter")
        assert calls[-1][-1] == "--budget=90"
        await keys(pilot, "plus")
        assert calls[-1][-1] == "--budget=120" or "--budget" not in " ".join(calls[-1])
        await keys(pilot, "minus", "minus")
        assert calls[-1][-1] == "--budget=60"
        await keys(pilot, "O")
        assert isinstance(app.screen, OptionsScreen)
        await keys(pilot, "slash", *"dir", "enter", "enter")
        assert isinstance(app.screen, DirectoriesScreen)
        await keys(pilot, "escape", "escape", "escape", "x")
        await wait_plan(app, pilot)  # it is asked for anew
        assert "digest" in grid(app) or "line" in grid(app)


@both
async def test_nothing_starts_without_consent(
    size: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs: list[tuple[str, str]] = []
    monkeypatch.setattr("hostdx.app.tui.screens.before.plan.start_planner", lambda argv: child_of("iosched"))
    monkeypatch.setattr(
        Shell, "start_run", lambda self, scenario, argv, plan: runs.append((scenario, plan.digest))
    )
    async with run_app(tmp_path, triage="triage", size=size) as (app, pilot):
        app.open_plan("iosched")
        await wait_plan(app, pilot)
        for no in ("n", "escape", "q"):
            await keys(pilot, "enter")
            assert isinstance(app.screen, ConsentScreen)
            assert "now mq-deadline becomes bfq" in grid(app)
            await keys(pilot, "enter")
            assert isinstance(app.screen, ConsentScreen)
            await keys(pilot, no)
            assert isinstance(app.screen, PlanScreen) and not runs
        plan = app.screen.plan
        assert plan is not None
        await keys(pilot, "enter", "y")
        assert runs == [("iosched", plan.digest)]


async def test_what_cannot_run_here_says_why(tmp_path: Path) -> None:
    async with run_app(tmp_path, triage="triage") as (app, pilot):
        await keys(pilot, "down", "down", "down", "enter")
        text = " ".join(app.message.split())
        assert isinstance(app.screen, HomeScreen) and text.startswith("rpfilter cannot run here: nft is not")
        assert text in " ".join(grid(app).split())
        await keys(pilot, "down")
        assert "cannot run here" not in grid(app)


async def test_copying_goes_out_as_osc_52_and_themes_change(tmp_path: Path) -> None:
    async with run_app(tmp_path, run=feed("storage")) as (app, pilot):
        written: list[str] = []
        app._driver.write = written.append  # type: ignore[union-attr, method-assign]
        await keys(pilot, "c")
        code = base64.b64encode(app.clipboard.encode()).decode()
        assert f"\x1b]52;c;{code}\a" in "".join(written) and "fstab" in app.clipboard
        names = []
        for _ in range(3):
            await keys(pilot, "ctrl+t")
            names.append(app.theme)
        assert len(set(names)) == 3 and all(n.startswith("hostdx-") for n in names)


@both
async def test_the_palette_runs_what_it_lists(size: str, tmp_path: Path) -> None:
    async with run_app(tmp_path, triage="triage", size=size) as (app, pilot):
        await keys(pilot, "ctrl+p", *"all facts", "enter")
        assert isinstance(app.screen, FactsScreen)
        await keys(pilot, "end", "up", "pageup", "home", "down", "pagedown", "escape", "question_mark")
        shown_text = grid(app) + "".join(r.searched for r in app.screen.query_one(Picker).shown_rows)
        for binding in HomeScreen.BINDINGS:
            assert isinstance(binding, Binding)
            if binding.action not in ("attach", "undo"):  # only while something runs, or is left over
                assert binding.description in shown_text
        await keys(pilot, "q")
        assert isinstance(app.screen, HomeScreen)
        app.screen.action_back()  # what q does here; a pilot that waits for an app that has ended waits for ever
    assert app.return_code == 0


async def test_the_palette_opens_what_has_no_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    brought = EntryPoint("strange", "no.such.module:Screen", "hostdx.screens")
    monkeypatch.setattr(key_screen, "external_screens", lambda: (brought,))
    monkeypatch.setattr(shell, "external_screens", lambda: (brought,))
    recording = SimpleNamespace(name="demo:null", scenario="null")
    monkeypatch.setattr(store, "list_recordings", lambda: [recording])
    opened_paths: list[Path] = []
    monkeypatch.setattr(Shell, "open_recording", lambda self, path: opened_paths.append(path))
    names: list[str] = []
    monkeypatch.setattr(Shell, "open_plan", lambda self, scenario: names.append(scenario))
    monkeypatch.setattr(Shell, "offer_undo", lambda self, asked: None)
    async with run_app(tmp_path, triage="triage") as (app, _pilot):
        for action, *_, node in list_openings(app):
            assert await app.run_action(action, node), action  # each is an action that the app has
        assert {offer.id for offer in app.home_session().offers if not offer.blocked} == {*names}
        assert [path.name for path in opened_paths] == ["null.jsonl"]
        assert "strange" in app.message and app.theme == theme.list_themes()[-1].name


@both
async def test_the_mouse_does_what_enter_and_the_keys_do(size: str, tmp_path: Path) -> None:
    async with run_app(tmp_path, triage="triage", size=size) as (app, pilot):
        await keys(pilot, "tab", "down", "down")
        await wait(
            pilot, lambda: app.screen.query_one("#suspects", Picker).selected_key.startswith("storage.")
        )
        await wait(pilot, lambda: "takes a route lookup" in grid(app))
        rows = grid(app).splitlines()
        y = max(n for n, row in enumerate(rows) if "nvme1n1 runs" in row)  # above stands all of it
        other = max(n for n, row in enumerate(rows) if "takes a route lookup" in row)
        for row in (other, y):  # a click on another item only goes there
            await pilot.click(offset=(12, row))
            await keys(pilot)
            assert isinstance(app.screen, HomeScreen)
        await pilot.click(offset=(12, y))
        await keys(pilot)
        assert isinstance(app.screen, FindingScreen) and app.screen.finding.id == "storage.pcie-link"
        x = grid(app).splitlines()[-1].index("q back")
        await pilot.click(offset=(x, app.size.height - 1))
        await keys(pilot)
        assert isinstance(app.screen, HomeScreen)
        suspects = app.screen.query_one("#suspects", Picker)
        before = suspects.selected_key
        suspects.on_mouse_scroll_down()
        assert suspects.selected_key != before


def test_a_list_longer_than_its_room_counts_what_is_out_of_sight() -> None:
    rows = [PickerRow(str(number), lambda _width: [], "") for number in range(30)]
    picker = Picker(id="p", list_rows=lambda: rows)
    picker._key = "20"
    last = picker._list_lines(40, 10, [])[-1]
    assert [int(number) for number in re.findall(r"\d+", "".join(part for part, _ in last))] == [12, 9]
