"""Every action of a screen with its key, made from the bindings: the help (`?`) and the command palette in one list."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING

from textual.binding import Binding
from textual.screen import Screen
from textual.widget import Widget

from hostdx.app.feature import external_screens
from hostdx.app.recordings import store as recordings
from hostdx.app.terminal.lines import Line
from hostdx.app.tui import theme
from hostdx.app.tui.screens.base import Base
from hostdx.app.tui.widgets.keybar import NAMES, key_name
from hostdx.app.tui.widgets.panel import Box
from hostdx.app.tui.widgets.picker import Picker, PickerRow
from hostdx.app.tui.widgets.word_list import WordList

if TYPE_CHECKING:
    from hostdx.app.tui.commands import ShellCommands

MAX_RECENT = 8  # recordings in the palette; the list has all


def _key_line(keys: str, words: str, _width: int) -> Line:
    return [(f"{keys:<14}", "key"), (words, "text")]


def list_actions(screen: Screen[object]) -> list[tuple[str, str, str, object]]:
    """(action, keys, words, the node that has it), each action once: the screen's own before what holds everywhere."""
    keys_by_action: dict[str, tuple[list[str], str, object]] = {}
    for active in screen.active_bindings.values():
        binding = active.binding
        if not binding.description or binding.system or binding.action == "screen.copy_text":
            continue
        keys, _, _ = keys_by_action.setdefault(binding.action, ([], binding.description, active.node))
        if binding.key in NAMES or len(binding.key) < 12:  # not the rarer spellings of other keyboards
            keys.append(key_name(binding.key))
    common = {binding.action for binding in Base.BINDINGS if isinstance(binding, Binding)}
    actions = [
        (action, " ".join(keys), words, node) for action, (keys, words, node) in keys_by_action.items()
    ]
    return sorted(
        actions,
        key=lambda entry: 2 if entry[3] is screen.app else entry[3] is not screen or entry[0] in common,
    )


def list_openings(app: ShellCommands) -> list[tuple[str, str, str, object]]:
    """What has no key on the screen, as `list_actions`: scenarios, recordings, undo, themes, others' screens."""
    offers = app.home_session().offers
    recent = recordings.list_recordings()[:MAX_RECENT]
    return [
        *((f"app.scenario({o.id!r})", "run", f"{o.id}: {o.title}", app) for o in offers if not o.blocked),
        *((f"app.recorded({e.name!r})", "open", f"{e.name}  {e.scenario}", app) for e in recent),
        ("app.undo_left", "undo", "what a killed run left behind", app),
        *(
            (f"app.use_theme({own_theme.name!r})", "theme", own_theme.name, app)
            for own_theme in theme.list_themes()
        ),
        *((f"app.external_screen({e.name!r})", "screen", e.name, app) for e in external_screens()),
    ]


class KeysScreen(Base):
    """Enter does what is under the cursor, on the screen that it was opened from. The help also has the words."""

    DEFAULT_CSS = """
    KeysScreen #actions { height: 1fr; }
    KeysScreen WordList { height: auto; max-height: 40%; margin: 1 0 0 0; }
    KeysScreen.-wide.-palette #actions { width: 100%; }
    KeysScreen.-wide #parts { layout: horizontal; }
    KeysScreen.-wide #actions { width: 50%; padding: 0 3 0 0; }
    KeysScreen.-wide WordList { width: 50%; height: 1fr; max-height: 100%; margin: 0; }
    """

    BINDINGS = [Binding("slash", "filter", "filter", priority=True)]
    title_words = "keys"

    def __init__(self, about: Screen[object], *, as_palette: bool = False) -> None:
        super().__init__()
        self._about = about
        self._as_palette = as_palette
        self._actions = [*list_actions(about), *(list_openings(self.shell) if as_palette else ())]
        if as_palette:
            self.add_class("-palette")
            self.filter_hint = "Enter runs it, Esc shows all"

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return action != "keys"

    def compose_body(self) -> Iterable[Widget]:
        title = getattr(self._about, "title_words", "") or "this screen"
        rows = [
            PickerRow(action, partial(_key_line, keys, words), f"{keys} {words}", name=keys)
            for action, keys, words, _ in self._actions
        ]
        with Box(id="parts"):
            yield Picker(id="actions", title=f"KEYS  {title}", list_rows=lambda: rows)
            if not self._as_palette:
                yield WordList()

    def on_mount(self) -> None:
        if self._as_palette:
            self.action_filter()

    def confirm_filter(self) -> None:
        """The palette: Enter runs what stands under the cursor, at once."""
        if self._as_palette:
            self._as_palette = False
            self.query_one("#actions", Picker).action_choose()

    def on_picker_chosen(self, event: Picker.Chosen) -> None:
        if not self.is_current:  # Enter came twice, or Esc after it: this is not the screen to be taken away
            return
        node = next(n for action, _, _, n in self._actions if action == event.key)
        self.app.pop_screen()  # not awaited: this handler runs in the screen that is being taken away
        self.app.call_later(self.app.run_action, event.key, node)
