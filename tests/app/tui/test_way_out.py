"""Esc takes back and never ends the program, Ctrl-C asks while a run is under way, lists move as in a pager."""

from contextlib import nullcontext
from pathlib import Path

import msgspec
import pytest
from textual.css.query import NoMatches

from hostdx.app.terminal.process import process_identity
from hostdx.app.tui.app import open_app
from hostdx.app.tui.children.feed import RunFeed
from hostdx.app.tui.screens.home import HomeScreen
from hostdx.app.tui.screens.keys import KeysScreen
from hostdx.app.tui.screens.live import LiveScreen
from hostdx.app.tui.screens.recordings import RecordingsScreen
from hostdx.app.tui.screens.run import left_changed
from hostdx.app.tui.shell import Shell
from hostdx.app.tui.widgets.picker import Picker
from hostdx.app.undo.change_report import UndoneChange
from hostdx.scenarios.contract import events as ev
from tests.fakes.streams.story import iosched, storage
from tests.fakes.terminals.screen import grid, keys, run_app, settle


def running_feed(tmp_path: Path, story: list[ev.AnyEvent], until: float, *, alive: bool = True) -> RunFeed:
    """The first seconds of a run whose runner is this process, or one that is gone."""
    me = process_identity()
    assert isinstance(story[0], ev.Began)
    if alive:
        story[0] = msgspec.structs.replace(story[0], pid=me.pid, pid_start=me.start, boot_id=me.boot_id)
    path = tmp_path / "r.jsonl"
    path.write_bytes(b"".join(msgspec.json.encode(e) + b"\n" for e in story if e.t <= until))
    run_feed = RunFeed(path, live=True)
    run_feed.playback.seek_end(live=run_feed.is_growing)
    return run_feed


async def test_esc_clears_the_filter_and_never_ends_the_program(tmp_path: Path) -> None:
    async with run_app(tmp_path, triage="triage") as (app, pilot):
        scenarios = app.screen.query_one("#scenarios", Picker)
        await keys(pilot, "slash", *"stuck", "enter")
        assert len(scenarios.shown_rows) == 1  # the question, its scenario beside it
        await keys(pilot, "escape")
        assert scenarios.filter == "" and len(scenarios.shown_rows) > 2
        await keys(pilot, "escape", "escape")
        assert isinstance(app.screen, HomeScreen) and app.is_running and app.return_code is None
        assert "q quits" in grid(app)
        await keys(pilot, "r", "slash", *"demo", "enter", "escape")
        assert isinstance(app.screen, RecordingsScreen)
        await keys(pilot, "escape")
        assert isinstance(app.screen, HomeScreen)


async def test_the_keys_page_keeps_its_filter_until_enter(tmp_path: Path) -> None:
    async with run_app(tmp_path, triage="triage") as (app, pilot):
        await keys(pilot, "question_mark", "slash", *"recordings", "enter")
        assert isinstance(app.screen, KeysScreen)


async def test_enter_twice_on_the_keys_page_takes_no_other_screen_away(tmp_path: Path) -> None:
    async with run_app(tmp_path, triage="triage") as (app, pilot):
        await keys(pilot, "r", "question_mark")
        picker = app.screen.query_one(Picker)
        for _ in range(2):  # a key held down: both before the page is gone
            picker.post_message(Picker.Chosen(picker, "app.focus_next"))
        await settle(pilot)
        assert isinstance(app.screen, RecordingsScreen) and len(app.screen_stack) == 2


@pytest.mark.parametrize("leaving", [True, False])
async def test_a_screen_that_came_too_late_is_a_mistake_only_while_the_program_stays(
    leaving: bool, tmp_path: Path
) -> None:
    with pytest.raises(NoMatches) if not leaving else nullcontext():
        async with run_app(tmp_path, triage="triage") as (app, _):
            if leaving:
                app.exit(0)
            app._handle_exception(NoMatches("of a screen that got no parts"))


async def test_ctrl_c_on_a_run_under_way_asks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stopped: list[int] = []
    run = running_feed(tmp_path, storage(), 20.0)
    monkeypatch.setattr(run, "stop", lambda: stopped.append(1) or "")
    async with run_app(tmp_path, run=run) as (app, pilot):
        assert isinstance(app.screen, LiveScreen) and run.is_growing
        await keys(pilot, "ctrl+c")
        assert app.return_code is None and "leave it running" in " ".join(grid(app).split())
        await keys(pilot, "escape")
        assert isinstance(app.screen, LiveScreen) and not stopped
        await keys(pilot, "ctrl+c", "s")
        assert stopped == [1] and "everything is undone first" in grid(app)
        await keys(pilot, "ctrl+c", "q")
    assert app.return_code == 0 and stopped == [1]


def while_changed() -> tuple[list[ev.AnyEvent], float]:
    """A run and a time at which it has switched a scheduler."""
    story = iosched()
    applied = next(
        e for e in story if isinstance(e, ev.ActionEvent) and e.state == "applied" and e.action.needs_consent
    )
    return story, applied.t


async def test_a_killed_runners_setting_stands_in_red_with_the_key_that_puts_it_back(tmp_path: Path) -> None:
    story, at = while_changed()
    run = running_feed(tmp_path, story, at, alive=False)
    async with run_app(tmp_path, run=run, size="wide") as (app, pilot):
        assert run.dead and left_changed(app.run_feed.session)
        rows = grid(app)
        assert "STILL CHANGED" in rows and "u puts it back now" in rows and "u put it back" in rows
        calls: list[bool] = []
        app.offer_undo = lambda asked_=False, **_: calls.append(True)  # type: ignore[method-assign, misc]
        await keys(pilot, "u")
        assert calls


async def test_what_a_killed_run_left_is_homes_first_suspect(tmp_path: Path) -> None:
    async with run_app(tmp_path, triage="triage") as (app, pilot):
        app.left = [UndoneChange(title="scheduler of sda", state="open", would="write mq-deadline")]
        app.draw()
        await pilot.pause()
        suspects = app.screen.query_one("#suspects", Picker)
        assert suspects.shown_rows[0].key == "left over"
        assert "! critical" in grid(app) and "scheduler of sda" in grid(app) and "u put it back" in grid(app)


@pytest.mark.parametrize("load", [0.0, 1e4])
def test_on_a_busy_host_the_first_screen_does_not_share_the_cpus_with_triage(
    load: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It came after twice the time of a bare app at a load of 8 on two CPUs."""
    begun: list[str] = []

    class Child:
        def __init__(self, argv: list[str]) -> None:
            begun.append(argv[-3])

        def close(self) -> None:
            begun.append("closed")

    def run(self: Shell, mouse: bool = True) -> None:
        assert bool(begun) == (load == 0.0)
        monkeypatch.setattr(Shell, "watch_triage", lambda self: None)
        monkeypatch.setattr(Shell, "look_for_recordings_and_offer_undo", lambda self: None)
        self._finish_start()

    monkeypatch.setattr("os.getloadavg", lambda: (load, load, load))
    for module in ("children.event_child", "requests"):
        monkeypatch.setattr(f"hostdx.app.tui.{module}.EventChild", Child)
    monkeypatch.setattr(Shell, "run", run)
    assert open_app("home") == 0 and begun == ["triage", "closed"]
