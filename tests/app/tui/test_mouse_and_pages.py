"""What people expect of lists and texts in any program: pages, the wheel, text that the mouse selects."""

from pathlib import Path
from typing import Any

import pytest
from textual import events
from textual._compositor import Compositor
from textual.widgets import Input

from hostdx.app.tui.screens.facts import FactsScreen
from hostdx.app.tui.screens.home import HomeScreen
from hostdx.app.tui.widgets.picker import Picker
from hostdx.app.tui.widgets.reader import Reader
from tests.fakes.terminals.screen import grid, keys, run_app, settle


async def drag(pilot: Any, start: tuple[int, int], end: tuple[int, int]) -> None:
    """As a terminal tells it, so that Textual makes a click of its end."""
    for kind, (x, y) in ((events.MouseDown, start), (events.MouseMove, end), (events.MouseUp, end)):
        pilot.app.post_message(kind(None, x, y, 0, 0, 1, False, False, False, screen_x=x, screen_y=y))
        await settle(pilot)


@pytest.mark.parametrize("size", ["narrow", "wide"])
async def test_ctrl_c_copies_what_the_mouse_has_selected(size: str, tmp_path: Path) -> None:
    async with run_app(tmp_path, triage="triage", size=size) as (app, pilot):
        await keys(pilot, "f")
        rows = grid(app).splitlines()
        await drag(pilot, (2, 4), (9, 5))
        await keys(pilot, "ctrl+c")
        assert app.clipboard.splitlines() == [rows[4][2:], rows[5][1:10].rstrip()]
        assert isinstance(app.screen, FactsScreen) and not app.screen.selections and app.return_code is None
        await drag(pilot, (2, 4), (9, 4))
        await keys(pilot, "escape")
        assert isinstance(app.screen, FactsScreen) and not app.screen.selections
        await keys(pilot, "escape")
        assert isinstance(app.screen, HomeScreen)


async def test_a_frame_is_not_copied_and_a_drag_chooses_nothing(tmp_path: Path) -> None:
    async with run_app(tmp_path, triage="triage", size="wide") as (app, pilot):
        scenarios = app.screen.query_one("#scenarios", Picker)
        before, region = scenarios.selected_key, scenarios.region
        await drag(pilot, (region.x + 6, region.y + 2), (region.x + 20, region.y + 3))
        assert scenarios.selected_key == before and isinstance(app.screen, HomeScreen)
        await keys(pilot, "ctrl+c")
        first, second = app.clipboard.splitlines()
        assert "│" not in app.clipboard and len(first) > 20 and len(second) > 10
        await keys(pilot, "home")  # the keys take the place of the message
        last = app.size.height - 1
        keys_at = grid(app).splitlines()[last].index("f all facts")
        await drag(pilot, (2, last), (keys_at, last))
        assert isinstance(app.screen, HomeScreen) and app.screen.selections


@pytest.mark.parametrize("no_color", [False, True])
async def test_a_selection_and_a_field_are_seen_without_colours(no_color: bool, tmp_path: Path) -> None:
    async with run_app(tmp_path, triage="triage", no_color=no_color) as (app, pilot):
        await keys(pilot, "f")
        await drag(pilot, (2, 4), (9, 4))
        row = app.screen.query_one(Reader).render_line(4 - app.screen.query_one(Reader).region.y)
        reversed_text = "".join(part.text for part in row if part.style is not None and part.style.reverse)
        assert reversed_text == grid(app).splitlines()[4][2:10]
        await keys(pilot, "escape", "slash", "x")
        field = app.screen.query_one(Input).render_line(0)
        assert any(part.style is not None and part.style.reverse for part in field)


async def test_page_keys_move_by_what_is_seen(tmp_path: Path) -> None:
    async with run_app(tmp_path, triage="triage") as (app, pilot):
        scenarios = app.screen.query_one("#scenarios", Picker)
        visible = len(set(scenarios._items) - {-1})
        await keys(pilot, "pagedown")
        assert scenarios.index == visible - 1
        await keys(pilot, "pagedown", "pagedown", "pagedown", "pagedown")
        assert scenarios.has_focus and scenarios.index == len(scenarios.shown_rows) - 1
        await keys(pilot, "pageup", "pageup", "pageup", "pageup", "f")
        last = grid(app).splitlines()[-3]
        await keys(pilot, "pagedown")
        reader = app.screen.query_one(Reader)
        assert last == grid(app).splitlines()[reader.region.y] and scenarios.index == 0


async def test_arrows_choose_while_a_filter_is_typed(tmp_path: Path) -> None:
    async with run_app(tmp_path, triage="triage") as (app, pilot):
        scenarios = app.screen.query_one("#scenarios", Picker)
        await keys(pilot, "slash", "d", "i", "down", "down", "up")
        assert scenarios.filter == "di" and scenarios.index == 1
        await keys(pilot, *["down"] * 30)
        assert scenarios.index == len(scenarios.shown_rows) - 1  # it stays in the list that is filtered
        await keys(pilot, "enter")
        assert scenarios.filter == "di" and scenarios.has_focus


async def test_a_question_and_the_screen_below_it_take_a_new_size(tmp_path: Path) -> None:
    async with run_app(tmp_path, triage="triage", size="wide") as (app, pilot):
        await keys(pilot, "slash", "d")
        await pilot.resize_terminal(80, 24)
        await settle(pilot)
        small = grid(app)
        await pilot.resize_terminal(120, 40)
        await settle(pilot)
        wide = grid(app)
        await pilot.resize_terminal(80, 24)
        await settle(pilot)
        assert grid(app) == small and len(wide.splitlines()) == 40
        assert all(text.splitlines()[-1] == " filter: d" for text in (small, wide))


async def test_below_a_question_only_what_changed_is_painted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A letter of a filter cost 42 kB: all of the screen."""
    painted: list[int] = []
    paint = Compositor.render_update

    def count_cells(compositor: Compositor, *args: Any, **options: Any) -> Any:
        painted.append(sum(region.area for region in compositor._dirty_regions))
        return paint(compositor, *args, **options)

    async with run_app(tmp_path, triage="triage", size="wide") as (app, pilot):
        await keys(pilot, "slash", "d")
        monkeypatch.setattr(Compositor, "render_update", count_cells)
        await keys(pilot, "down")
        assert painted and max(painted) < app.size.area / 4
