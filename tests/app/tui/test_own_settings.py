"""A user's `keys.toml` and `themes.toml` in the state directory."""

import re
from pathlib import Path

import pytest
from textual.binding import Binding

from hostdx.app.tui import own_settings, theme
from hostdx.app.tui.screens.home import HomeScreen
from hostdx.app.tui.screens.recordings import RecordingsScreen
from hostdx.app.tui.screens.run import RunScreen
from hostdx.app.tui.widgets.picker import Picker
from tests.every_case import every_case
from tests.fakes.terminals.screen import keys, run_app

README = Path(own_settings.__file__).with_name("README.md")


def write_setting(place: Path, name: str, text: str) -> None:
    (place / "hostdx").mkdir(exist_ok=True)
    (place / "hostdx" / name).write_text(text)


async def test_a_key_of_ones_own_is_taken_and_the_usual_one_is_free(tmp_path: Path) -> None:
    write_setting(tmp_path, own_settings.KEYS_FILE, 'recordings = "f5"\nback = "Q,f6"\n')
    async with run_app(tmp_path, triage="home") as (app, pilot):
        await keys(pilot, "r")
        assert isinstance(app.screen, HomeScreen)
        await keys(pilot, "f5")
        assert isinstance(app.screen, RecordingsScreen)
        await keys(pilot, "q")
        assert isinstance(app.screen, RecordingsScreen)
        await keys(pilot, "f6")
        assert isinstance(app.screen, HomeScreen)
        key_by_action = {b.binding.action: b.binding.key for b in app.screen.active_bindings.values()}
        assert key_by_action["recordings"] == "f5"  # what the footer and the help are made of


@every_case("text", ["back = 5\n", "back = ''\n", "back =\n", 'back = "\\u001b[2J"\n'])
def test_what_is_no_key_is_told_in_one_line(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    write_setting(tmp_path, own_settings.KEYS_FILE, text)
    with pytest.raises(ValueError, match=own_settings.KEYS_FILE) as error_info:
        own_settings.read_keymap()
    assert "\n" not in str(error_info.value)


async def test_a_broken_file_is_told_and_the_app_opens_with_the_usual_keys(tmp_path: Path) -> None:
    write_setting(tmp_path, own_settings.KEYS_FILE, "recordings = [")
    write_setting(tmp_path, own_settings.THEMES_FILE, '[mine]\ntext = "chartreuse"\n')
    async with run_app(tmp_path, triage="home") as (app, pilot):
        assert own_settings.KEYS_FILE in app.settings_trouble
        assert own_settings.THEMES_FILE in app.settings_trouble
        await keys(pilot, "r")
        assert isinstance(app.screen, RecordingsScreen)


async def test_a_theme_of_ones_own_is_chosen_and_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(theme, "PALETTES", dict(theme.PALETTES))
    write_setting(tmp_path, own_settings.THEMES_FILE, '[mine]\nlike = "hostdx-light"\ncritical = "#aa0011"\n')
    write_setting(tmp_path, theme.KEPT, "mine\n")
    async with run_app(tmp_path, triage="home") as (app, _):
        assert app.theme == "mine" and not app.settings_trouble
        assert not app.get_theme("mine").dark
        theme.role_style.cache_clear()
        color = theme.role_style("mine", "critical").color
        assert color is not None and color.name == "#aa0011"
        assert theme.role_style("mine", "text").color == theme.role_style(theme.LIGHT_NAME, "text").color


@every_case(
    "text",
    [
        '[hostdx-dark]\ntext = "#ffffff"\n',
        '[mine]\ntext = "red"\n',
        '[mine]\ntexts = "#ffffff"\n',
        '[mine]\nlike = "hostdx-terminal"\n',
        '[MINE]\ntext = "#ffffff"\n',
        "mine = 1\n",
    ],
)
def test_what_is_no_theme_is_refused(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setattr(theme, "PALETTES", dict(theme.PALETTES))
    before = set(theme.PALETTES)
    write_setting(tmp_path, own_settings.THEMES_FILE, text)
    assert theme.add_own_themes_or_problem()
    assert set(theme.PALETTES) == before


def test_each_action_has_its_name() -> None:
    for kind in (HomeScreen, RecordingsScreen, Picker):
        bindings = [b for b in kind.BINDINGS if isinstance(b, Binding)]
        assert bindings and all(b.id == b.action for b in bindings)


def test_the_names_in_the_page_are_actions() -> None:
    listed = re.findall(
        "`([a-z_]+)`", README.read_text().partition("Names of actions:")[2].partition("\n- ")[0]
    )
    action_names = {
        b.id for kind in (HomeScreen, RecordingsScreen, RunScreen, Picker) for _, b in kind._merged_bindings
    }
    assert len(listed) > 8 and set(listed) <= action_names
