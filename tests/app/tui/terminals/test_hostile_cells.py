"""What reaches a terminal, hostile or small."""

import base64
import random
import re
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widget import Widget

from hostdx.app.tui.children.event_child import CommandOutcome, EventChild
from hostdx.app.tui.children.feed import RunFeed
from hostdx.app.tui.screens.before.consent import ConsentScreen
from hostdx.app.tui.screens.before.plan import PlanScreen
from hostdx.app.tui.screens.finding import FindingScreen
from hostdx.app.tui.screens.undo import UndoScreen
from hostdx.app.tui.shell import Shell
from hostdx.app.tui.widgets.panel import Panel
from hostdx.app.undo.change_report import UndoneChange
from hostdx.scenarios.contract import events as ev
from tests.fakes.streams import hostile
from tests.fakes.streams.stories import write
from tests.fakes.streams.story import RECORDINGS, storage
from tests.fakes.terminals.screen import COPY, SIZES, feed, grid, keys, run_app, settle, wait, wait_plan
from tests.fakes.terminals.terminal import Terminal
from tests.needs import one_always, some_always

TALL = (140, 120)  # little is cut off below
HOSTDX = [sys.executable, "-P", "-m", "hostdx.app.cli"]
# what Textual writes on purpose: CSI, the pointer's shape (OSC 22), the clipboard (OSC 52)
_SEQUENCES = re.compile(r"\x1b\[[0-9:;<=>?]*[ !$]*[@-~]|\x1b\]22;[a-z]*\x07|\x1b\]52;c;[A-Za-z0-9+/=]*\x07")
_CLIPBOARD = re.compile(rb"\x1b\]52;c;([A-Za-z0-9+/=]*)\x07")


def said_by(path: Path) -> EventChild:
    return EventChild([COPY, str(path)])


@asynccontextmanager
async def hostile_app(
    tmp_path: Path, size: str, monkeypatch: pytest.MonkeyPatch, **settings: object
) -> AsyncIterator[tuple[Shell, Pilot[int]]]:
    monkeypatch.setitem(SIZES, "tall", TALL)
    async with run_app(tmp_path, size=size, **settings) as (app, pilot):  # type: ignore[arg-type]
        yield app, pilot


def is_harmless(app: Shell) -> bool:
    """Whether hostile text is there to be seen; fails where it is more than that."""
    screen = grid(app)
    assert hostile.find_leaks(screen) == [], f"{type(app.screen).__name__}: {screen!r:.2000}"
    assert all(strip.cell_length <= app.size.width for strip in app.screen._compositor.render_strips())
    return "\\x1b" in screen


@pytest.mark.parametrize(
    "stream_and_size",
    one_always(
        ("done", "tall"),
        ("interrupted", "narrow"),
        ("storage", "tall"),
        ("iosched", "narrow"),
        ("dstate", "narrow"),
    ),
)
async def test_run_screens(
    stream_and_size: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream, size = stream_and_size
    is_own = stream in ("done", "interrupted")
    events = hostile.stream(stream) if is_own else hostile.attack(RECORDINGS / f"{stream}.jsonl")  # type: ignore[arg-type]
    path = hostile.write(tmp_path / "hostdx" / "recordings" / "r.jsonl", events)
    async with hostile_app(tmp_path, size, monkeypatch, run=RunFeed(path)) as (app, pilot):
        for at in (0.0, 3.5, 1e6):
            for view in ("live", "verdict"):
                app.run_feed.playback.seek(at)
                app.show_run(view)
                await settle(pilot)
                assert is_harmless(app) or at == 0.0
        await keys(pilot, "f")
        assert is_harmless(app) or not app.run_feed.session.facts
        await keys(pilot, "escape", "question_mark")
        is_harmless(app)
        await keys(pilot, "escape")
        if size == "tall":
            await keys(pilot, "o")
            await wait(pilot, lambda: type(app.screen).__name__ == "ReportScreen")
            assert is_harmless(app)
            texts: list[str] = []
            monkeypatch.setattr(app, "copy_to_clipboard", texts.append)
            await keys(pilot, "c")
            assert texts and hostile.find_leaks(texts[0]) == []
            await keys(pilot, "escape")
        for finding in list(app.run_feed.session.findings.values())[:3]:
            app.push_screen(FindingScreen(finding, app.run_feed.session))
            await settle(pilot)
            assert is_harmless(app)
            await keys(pilot, "escape")


@pytest.mark.parametrize(
    "stream_and_size", one_always(("made", "narrow"), ("made", "tall"), ("triage", "tall"))
)
async def test_home_plan_and_the_rest(
    stream_and_size: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream, size = stream_and_size
    events = hostile.stream() if stream == "made" else hostile.attack(RECORDINGS / "triage.jsonl")
    path = hostile.write(tmp_path / "hostdx" / "recordings" / "r.jsonl", events)
    monkeypatch.setattr("tests.fakes.terminals.screen.child_of", lambda _name: said_by(path))
    monkeypatch.setattr("hostdx.app.tui.screens.before.plan.start_planner", lambda _argv: said_by(path))
    async with hostile_app(tmp_path, size, monkeypatch, triage="triage") as (app, pilot):
        assert is_harmless(app)
        for key in ("f", "r", "ctrl+p"):
            await keys(pilot, key)
            assert is_harmless(app) or key == "ctrl+p"
            while len(app.screen_stack) > 1:
                await keys(pilot, "escape")
        for finding in list(app.home_session().findings.values())[:2]:
            app.push_screen(FindingScreen(finding, app.home_session()))
            await settle(pilot)
            assert is_harmless(app)
            await keys(pilot, "escape")
        for offer in app.home_session().offers[:3]:
            app.open_plan(offer.id)
            await settle(pilot)
            assert is_harmless(app)
            while len(app.screen_stack) > 1:
                await keys(pilot, "escape")


async def test_plan_consent_and_undo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = hostile.write(tmp_path / "r.jsonl", hostile.stream())
    monkeypatch.setattr("hostdx.app.tui.screens.before.plan.start_planner", lambda _argv: said_by(path))
    monkeypatch.setattr("tests.fakes.terminals.screen.child_of", lambda _name: said_by(path))
    async with hostile_app(tmp_path, "tall", monkeypatch, triage="triage") as (app, pilot):
        home = app.home_session()
        home.offers[:] = [
            ev.ScenarioOffer(t=0.0, id="free", title=hostile.ATTACK, question=hostile.ATTACK, takes_s=1.0,
                     options=tuple(o for offer in home.offers for o in offer.options if not o.required)),
        ]  # fmt: skip
        app.open_plan("free")
        await wait_plan(app, pilot)
        for key in ("", "x", "O"):
            await keys(pilot, *filter(None, [key]))
            assert is_harmless(app)
        app.push_screen(ConsentScreen(hostile.plan()))
        await settle(pilot)
        assert is_harmless(app)
        app.push_screen(UndoScreen([UndoneChange(title=hostile.ATTACK, state="open", would=hostile.ATTACK)]))
        await settle(pilot)
        assert is_harmless(app)
        app.show_message(hostile.ATTACK)
        await settle(pilot)
        assert is_harmless(app)


@pytest.mark.real
def test_what_reaches_a_terminal(tmp_path: Path) -> None:
    path = hostile.write(tmp_path / "r.jsonl", hostile.stream())
    places = {"XDG_STATE_HOME": str(tmp_path), "XDG_RUNTIME_DIR": str(tmp_path / "run")}
    terminal = Terminal([*HOSTDX, "replay", str(path), "--speed", "64"], (160, 60), places, may_fork=True)
    try:
        terminal.wait("verdict")
        terminal.expect(lambda: "at the end" in terminal.content, "the end")
        for key, words in (
            ("f", "FACTS"),
            ("q", "at the end"),
            ("v", "verdict"),
            ("?", "KEYS"),
            ("q", "verdict"),
        ):
            terminal.press(key)
            terminal.wait(words)
        terminal.press("o")
        terminal.wait("save")
        terminal.press("c")
        terminal.wait("sent to the terminal")
    finally:
        terminal.close()
    raw = bytes(terminal.raw)
    assert hostile.find_leaks(_SEQUENCES.sub("", raw.decode()).replace("\r", "")) == []
    (text,) = _CLIPBOARD.findall(raw)
    on_clipboard = base64.b64decode(text).decode()
    assert "owned" in on_clipboard and hostile.find_leaks(on_clipboard) == []
    assert raw.count(b"]0;owned") > 3  # as letters: it was there to be seen


KEYS = (
    "down", "up", "pagedown", "end", "home", "tab", "shift+tab", "enter", "escape", "space", "question_mark",
    "slash", "f", "r", "u", "p", "o", "v", "y", "n", "s", "j", "J", "ctrl+p", "left", "right", "plus", "1",
)  # fmt: skip


async def nothing_said(argv: Sequence[str], _timeout_s: float = 0) -> CommandOutcome:
    return CommandOutcome("", f"{argv[0]} is not asked here")


@pytest.mark.parametrize("height", some_always((24, 15, 12), range(12, 25)))
@pytest.mark.parametrize("start", ["home", "run"])
async def test_any_keys_at_any_height(
    start: str, height: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(SIZES, "small", (80, height))
    monkeypatch.chdir(tmp_path)  # p saves pictures
    monkeypatch.setattr(
        "hostdx.app.run.launch.start_runner", lambda *_, **__: pytest.fail("a run was started")
    )
    monkeypatch.setattr("hostdx.app.run.launch.stop_runner", lambda *_: pytest.fail("a run was stopped"))
    monkeypatch.setattr("hostdx.app.tui.children.event_child.run_command", nothing_said)
    monkeypatch.setattr(
        "hostdx.app.tui.screens.before.plan.start_planner", lambda _argv: EventChild(["true"])
    )
    rng = random.Random(f"{start}{height}")
    settings = {"triage": "triage"} if start == "home" else {"run": feed("storage", 3.0)}
    async with run_app(tmp_path, size="small", **settings) as (app, pilot):  # type: ignore[arg-type]
        for _ in range(12):
            await keys(pilot, rng.choice([key for key in KEYS if start == "home" or key not in ("s",)]))
            if app._exit:
                break
            assert max(len(row) for row in grid(app).splitlines()) <= 80


@pytest.mark.parametrize("key", ["enter", "y", "s", "u"])
async def test_no_key_acts_on_what_is_not_shown(
    key: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(SIZES, "small", (80, 18))
    done: list[object] = []
    monkeypatch.setattr("hostdx.app.tui.screens.undo.run_hostdx", lambda *arguments: done.append(arguments))
    async with run_app(tmp_path, size="small", triage="triage") as (app, pilot):
        app.push_screen(UndoScreen([UndoneChange(title="set", state="open", would="write it back")]))
        await keys(pilot, key)
        assert done == [] and isinstance(app.screen, UndoScreen) and "60x20" in grid(app)
        app.push_screen(
            PlanScreen(ev.ScenarioOffer(t=0, id="null", title="t", question="q", takes_s=1.0), {})
        )
        await keys(pilot, key)
        assert isinstance(app.screen, PlanScreen)
        await keys(pilot, "q", "q")
        assert app.screen.title_words == "hostdx" or len(app.screen_stack) == 1


async def test_a_crash_is_one_line_and_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def raise_error(*_: object) -> Widget:
        secret = "hunter2"
        raise RuntimeError(f"two\nlines {len(secret)}")

    path = write(tmp_path / "r.jsonl", storage())
    with pytest.raises(RuntimeError, match="two"):
        async with run_app(tmp_path, run=RunFeed(path)) as (app, pilot):
            monkeypatch.setattr(Panel, "redraw", raise_error)
            await keys(pilot, "v", "f")
    (report,) = (tmp_path / "hostdx" / "bugs").iterdir()
    text = "".join(capsys.readouterr())
    assert "hunter2" not in text + report.read_text() and text.count("Traceback") == 0
    assert app.return_code == 3 and "RuntimeError" in report.read_text()
