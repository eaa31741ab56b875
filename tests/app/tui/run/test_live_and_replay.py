"""The live screen and the replay."""

import os
import re
import signal
import threading
from pathlib import Path

import msgspec
import pytest

from hostdx.app.recordings import store
from hostdx.app.recordings.playback import Playback
from hostdx.app.recordings.reader import read_events
from hostdx.app.recordings.session import RunSession
from hostdx.app.terminal.glyphs import ascii_text, clean_text, wants_ascii
from hostdx.app.terminal.lines import Line
from hostdx.app.terminal.process import process_identity
from hostdx.app.tui.app import prepare_environment
from hostdx.app.tui.children.feed import RunFeed
from hostdx.app.tui.screens.before.plan import PlanScreen
from hostdx.app.tui.screens.live import LiveScreen
from hostdx.app.tui.screens.verdict import VerdictScreen
from hostdx.app.tui.widgets.measuring.forest import describe_outlook
from hostdx.app.tui.widgets.measuring.graphs import block_graph_lines
from hostdx.app.tui.widgets.measuring.group_plot import WAY, PlotSubject, group_plot_lines, pair_ratios
from hostdx.app.tui.widgets.measuring.standing import list_standings
from hostdx.app.tui.widgets.measuring.variants import leading_metric_and_unit
from hostdx.app.tui.widgets.picker import Picker
from hostdx.scenarios.contract import events as ev
from tests import screenshots
from tests.every_case import every_case
from tests.fakes.streams.stories import HOSTILE, hostile_run
from tests.fakes.streams.story import RECORDINGS, iosched, storage
from tests.fakes.terminals.screen import (
    fake_plan,
    feed,
    grid,
    keys,
    run_app,
    set_environment,
    settle,
    wait_plan,
)


def without_transport(screen: str) -> str:
    """Before the end, the line that tells live from replay may differ, and the keys that go with it."""
    return "\n".join(screen.splitlines()[:-2])


@pytest.mark.parametrize(("story", "size"), [(storage, "narrow"), (iosched, "wide"), (hostile_run, "narrow")])
async def test_a_replay_at_full_speed_ends_on_the_live_screen_cell_for_cell(
    story: object, size: str, tmp_path: Path
) -> None:
    run: list[ev.AnyEvent] = story()  # type: ignore[operator]
    me = process_identity()
    assert isinstance(run[0], ev.Began)
    run[0] = msgspec.structs.replace(run[0], pid=me.pid, pid_start=me.start, boot_id=me.boot_id)
    path = tmp_path / "r.jsonl"
    lines = [msgspec.json.encode(e) + b"\n" for e in run]
    half = len(lines) // 2
    path.write_bytes(b"".join(lines[:half]))
    live = RunFeed(path, live=True)
    async with run_app(tmp_path, run=live, size=size) as (app, pilot):
        assert isinstance(app.screen, LiveScreen) and "● live" in grid(app)
        midway = without_transport(grid(app))
        with path.open("ab") as file:
            for start in range(
                half, len(lines), 40
            ):  # as a runner writes: some at a time, the screen drawn between
                file.write(b"".join(lines[start : start + 40]))
                file.flush()
                app.run_feed.poll()
                app.refresh_after_move()
                await pilot.pause()
        await settle(pilot)
        at_end = grid(app)
        feed = RunFeed(path, speed=float("inf"))
        app.switch_to_feed(feed)
        feed.playback.seek(run[half - 1].t)
        app.refresh_after_move()
        await settle(pilot)
        if feed.playback.position == half:
            assert without_transport(grid(app)) == midway
        await keys(pilot, "0", "space")
        while feed.playback.playing:
            await pilot.pause(0.02)
        await settle(pilot)
        assert isinstance(app.screen, VerdictScreen)
        assert grid(app) == at_end and "‖ at the end" in at_end
        await keys(pilot, "minus")
        assert "speed 64×" in grid(app)


async def test_too_small_says_so_and_a_resize_keeps_the_place(tmp_path: Path) -> None:
    async with run_app(tmp_path, triage="triage") as (app, pilot):
        await keys(pilot, "tab", "home", "down", "down")
        picker = app.screen.query_one("#suspects", Picker)
        chosen = picker.selected_key
        for size in ((59, 24), (80, 19), (10, 5)):
            await pilot.resize_terminal(*size)
            await settle(pilot)
            assert "60x20"[: size[0]] in grid(app) or size[0] < 20
            assert "SUSPECTS" not in grid(app)
        for size in ((60, 20), (120, 40), (200, 60), (80, 24)):
            await pilot.resize_terminal(*size)
            await settle(pilot)
            rows = grid(app)
            assert "SUSPECTS" in rows and len(rows.splitlines()) <= size[1]
            assert picker.has_focus and picker.selected_key == chosen
            row = next(line for line in rows.splitlines() if "▸" in line)
            assert "x2 of x4" in row or "nvme1n1" in row
    async with run_app(tmp_path, run=feed("storage", 30.0)) as (app, pilot):
        for size in ((60, 20), (300, 80), (61, 21), (110, 32), (80, 24)):
            await pilot.resize_terminal(*size)
            await settle(pilot)
            assert "00:30 / 01:02" in grid(app)


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGTERM])
async def test_a_closed_terminal_ends_the_app_and_leaves_the_runner(
    number: signal.Signals, tmp_path: Path
) -> None:
    signals: list[int] = []
    async with run_app(tmp_path, run=feed("storage", 30.0)) as (app, pilot):
        app.run_feed.stop = lambda: signals.append(1) or ""  # type: ignore[method-assign, func-returns-value]
        os.kill(os.getpid(), number)
        await pilot.pause(0.05)
        [last_resort] = [thread for thread in threading.enumerate() if isinstance(thread, threading.Timer)]
        last_resort.cancel()
    assert signals == []
    status = 0 if number == signal.SIGHUP else 143
    assert app.return_code == status
    assert (last_resort.function, tuple(last_resort.args)) == (os._exit, (status,))


def test_an_ssh_line_gets_fewer_frames_and_nothing_moves_by_itself() -> None:
    names = ("TEXTUAL_FPS", "TEXTUAL_ANIMATIONS", "TEXTUAL_SMOOTH_SCROLL")
    with set_environment(SSH_CONNECTION="1 2 3 4", **dict.fromkeys(names)):
        prepare_environment()
        assert os.environ["TEXTUAL_FPS"] == "10" and os.environ["TEXTUAL_ANIMATIONS"] == "none"
    with set_environment(
        SSH_CONNECTION=None, TEXTUAL_FPS=None, TEXTUAL_ANIMATIONS="basic", TEXTUAL_SMOOTH_SCROLL=None
    ):
        prepare_environment()
        assert "TEXTUAL_FPS" not in os.environ and os.environ["TEXTUAL_ANIMATIONS"] == "basic"


@every_case(
    ("values", "expected"),
    [
        ({"LC_ALL": "C", "TERM": "xterm-256color"}, True),
        ({"LC_ALL": "POSIX", "TERM": "xterm-256color"}, True),
        ({"LC_ALL": "de_DE.ISO-8859-1", "TERM": "xterm"}, True),
        ({"LC_ALL": "C.UTF-8", "TERM": "xterm-256color"}, False),
        ({"LC_ALL": "en_US.utf8", "TERM": "tmux-256color"}, False),
        ({"LC_ALL": "C.UTF-8", "TERM": "linux"}, True),
    ],
)
def test_where_the_terminal_cannot_draw_more(
    values: dict[str, str], expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Utf8:
        encoding = "utf-8"

    monkeypatch.setattr("sys.__stderr__", Utf8())
    for name in ("LC_ALL", "LC_CTYPE", "LANG"):
        monkeypatch.delenv(name, raising=False)
    for name, value in values.items():
        monkeypatch.setenv(name, value)
    assert wants_ascii() is expected


def test_text_of_the_host_is_harmless() -> None:
    text = clean_text(HOSTILE)
    assert "\x1b" not in text and "\x00" not in text and "\u202e" not in text and "\\x1b[2J" in text
    assert all(ord(c) >= 32 for c in text)
    assert ascii_text(text).isascii()
    assert clean_text("e\u0301") == "é" and ascii_text("é") == "e" and ascii_text("日") == "??"
    assert clean_text("\ud800") == "\\ud800"
    assert not any(b in (RECORDINGS / "hostile.jsonl").read_bytes() for b in (b"\x1b", b"\x00"))


def test_plot_title_estimate_and_time_left_are_of_the_same_load() -> None:
    """At the change of loads the head said the next one while plot and estimate still showed the last."""
    run = feed("storage")
    titles = {w.id: w.title for w in run.session.plan.workloads} if run.session.plan else {}
    session, changes = RunSession(), 0
    for event in run.playback.events:
        session.apply(event)
        if isinstance(event, ev.RunStep) and event.state == "started" and event.id in titles:
            changes += 1
            assert session.workload == event.id
            assert (
                session.current_progress is None or session.current_progress.step == event.id
            )  # no time left of the last one
            assert len(block_graph_lines(session, session.workload, 120, 12)) == 1
            assert not list_standings(session, session.workload)
        if isinstance(event, ev.Block) and session.ended is None:
            assert len(block_graph_lines(session, session.workload, 120, 12)) > 1
    assert changes > 2


@every_case(
    ("interval", "words", "dim"),
    [
        ((0.06, 12.0), "inconclusive so far", True),
        ((0.81, 1.19), "inconclusive so far  19 % slower to 19 % faster", True),
        ((0.4, 1.4), "inconclusive so far  2.5 × slower to 40 % faster", True),
        ((0.72, 0.9), "19 % slower so far  10 to 28 %", False),
    ],
)
def test_no_direction_before_the_interval_allows_one(
    interval: tuple[float, float], words: str, dim: bool
) -> None:
    session = RunSession()
    session.workload = "reads"
    session.apply(
        ev.RunningEstimate(
            t=1.0, workload="reads", metric="IOPS", baseline="A", variant="B", groups=5, ratio=0.81, ci95=interval
        )
    )  # fmt: skip
    session.workload = "reads"
    [effect] = list_standings(session, "reads")
    assert f"{effect.words}  {effect.figures}".rstrip() == words
    assert (effect.role == "dim") is dim


MAX_ERROR_FACTOR, MAX_ERROR_S = 3.0, 15.0  # a run may be decided after a quarter of its budget
RUNS = tuple(name for name in screenshots.RUNS if name != "workload")  # whose estimate at 60 % is far too low


RUNS_WITH_WORDS = ("storage", "rpfilter", "iosched", "null", "workload")


def session_at(demo: str, seconds: float) -> RunSession:
    play = Playback()
    play.extend(list(read_events(store.resolve_recording(f"demo:{demo}"))))
    play.seek(seconds)
    return play.session


def text_of(lines: list[Line]) -> str:
    return "\n".join("".join(part for part, _ in line).rstrip() for line in lines)


@every_case("demo", RUNS_WITH_WORDS)
def test_the_next_look_is_never_one_that_is_over(demo: str) -> None:
    """`12 of at most 48 groups … next interim look after 10 groups`: of a pair that had been decided before."""
    play = Playback()
    play.extend(list(read_events(store.resolve_recording(f"demo:{demo}"))))
    count = 0
    for second in range(int(play.end)):
        play.seek(float(second))
        session = play.session
        match = re.search(r"after (\d+) groups", describe_outlook(session))
        if match:
            count += 1
            counted = [g for g in session.groups.get(session.workload, ()) if not g.disturbed]
            assert int(match[1]) > len(counted), second
    assert count or demo == "null"


@every_case("width", [58, 78, 118, 198])
@every_case("demo", ["storage", "rpfilter", "iosched"])
def test_a_plot_of_ratios_always_says_which_way_is_slower(demo: str, width: int) -> None:
    session = session_at(demo, {"storage": 60.0, "rpfilter": 12.0, "iosched": 300.0}[demo])
    chosen = PlotSubject(session.workload, leading_metric_and_unit(session, session.workload)[0])
    ratios = pair_ratios(session, *chosen)
    title, *_, foot = group_plot_lines(session, chosen.workload, ratios, chosen.metric, width, 12)
    assert text_of([title]).count(ratios[0].baseline) == 1 and ("…" not in text_of([title]) or width == 58)
    assert WAY in text_of([foot]) and "group" in text_of([foot])


async def test_a_plan_on_a_broad_screen_has_its_steps_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_plan(monkeypatch, "storage")
    async with run_app(tmp_path, triage="triage", size="huge") as (app, pilot):
        app.open_plan("storage")
        await wait_plan(app, pilot)
        first = grid(app).splitlines()[1]
        assert "Is one of these disks slower" in first[:111] and first[111:].strip() == "STEPS"
        assert "fio" in "".join(row[111:] for row in grid(app).splitlines())
        await keys(pilot, "x")
        assert grid(app).splitlines()[1].strip() == "STEPS"
        await keys(pilot, "x")
        assert isinstance(app.screen, PlanScreen) and "compares" in grid(app)
        await pilot.resize_terminal(120, 40)
        await keys(pilot)
        assert "STEPS" not in grid(app).splitlines()[1]


async def test_a_run_that_was_killed_is_not_playing_and_has_no_time_left(tmp_path: Path) -> None:
    lines = (RECORDINGS / "storage.jsonl").read_text("utf-8").splitlines(keepends=True)
    (path := tmp_path / "killed.jsonl").write_text("".join(lines[: len(lines) * 2 // 3]), "utf-8")
    run = RunFeed(path)
    run.playback.seek_end()
    assert run.dead
    async with run_app(tmp_path / "state", run=run) as (app, _pilot):
        screen = grid(app)
    assert " left" not in screen and "cut off after" in screen and "▶ 1×" not in screen
