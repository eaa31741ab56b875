"""A pane of a few rows: nothing acts unseen, nothing crashes, and a crash would be one line."""

import random
from collections.abc import Sequence
from pathlib import Path

import pytest
from textual.widget import Widget

from hostdx.app.tui.children.event_child import CommandOutcome, EventChild
from hostdx.app.tui.children.feed import RunFeed
from hostdx.app.tui.screens.before.plan import PlanScreen
from hostdx.app.tui.screens.undo import UndoScreen
from hostdx.app.tui.widgets.panel import Panel
from hostdx.app.undo.change_report import UndoneChange
from hostdx.scenarios.contract import events as ev
from tests.fakes.streams.stories import write
from tests.fakes.streams.story import storage
from tests.fakes.terminals.screen import SIZES, feed, grid, keys, run_app
from tests.needs import some_always

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
