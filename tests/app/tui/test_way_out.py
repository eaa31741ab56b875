"""Leaving the app, undoing, and the children that it follows."""

import inspect
import os
import signal
import sys
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

import msgspec
import pytest
from textual.css.query import NoMatches

from hostdx.app.run import launch
from hostdx.app.terminal.failure import Failure
from hostdx.app.terminal.process import boot_id, process_identity
from hostdx.app.tui.app import open_app
from hostdx.app.tui.children.event_child import EventChild, run_command
from hostdx.app.tui.children.feed import RunFeed
from hostdx.app.tui.screens.home import HomeScreen
from hostdx.app.tui.screens.keys import KeysScreen
from hostdx.app.tui.screens.live import LiveScreen
from hostdx.app.tui.screens.recordings import RecordingsScreen
from hostdx.app.tui.screens.run import actions_not_undone
from hostdx.app.tui.screens.undo import UndoScreen
from hostdx.app.tui.shell import Shell
from hostdx.app.tui.widgets.picker import Picker
from hostdx.app.undo.change_report import UndoneChange
from hostdx.probes.reading.process_stat import read_start_ticks
from hostdx.scenarios.contract import events as ev
from tests.every_case import every_case
from tests.fakes.streams.story import iosched, storage
from tests.fakes.terminals.screen import grid, keys, run_app, settle, wait
from tests.needs import one_always
from tests.soak import bursts, pilot


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
        assert run.dead and actions_not_undone(app.run_feed.session)
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
        self._after_first_screen()

    monkeypatch.setattr("os.getloadavg", lambda: (load, load, load))
    for module in ("children.event_child", "requests"):
        monkeypatch.setattr(f"hostdx.app.tui.{module}.EventChild", Child)
    monkeypatch.setattr(Shell, "run", run)
    assert open_app("home") == 0 and begun == ["triage", "closed"]


SCRIPT = r"""
told() { printf '{"schema": "hostdx/1", "changes": [%s]}' "$1"; }
SDA='"title": "scheduler of sda: none to bfq"' SDB='"title": "scheduler of sdb: none to bfq"'
OWN='"title": "private directory under /data"'
if [ "$2" = --dry-run ]; then
  BACK='"state": "open", "would": "write none back"'
  told "{$SDA, $BACK}, {$SDB, $BACK}, {$OWN, \"state\": \"open\", \"would\": \"remove the directory\"}"
elif [ -e tried ]; then
  told "{$SDA, \"state\": \"reverted\"}"
else
  touch tried
  WHY='"state": "kept", "reason": "somebody else changed it to kyber"'
  told "{$OWN, \"state\": \"reverted\", \"reason\": \"the reboot has undone it\"}, {$SDB, $WHY},
        {$SDA, \"state\": \"failed\", \"reason\": \"it hangs\"}"
  echo 'hostdx: undo: scheduler of sda: none to bfq: failed: it hangs; it stays in the journal' >&2
  exit 3
fi
"""


@pytest.mark.parametrize("size", one_always("narrow", "wide"))
async def test_a_failure_is_told_and_can_be_tried_again(
    size: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "hostdx" / "journal").mkdir(parents=True)
    (tmp_path / "hostdx" / "journal" / "j.jsonl").write_text("{}\n")
    monkeypatch.setattr("hostdx.app.tui.children.event_child.HOSTDX", ("sh", "-c", SCRIPT, "sh"))
    monkeypatch.setattr(Shell, "read_host", lambda self: None)
    monkeypatch.chdir(tmp_path)
    async with run_app(tmp_path, triage="triage", size=size) as (app, pilot):
        await wait(pilot, lambda: "A run was killed" in grid(app))
        await keys(pilot, "y")
        await wait(pilot, lambda: "it stays in the journal" in grid(app))
        rows = grid(app)
        assert "✓ private directory under /data" in rows
        assert "▲ scheduler of sdb: none to bfq: kept: somebody else" in rows
        assert "Nothing is left to undo." not in rows and "y undo all of it now" in rows
        await keys(pilot, "n")
        assert "1 change not undone" in grid(app)
        await keys(pilot, "u")
        await wait(pilot, lambda: "A run was killed" in grid(app))
        await keys(pilot, "y")
        await wait(pilot, lambda: "✓ scheduler of sda: none to bfq: reverted" in grid(app))
        assert "Nothing is left to undo." in grid(app) and "y undo" not in grid(app)
        await keys(pilot, "q")
        assert "not undone" not in grid(app)


FORGET = r"""
if [ "$2" = --forget ]; then echo "$3 $4" >> forgotten; exit 0; fi
if [ -e forgotten ]; then echo '{"schema": "hostdx/1", "changes": []}'; exit 0; fi
echo '{"schema": "hostdx/1", "changes": [
  {"title": "scheduler of sda", "state": "open", "would": "write none back", "id": "run-1#2"},
  {"title": "MTU of eth0", "state": "open", "would": "write 1500 back", "id": "run-1#1"},
  {"title": "timer of the nights", "state": "kept", "reason": "on purpose", "on_purpose": true, "id": "run-0#1"}]}'
"""


async def test_forgetting_is_asked_once_more_and_leaves_what_was_made_to_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "hostdx" / "journal").mkdir(parents=True)
    (tmp_path / "hostdx" / "journal" / "j.jsonl").write_text("{}\n")
    monkeypatch.setattr("hostdx.app.tui.children.event_child.HOSTDX", ("sh", "-c", FORGET, "sh"))
    monkeypatch.setattr(Shell, "read_host", lambda self: None)
    monkeypatch.chdir(tmp_path)
    async with run_app(tmp_path, triage="triage", size="wide") as (app, pilot):
        await wait(pilot, lambda: isinstance(app.screen, UndoScreen))
        assert "timer of the nights" in grid(app)
        await keys(pilot, "X", "escape")
        assert not (tmp_path / "forgotten").exists() and len(app.left) == 2
        await keys(pilot, "X", "y")
        await wait(pilot, lambda: not app.left)
        assert (tmp_path / "forgotten").read_text() == "run-1 --yes\n"  # once a run, and not the timer
        assert not app.screen.check_action("undo", ()) and "timer of the nights" in grid(app)


async def test_the_page_of_undo_opens_where_nothing_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "hostdx.app.tui.children.event_child.HOSTDX",
        ("sh", "-c", 'echo \'{"schema": "hostdx/1", "changes": []}\'', "sh"),
    )
    async with run_app(tmp_path, triage="triage", size="narrow") as (app, pilot):
        app.action_undo_left()
        await wait(pilot, lambda: isinstance(app.screen, UndoScreen))
        assert "journal" in grid(app)
        assert not app.screen.check_action("undo", ()) and not app.screen.check_action("forget", ())


def encode_lines(events: list[ev.AnyEvent]) -> bytes:
    return b"".join(msgspec.json.encode(e) + b"\n" for e in events)


def test_follows_a_recording_while_it_grows_by_half_lines(tmp_path: Path) -> None:
    run = storage()
    start = msgspec.structs.replace(
        run[0], pid=os.getpid(), pid_start=read_start_ticks(os.getpid()) or 0, boot_id=boot_id()
    )
    data = encode_lines([start, *run[1:]])
    path = tmp_path / "r.jsonl"
    path.write_bytes(data[:5000])
    feed = RunFeed(path, live=True)
    assert feed.is_growing and feed.playback.live
    for end in range(5000, len(data) + 3000, 3000):
        path.write_bytes(data[:end])
        feed.poll()
    while feed.poll():
        pass
    assert feed.session.count == len(run) and feed.session.ended is not None
    assert not feed.is_growing and not feed.playback.live
    feed.close()


def test_a_refused_runner_is_quoted(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    feed = RunFeed(path, live=True, awaited=True)
    launch.runner_log_path(path).write_text("progress\nhostdx: run storage: tmpfs is no disk\n")
    assert feed.refusal_text() == "hostdx: run storage: tmpfs is no disk"


@every_case(
    "content",
    [b"", b"not json\n", b'{"type":"pulse","t":0,"load1":1,"cpu":0}\n', b"\xff\xfe\n", b"[" * 5000 + b"\n"],
)
def test_what_is_no_recording_is_one_line(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(content)
    if not content:
        assert RunFeed(path).session.count == 0
        return
    with pytest.raises(Failure) as failure:
        RunFeed(path)
    assert "line 1" in failure.value.text and "\n" not in failure.value.text


def test_a_runner_started_by_the_app_is_in_a_session_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = "import os,sys; open(sys.argv[-1],'w').write(f'{os.getsid(0)} {os.getpid()} {sys.argv[1:]}')"
    monkeypatch.setattr(launch, "HOSTDX", (sys.executable, "-c", code))
    path = tmp_path / "r.jsonl"
    child = launch.start_runner("storage", ["--dir=/a b"], digest="", recording=path)
    assert child.wait(20) == 0
    session, pid, argv = path.read_text().split(" ", 2)
    assert session == pid == str(child.pid) != str(os.getsid(0))
    assert argv.startswith("['run', 'storage', '--dir=/a b', ")
    assert launch.runner_log_path(path).stat().st_mode & 0o077 == 0


def test_closing_ends_a_child_that_still_runs() -> None:
    child = EventChild(["sleep", "60"])
    pid = child._process.pid
    child.close()
    child.close()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, signal.SIGCONT)


@every_case("stand_in", [bursts.answer_late, pilot.answer_at_once])
def test_a_stand_in_takes_what_the_command_takes(stand_in: Callable[..., object]) -> None:
    for call in (
        inspect.signature(run_command).bind(["undo"]),
        inspect.signature(run_command).bind(["undo"], 1.0),
    ):
        inspect.signature(stand_in).bind(*call.args)
