"""One question on the last line: a filter, a time, a directory, a number.

An editor of its own: Textual's input field takes letters at once and backspace or Enter only after they have bubbled up
through bindings, so that what a slow line delivers in one piece is reordered (`⌫⌫20⏎` became the empty text).
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import takewhile
from typing import TypeAlias

from rich.cells import cell_len
from textual import events
from textual.app import ComposeResult
from textual.screen import ModalScreen

from hostdx.app.terminal.glyphs import clean_text
from hostdx.app.terminal.lines import HIGHLIGHT, Line, wrap_text
from hostdx.app.tui.widgets.panel import Panel

Completer: TypeAlias = Callable[[str, Callable[[str, str], None]], None]


class Words(Panel):
    def __init__(self, words: str) -> None:
        super().__init__(id="hint")
        self.words, self.role = words, "dim"

    def draw(self, width: int, height: int) -> list[Line]:
        return wrap_text(self.words, width - 1, self.role, indent=1)


class Field(Panel):
    """The question, the words so far, and where the next letter goes."""

    def __init__(self, question: str, value: str) -> None:
        super().__init__(id="field")
        self.question, self.value, self.cursor = question, value, len(value)

    def draw(self, width: int, height: int) -> list[Line]:
        head = f" {self.question}: "
        room = max(4, width - cell_len(head) - 1)
        start = 0
        while cell_len(clean_text(self.value[start : self.cursor])) >= room:
            start += 1
        before, at = (
            clean_text(self.value[start : self.cursor]),
            clean_text(self.value[self.cursor : self.cursor + 1]),
        )
        after = clean_text(self.value[self.cursor + 1 :])
        return [[(head, "title"), (before, "text"), (at or "_", "accent" + HIGHLIGHT), (after, "text")]]

    def edit_text(self, key: str, character: str | None) -> bool:
        """One key; False for one that means nothing here."""
        left, right = self.value[: self.cursor], self.value[self.cursor :]
        match key:
            case "backspace" | "ctrl+h":
                left = left[:-1]
            case "delete":
                right = right[1:]
            case "left":
                left, right = left[:-1], left[-1:] + right
            case "right":
                left, right = left + right[:1], right[1:]
            case "home" | "ctrl+a":
                left, right = "", left + right
            case "end" | "ctrl+e":
                left, right = left + right, ""
            case "ctrl+u":
                left = ""
            case "ctrl+w":
                left = left.rstrip().rpartition(" ")[0]
            case _ if character is not None and character.isprintable():
                left += character
            case _:
                return False
        self.value, self.cursor = left + right, len(left)
        return True


class AskScreen(ModalScreen[str | None]):
    """Gives the text, None for Esc. `changed` is called at every keystroke; `check` says what is wrong with it;
    `complete` is asked at Tab and gives the words as far as they are certain, and the choices beyond that. Up and Down
    bring back the value that stood there at first."""

    DEFAULT_CSS = """
    AskScreen { background: transparent; align: left bottom; layout: vertical; }
    AskScreen > Field { height: 1; }
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
    ) -> None:
        """`replaced`: the first letter takes the place of the value that stands there, until another key moved it."""
        super().__init__()
        self._is_replaced = replaced and bool(value)
        self._first_value = value
        self._hint = Words(hint)
        self._field = Field(question, value)
        self._changed, self._check, self._complete = changed, check, complete
        self._answered = False
        self._later_keys: list[events.Key] = []  # typed behind the answer: they are for the screen below

    def compose(self) -> ComposeResult:
        yield self._hint
        yield self._field

    def on_unmount(self) -> None:
        for event in self._later_keys:
            self.app.post_message(events.Key(event.key, event.character))

    def on_key(self, event: events.Key) -> None:
        if event.key in ("ctrl+c", "ctrl+q"):
            return
        event.stop()
        event.prevent_default()
        if self._answered:
            self._later_keys.append(event)
        elif event.key == "escape":
            self._give_answer(None)
        elif event.key == "enter":
            self._submit_value()
        elif event.key == "tab" and self._complete is not None:
            asked = self._field.value
            self._complete(asked, lambda words, choices: self._apply_completion(asked, words, choices))
        elif event.key in ("up", "down"):
            self._restore_value()
        elif self._edit_field(event.key, event.character):
            self._report_edit()

    def _edit_field(self, key: str, character: str | None) -> bool:
        if self._is_replaced and character is not None and character.isprintable():
            self._field.edit_text("ctrl+u", None)
        self._is_replaced = False
        if (
            character == "/"
            and self._complete is not None
            and self._field.value[: self._field.cursor].endswith("/")
        ):
            return False  # the field begins with a slash, and people type paths from their first slash
        return self._field.edit_text(key, character)

    def _restore_value(self) -> None:
        self._field.value = self._first_value
        self._field.cursor = len(self._field.value)
        self._report_edit()

    def on_paste(self, event: events.Paste) -> None:
        event.stop()
        for character in takewhile(lambda c: c != "\n", event.text):
            self._edit_field("", character)
        self._report_edit()

    def _report_edit(self) -> None:
        self._field.redraw()
        if self._changed is not None:
            self._changed(self._field.value)

    def _apply_completion(self, asked: str, words: str, choices: str) -> None:
        """`choices` where there are several; nothing where something else was typed meanwhile."""
        if self._answered or self._field.value != asked:
            return
        self._field.value, self._field.cursor = words, len(words)
        if choices:
            self._hint.words, self._hint.role = choices, "dim"
        self._hint.refresh(layout=True)
        self._hint.redraw()
        self._report_edit()

    def _submit_value(self) -> None:
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
