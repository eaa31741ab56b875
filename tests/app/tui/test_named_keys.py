"""Every key that a screen names in its panels does something there: each such name has the role `KEY`."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from textual.screen import Screen

from hostdx.app.recordings import store
from hostdx.app.terminal.lines import HIGHLIGHT, KEY, TARGET
from hostdx.app.tui.children.feed import RunFeed
from hostdx.app.tui.screens.recordings import RecordingsScreen
from hostdx.app.tui.shell import Shell
from hostdx.app.tui.widgets.keybar import NAMES, KeyBar
from hostdx.app.tui.widgets.panel import Panel
from tests.fakes.streams.story import RECORDINGS
from tests.fakes.terminals.screen import fake_plan, keys, run_app, settle
from tests.needs import one_always

KEYS_BY_NAME = {name: key for key, name in NAMES.items()}
RUNS = (*map(store.resolve_recording, store.list_example_names()), *RECORDINGS.glob("checkup*.jsonl"))
both = pytest.mark.parametrize("size", one_always("narrow", "wide"))


def named_keys(screen: Screen[object]) -> Iterator[tuple[str, str]]:
    """The panel's id and the key, of each key named in what is drawn; the line of keys is made of the bindings."""
    for panel in screen.query(Panel):
        if isinstance(panel, KeyBar) or panel.id == "actions" or not (panel.display and panel.region.area):
            continue
        for line in panel._raw[: panel.size.height]:
            for words, role in line:
                if role.rpartition(TARGET)[2].rstrip(HIGHLIGHT).partition("@")[0] == KEY:
                    yield from ((panel.id or "", name) for name in words.replace(",", " ").split())


def unbound_keys(app: Shell) -> list[tuple[str, str]]:
    bound = {key for key, active in app.screen.active_bindings.items() if active.enabled}
    return [
        (panel, name) for panel, name in named_keys(app.screen) if KEYS_BY_NAME.get(name, name) not in bound
    ]


@both
@pytest.mark.parametrize("path", RUNS, ids=lambda path: path.name)
async def test_on_a_run(path: Path, size: str, tmp_path: Path) -> None:
    """Live at three moments, the verdict, and what Enter opens from each list of it."""
    run = RunFeed(path)
    async with run_app(tmp_path, run=run, size=size) as (app, pilot):
        for share in (0.2, 0.6, 0.95, 1.0):
            if share == 1.0:
                app.run_feed.playback.seek_end()
            else:
                app.run_feed.playback.seek(app.run_feed.playback.end * share)
            app.settle_view()
            await settle(pilot)
            assert not unbound_keys(app), share
        for tabs in range(3):
            await keys(pilot, *["tab"] * tabs, "enter")
            assert not unbound_keys(app), tabs
            await keys(pilot, "escape")


@both
@pytest.mark.parametrize("presses", ["", "f", "r", "tab enter", "question_mark", "u", "2", "3", "4", "1"])
async def test_from_home(presses: str, size: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_plan(monkeypatch, "storage")
    for module in ("requests", "screens.before.directories"):
        monkeypatch.setattr(f"hostdx.app.tui.{module}.run_hostdx", lambda app, argv, then: None)
    async with run_app(tmp_path, triage="home", size=size) as (app, pilot):
        app.left = []
        await keys(pilot, *presses.split())
        assert not unbound_keys(app)


@both
async def test_with_marks_among_the_recordings(size: str, tmp_path: Path) -> None:
    async with run_app(tmp_path, triage="home", size=size) as (app, pilot):
        await keys(pilot, "r")
        assert isinstance(app.screen, RecordingsScreen)
        names = set()
        for key in ("space", "down", "space", "space", "space"):
            await keys(pilot, key)
            assert not unbound_keys(app), key
            names |= {name for _, name in named_keys(app.screen)}
        assert {"Enter", "c", "space"} <= names


@both
async def test_the_keys_of_home_are_found(size: str, tmp_path: Path) -> None:
    """The test sees the keys at all."""
    async with run_app(tmp_path, triage="home", size=size) as (app, _):
        assert {"1", "r"} <= {name for _, name in named_keys(app.screen)}
