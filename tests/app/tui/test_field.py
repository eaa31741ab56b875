"""The line that asks for words: a text field as people know it, at a slow line too."""

from pathlib import Path

import pytest
from textual import events
from textual.widgets import Input

from hostdx.app.tui.screens.ask import AskScreen
from tests.fakes.terminals.screen import grid, keys, run_app, settle

VALUE = "/srv/two words"


@pytest.mark.parametrize(
    ("presses", "value"),
    [
        (("backspace", "x"), "/srv/two wordx"),
        (("home", "delete", "end", "left", "left", "x"), "srv/two worxds"),
        (("ctrl+left", "ctrl+k"), "/srv/two "),
        (("ctrl+w", "x"), "/srv/two x"),
        (("ctrl+u", "x"), "x"),
        (("ctrl+h",), "/srv/two word"),
        (("shift+home", "x"), "x"),
        (("shift+left", "shift+left", "ctrl+x", "home", "ctrl+v"), "ds/srv/two wor"),
        (("x", "up"), VALUE),
    ],
)
async def test_editing_keys(presses: tuple[str, ...], value: str, tmp_path: Path) -> None:
    async with run_app(tmp_path, triage="triage") as (app, pilot):
        answers: list[str | None] = []
        app.push_screen(AskScreen("directory", VALUE), answers.append)
        await keys(pilot, *presses, "enter")
        assert answers == [value]


async def test_keys_that_come_in_one_piece_act_in_their_order(tmp_path: Path) -> None:
    """Also those that come before the field is drawn, and behind the answer."""
    async with run_app(tmp_path, triage="triage") as (app, pilot):
        answers: list[str | None] = []
        app.push_screen(AskScreen("budget", "60"), answers.append)
        pieces = (
            ("backspace", None),
            ("backspace", None),
            ("2", "2"),
            ("0", "0"),
            ("enter", None),
            ("question_mark", "?"),
        )
        for key, character in pieces:
            app.post_message(events.Key(key, character))
        await settle(pilot)
        assert answers == ["20"] and app.screen.title_words == "keys"  # type: ignore[attr-defined]


async def test_a_selection_is_replaced_copied_and_taken_back_by_no_interrupt(tmp_path: Path) -> None:
    async with run_app(tmp_path, triage="triage") as (app, pilot):
        answers: list[str | None] = []
        app.push_screen(AskScreen("budget", "60", replaced=True), answers.append)
        await keys(pilot, "ctrl+c")
        assert app.clipboard == "60" and isinstance(app.screen, AskScreen)
        await keys(pilot, "9", "enter")
        assert answers == ["9"]


async def test_the_mouse_puts_the_cursor_and_selects(tmp_path: Path) -> None:
    async with run_app(tmp_path, triage="triage") as (app, pilot):
        answers: list[str | None] = []
        app.push_screen(AskScreen("directory", VALUE), answers.append)
        await settle(pilot)
        await pilot.click("#field", offset=(4, 0))
        await keys(pilot, "x")
        await pilot.mouse_down("#field", offset=(0, 0))
        await pilot.hover("#field", offset=(5, 0))
        await pilot.mouse_up("#field", offset=(5, 0))
        await keys(pilot, "y", "enter")
        assert answers == ["y/two words"]


@pytest.mark.parametrize(("ascii_only", "shown"), [(False, "/a?b?é[31m"), (True, "/a?b?e[31m")])
async def test_what_is_pasted_or_stood_there_draws_no_harm_and_keeps_its_characters(
    ascii_only: bool, shown: str, tmp_path: Path
) -> None:
    hostile = "/a\u202eb\u0301"
    async with run_app(tmp_path, triage="triage", ascii_only=ascii_only) as (app, pilot):
        answers: list[str | None] = []
        app.push_screen(AskScreen("directory", hostile), answers.append)
        await settle(pilot)
        app.screen.post_message(events.Paste("é\x1b[31m\nsecond line"))
        await settle(pilot)
        assert shown in grid(app)
        assert app.screen.query_one(Input).cursor_blink is False  # it would cost bytes twice a second
        await keys(pilot, "enter")
        assert answers == [hostile + "é[31m"]
