"""The list of recordings tells what each found, where, and when; it deletes what was agreed to, and compares."""

from pathlib import Path

import msgspec
import pytest

from hostdx.app.recordings import store
from hostdx.app.tui import theme
from hostdx.app.tui.screens.ask import ChoiceScreen
from hostdx.app.tui.screens.recordings import RecordingsScreen
from hostdx.scenarios.contract import events as ev
from tests.fakes.streams.story import RECORDINGS
from tests.fakes.terminals.screen import grid, keys, run_app, wait
from tests.needs import one_always


@pytest.mark.parametrize("size", one_always("narrow", "wide"))
async def test_the_list_tells_results_and_deletes_only_what_was_agreed_to(size: str, tmp_path: Path) -> None:
    recordings = tmp_path / "hostdx" / "recordings"
    recordings.mkdir(parents=True)
    for name in ("one", "two"):
        first, rest = (RECORDINGS / "storage.jsonl").read_bytes().split(b"\n", 1)
        began = msgspec.json.decode(first, type=ev.Common)
        text = msgspec.structs.replace(began, options={"dir": ["/scratch", "/my data"]})
        (recordings / f"{name}.jsonl").write_bytes(msgspec.json.encode(text) + b"\n" + rest)
        (recordings / f"{name}.log").touch()  # what its runner said goes with it
    async with run_app(tmp_path, triage="triage", size=size) as (app, pilot):
        await keys(pilot, "r")
        screen = app.screen
        assert isinstance(screen, RecordingsScreen)
        await wait(pilot, lambda: not screen._unread)
        rows = grid(app)
        assert "2 recorded here" in rows and "examples" in rows
        assert rows.count("storage ") >= 2 and "! " in rows  # the headline with its severity
        assert "slower than A" in rows and "/scratch : /my data" in rows
        await keys(pilot, "D")
        assert isinstance(app.screen, ChoiceScreen)
        await keys(pilot, "escape")
        assert len(list(recordings.iterdir())) == 4
        await keys(pilot, "delete", "y")
        assert len(list(recordings.iterdir())) == 2 and "deleted" in grid(app)
        await keys(pilot, "end", "D")
        assert isinstance(app.screen, RecordingsScreen)  # an example belongs to the program
        assert len(store.list_example_names()) > 5


async def test_of_two_marks_the_older_is_a_and_the_next_are_b(tmp_path: Path) -> None:
    """The list has the newest on top: marked downwards, an update that cost a fifth was called a gain."""
    async with run_app(tmp_path, triage="triage", size="wide") as (app, pilot):
        await keys(pilot, "r", "space", "j", "space")
        screen = app.screen
        assert isinstance(screen, RecordingsScreen)
        began = {side: screen._listed[key].entry.wall for key, side in screen._marks.items()}
        assert began["A"] < began["B"]
        await keys(pilot, "j", "space")
        assert sorted(screen._marks.values()) == ["A", "B", "B"]
        assert "compare" in grid(app).splitlines()[-1]
        await keys(pilot, "space")
        assert sorted(screen._marks.values()) == ["A", "A", "B"]
        await keys(pilot, "space")
        assert sorted(screen._marks.values()) == ["A", "B"]


async def test_the_chosen_theme_is_kept_and_a_light_ground_is_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with run_app(tmp_path, triage="triage") as (app, pilot):
        assert app.theme == theme.DARK_NAME
        await keys(pilot, "ctrl+t")
        chosen = app.theme
    assert chosen != theme.DARK_NAME
    async with run_app(tmp_path, triage="triage") as (app, _):
        assert app.theme == chosen
    (tmp_path / "hostdx" / theme.KEPT).write_text("no such theme\x1b[2J")
    monkeypatch.setenv("COLORFGBG", "0;15")
    async with run_app(tmp_path, triage="triage") as (app, _):
        assert app.theme == theme.LIGHT_NAME


@pytest.mark.parametrize("size", one_always("narrow", "wide"))
async def test_a_name_is_given_on_the_list_and_what_is_under_the_cursor_is_told_below_it(
    size: str, tmp_path: Path
) -> None:
    recordings = tmp_path / "hostdx" / "recordings"
    recordings.mkdir(parents=True)
    (recordings / "one.jsonl").write_bytes((RECORDINGS / "storage.jsonl").read_bytes())
    async with run_app(tmp_path, triage="triage", size=size) as (app, pilot):
        await keys(pilot, "r")
        screen = app.screen
        assert isinstance(screen, RecordingsScreen)
        await wait(pilot, lambda: not screen._unread)
        table = screen._answers["one.jsonl"].table
        assert table and all(entry.name[:10] in grid(app) for entry in table[:2])
        await keys(pilot, "L", *"new disk", "enter")
        assert store.read_label(recordings / "one.jsonl") == "new disk" and "new disk" in grid(app)
        await keys(pilot, "L", "ctrl+u", "enter")
        assert store.read_label(recordings / "one.jsonl") == "" and "new disk" not in grid(app)
        await keys(pilot, "end", "L")
        assert screen is app.screen  # an example has its name
        blank = [line for line in grid(app).splitlines() if not line.strip(" │")]
        assert len(blank) <= 8
