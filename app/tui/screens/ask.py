"""One question on the last line: a filter, a time, a directory, a number. The field is Textual's own.

It never has the focus: the screen takes each key and hands it on. Textual's field takes letters at once and its editing
keys only after they have bubbled up through bindings, so that what a slow line delivers in one piece is reordered
(`⌫⌫20⏎` became the empty text).
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import takewhile
from typing import TYPE_CHECKING, TypeAlias, cast

import msgspec
from rich.highlighter import Highlighter
from rich.text import Text
from textual import events
from textual.app import App, ComposeResult
from textual.binding import Binding
from textual.screen import ModalScreen
from textual.widgets import Input

from hostdx.app.terminal.glyphs import ascii_text, clean_text
from hostdx.app.terminal.lines import Line, cell_width, wrap_text
from hostdx.app.tui.children.event_child import CommandOutcome, run_hostdx
from hostdx.app.tui.widgets.panel import Box, DrawnPanel, Panel
from hostdx.probes.reading.lossless_json import Decoder

if TYPE_CHECKING:
    from hostdx.app.tui.commands import ShellCommands

Completer: TypeAlias = Callable[[str, Callable[[str, str], None]], None]
EDITING = {binding.key: binding.action for binding in Binding.make_bindings(Input.BINDINGS)}
EDITING["ctrl+h"] = EDITING["backspace"]  # what some terminals send for it
STEPS = {"up": -1, "down": 1}
NONE_SUCH = "no directory begins like that"
TAKEN_BY_THE_APP = ("ctrl+c", "ctrl+q")


class Words(Panel):
    def __init__(self, words: str) -> None:
        super().__init__(id="hint")
        self.words, self.role = words, "dim"

    def draw(self, width: int, height: int) -> list[Line]:
        return wrap_text(self.words, width - 1, self.role, indent=1)


class HarmlessCells(Highlighter):
    """Each character as one that does no harm in a terminal; the value itself stays."""

    def __init__(self, *, ascii_only: bool) -> None:
        self._ascii_only = ascii_only

    def highlight(self, text: Text) -> None:
        shown = (char if clean_text(char) == char else "?" for char in text.plain)
        text.plain = "".join(ascii_text(char)[:1] if self._ascii_only else char for char in shown)


class AskScreen(ModalScreen[str | None]):
    """Gives the text, None for Esc. `changed` is called at every keystroke; `check` says what is wrong with it;
    `complete` is asked at Tab and gives the words as far as they are certain, and the choices beyond that. Up and Down
    `move` the cursor of a list, or bring back the value that stood there at first."""

    DEFAULT_CSS = """
    AskScreen { background: transparent; align: left bottom; layout: vertical; }
    AskScreen > Box { height: 1; layout: horizontal; background: $background; }
    AskScreen Input.-textual-compact {
        width: 1fr; background: $background; color: $foreground; background-tint: transparent;
        & > .input--cursor, & > .input--selection { background: $background; color: $primary; text-style: reverse; }
    }
    AskScreen > Words { height: auto; max-height: 4; }
    """
    AUTO_FOCUS = ""  # no widget has the focus: every key comes here, in order

    def __init__(
        self,
        question: str,
        value: str = "",
        *,
        hint: str = "Enter accepts, Esc cancels",
        changed: Callable[[str], None] | None = None,
        check: Callable[[str], str] | None = None,
        complete: Completer | None = None,
        replaced: bool = False,
        move: Callable[[int], None] | None = None,
    ) -> None:
        """`replaced`: the value that stands there is selected, so the first letter takes its place."""
        super().__init__()
        self._first_value, self._is_selected = value, replaced
        head: Line = [(f" {question}: ", "title")]
        self._question = DrawnPanel(lambda _width, _height: [head], id="question")
        self._question.styles.width = cell_width(head)
        self._hint = Words(hint)
        cells = HarmlessCells(ascii_only=cast("ShellCommands", self.app).ascii_only)
        self._field = Input(value, id="field", highlighter=cells, compact=True)
        self._field.can_focus, self._field.cursor_blink = False, False  # a blinking cursor costs 1.9 kB/s
        self._changed, self._check, self._complete, self._move = changed, check, complete, move
        self._answered = False
        self._later_keys: list[events.Key] = []  # typed behind the answer: they are for the screen below

    def compose(self) -> ComposeResult:
        yield self._hint
        with Box():
            yield self._question
            yield self._field

    def on_mount(self) -> None:
        self._field.has_focus = True  # it draws its cursor
        if self._is_selected:
            self._field.select_all()

    def on_unmount(self) -> None:
        for event in self._later_keys:
            self.app.post_message(events.Key(event.key, event.character))

    async def on_key(self, event: events.Key) -> None:
        if event.key in TAKEN_BY_THE_APP and not self._field.selected_text:
            return
        event.stop()
        event.prevent_default()
        if self._answered:
            self._later_keys.append(event)
        elif event.key == "escape":
            self._give_answer(None)
        elif event.key == "enter":
            self._answer_if_valid()
        elif event.key == "tab" and self._complete is not None:
            asked = self._field.value
            self._complete(asked, lambda words, choices: self._apply_completion(asked, words, choices))
        elif event.key in STEPS and self._move is not None:
            self._move(STEPS[event.key])
        elif event.key in STEPS:
            self._set_value(self._first_value)
        elif event.character is not None and event.is_printable:
            self._replace_selection(event.character)
        elif event.key in EDITING:
            await self._field.run_action(EDITING[event.key])
            self._call_changed()

    def on_paste(self, event: events.Paste) -> None:
        event.stop()
        self._replace_selection("".join(filter(str.isprintable, takewhile(lambda c: c != "\n", event.text))))

    def _replace_selection(self, text: str) -> None:
        """In place of what is selected."""
        field = self._field
        start, end = sorted(field.selection)
        if self._complete is not None and field.value[:start].endswith("/"):
            text = text.lstrip(
                "/"
            )  # the field begins with a slash, and people type paths from their first slash
        field.replace(text, start, end)
        self._call_changed()

    def _set_value(self, value: str) -> None:
        self._field.value, self._field.cursor_position = value, len(value)
        self._call_changed()

    def _call_changed(self) -> None:
        if self._changed is not None:
            self._changed(self._field.value)

    def _apply_completion(self, asked: str, words: str, choices: str) -> None:
        """`choices` where there are several; nothing where something else was typed meanwhile."""
        if self._answered or self._field.value != asked:
            return
        if choices:
            self._hint.words, self._hint.role = choices, "dim"
        self._hint.refresh(layout=True)
        self._hint.redraw()
        self._set_value(words)

    def _answer_if_valid(self) -> None:
        wrong = self._check(self._field.value) if self._check is not None else ""
        if wrong:
            self._hint.words, self._hint.role = wrong, "warning"
            self._hint.redraw()
        else:
            self._give_answer(self._field.value)

    def _give_answer(self, value: str | None) -> None:
        self._answered = True
        self.dismiss(value)


class ChoiceScreen(ModalScreen[str | None]):
    """A question with a few keys as answers. Gives the key; None for Esc. Other keys do nothing."""

    DEFAULT_CSS = """
    ChoiceScreen { background: transparent; align: left bottom; layout: vertical; }
    ChoiceScreen > Words { height: auto; max-height: 4; }
    """
    AUTO_FOCUS = ""

    def __init__(self, question: str, ways: dict[str, str], otherwise: str) -> None:
        super().__init__()
        self._ways = ways
        answers = " · ".join(f"{key} {meaning}" for key, meaning in ways.items())
        self._words = Words(f"{question}  {answers} · {otherwise}")
        self._words.role = "warning"
        self._answered = False

    def compose(self) -> ComposeResult:
        yield self._words

    def on_key(self, event: events.Key) -> None:
        event.stop()
        event.prevent_default()
        if not self._answered and (event.key in self._ways or event.key == "escape"):
            self._answered = True
            self.dismiss(event.key if event.key in self._ways else None)


class Completion(msgspec.Struct, frozen=True):
    text: str
    choices: list[str]


def complete_directory(app: App[object], hint: str, words: str, then: Callable[[str, str], None]) -> None:
    """In a child: a directory on a mount that does not answer would hold the screen. `hint`: where it is complete."""

    def show_completion(outcome: CommandOutcome) -> None:
        if not outcome.error:
            completion = Decoder(Completion).decode(outcome.output.encode())
            certain = NONE_SUCH if completion.text == words else hint
            then(completion.text, "  ".join(map(clean_text, completion.choices)) or certain)

    run_hostdx(app, ["places", f"--complete={words}"], show_completion)
