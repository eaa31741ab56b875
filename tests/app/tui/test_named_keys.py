"""Keys that a screen names, keys of the user's own, commands and tasks."""

import ast
import re
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest
from textual.binding import Binding
from textual.pilot import Pilot
from textual.screen import Screen

from hostdx.app.recordings import store
from hostdx.app.terminal.lines import HIGHLIGHT, KEY, TARGET
from hostdx.app.tui import own_settings, theme
from hostdx.app.tui.children.feed import RunFeed
from hostdx.app.tui.screens.before.plan import PlanScreen
from hostdx.app.tui.screens.home import HomeScreen
from hostdx.app.tui.screens.recordings import RecordingsScreen
from hostdx.app.tui.screens.run import RunScreen
from hostdx.app.tui.shell import Shell
from hostdx.app.tui.widgets.keybar import NAMES, KeyBar
from hostdx.app.tui.widgets.panel import Panel
from hostdx.app.tui.widgets.picker import Picker
from tests.every_case import every_case
from tests.fakes.streams.story import RECORDINGS
from tests.fakes.terminals.screen import fake_plan, grid, keys, run_app, settle, wait
from tests.needs import one_always, some_always

KEYS_BY_NAME = {name: key for key, name in NAMES.items()}
RUNS = (*map(store.resolve_recording, store.list_demo_arguments()), *RECORDINGS.glob("checkup*.jsonl"))
OTHERS = ("kernel-5-10", "kernel-6-1")  # the panels of `kernel`
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
@pytest.mark.parametrize(
    "path", some_always([run for run in RUNS if run.stem not in OTHERS], RUNS), ids=lambda path: path.name
)
async def test_on_a_run(path: Path, size: str, tmp_path: Path) -> None:
    """Live at three moments, the verdict, and what Enter opens from each list of it."""
    run = RunFeed(path)
    async with run_app(tmp_path, run=run, size=size) as (app, pilot):
        for share in (0.2, 0.6, 0.95, 1.0):
            if share == 1.0:
                app.run_feed.playback.seek_end()
            else:
                app.run_feed.playback.seek(app.run_feed.playback.end * share)
            app.refresh_after_move()
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
    paragraph = re.split("\n- |\n\n", README.read_text().partition("Names of actions:")[2])[0]
    listed = re.findall("`([a-z_]+)`", paragraph)
    action_names = {
        b.id for kind in (HomeScreen, RecordingsScreen, RunScreen, Picker) for _, b in kind._merged_bindings
    }
    assert len(listed) > 8 and set(listed) <= action_names


SCRIPT = r"""
[ "$2" = --dry-run ] && STATE='"state": "open", "would": "write none back"' || STATE='"state": "reverted"'
printf '{"schema": "hostdx/1", "changes": [{"title": "scheduler of sda: none to bfq", %s}]}' "$STATE"
"""


class Hand:
    """Presses keys, and counts them; `types` what no count is of."""

    def __init__(self, pilot: Pilot[int]) -> None:
        self.pilot = pilot
        self.pressed = 0

    async def presses(self, *names: str) -> None:
        self.pressed += len(names)
        await keys(self.pilot, *names)

    async def types(self, words: str) -> None:
        await keys(self.pilot, *("slash" if letter == "/" else letter for letter in words))


@pytest.fixture
def asked_runs(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The runs that were asked for; none begins."""
    runs: list[list[str]] = []
    monkeypatch.setattr(Shell, "start_run", lambda self, id, options, plan: runs.append([id, *options]))
    fake_plan(monkeypatch, "storage")
    return runs


async def test_why_is_this_host_slow(tmp_path: Path, asked_runs: list[list[str]]) -> None:
    async with run_app(tmp_path, triage="triage", size="wide") as (app, pilot):
        hand = Hand(pilot)
        await hand.presses("1")
        await wait(pilot, lambda: isinstance(app.screen, PlanScreen) and app.screen.is_plan_final)
        await hand.presses("enter")
        assert [run[0] for run in asked_runs] == ["checkup"] and hand.pressed == 2


async def test_did_the_kernel_update_cost_anything(tmp_path: Path) -> None:
    recordings = tmp_path / "hostdx" / "recordings"
    recordings.mkdir(parents=True)
    for name in ("kernel-6-1", "kernel"):  # the newer one stands first
        (recordings / f"{name}.jsonl").write_bytes(store.resolve_recording(f"demo:{name}").read_bytes())
    async with run_app(tmp_path, triage="triage", size="wide") as (app, pilot):
        hand = Hand(pilot)
        await hand.presses("r")
        await wait(pilot, lambda: "2 recorded here" in grid(app))
        await hand.presses("space", "down", "space", "c")
        await wait(pilot, lambda: "6.1.0-" in grid(app) and "6.12." in grid(app) and "20 loads" in grid(app))
        assert hand.pressed <= 5


ROOT = Path(__file__).parents[3]


def test_no_file_of_the_screen_imports_in_a_circle_not_even_for_types() -> None:
    files = {
        f"hostdx.{p.relative_to(ROOT)}"[:-3].replace("/", "."): p for p in (ROOT / "app/tui").rglob("*.py")
    }
    imports: dict[str, set[str]] = {}
    for name, path in files.items():
        nodes = [
            n for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.ImportFrom) and n.module
        ]
        targets = {target for n in nodes for target in (n.module, *(f"{n.module}.{a.name}" for a in n.names))}
        imports[name] = {str(target) for target in targets if target in files} - {name}
    assert sum(map(len, imports.values())) > 150
    TopologicalSorter(imports).prepare()  # raises CycleError with the circle
