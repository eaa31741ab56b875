"""One question on the last line: a filter, a time, a directory, a number."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.screen import ModalScreen
from textual.widgets import Input

from app.tui.lines import Line, text
from app.tui.widgets.panel import Panel


class Words(Panel):
    def __init__(self, words: str, role: str, *, id: str) -> None:
        super().__init__(id=id)
        self.words, self.role = words, role

    def draw(self, width: int, height: int) -> list[Line]:
        return [text(self.words, self.role)]


class AskScreen(ModalScreen[str | None]):
    """Gives the text, None for Esc. `changed` is called at every keystroke; `check` says what is wrong with it."""

    DEFAULT_CSS = """
    AskScreen { background: transparent; align: left bottom; }
    AskScreen > #hint { dock: bottom; height: 1; offset: 0 -1; padding: 0 1; }
    AskScreen > Horizontal { dock: bottom; height: 1; background: $background; }
    AskScreen #question { width: auto; min-width: 8; max-width: 40%; padding: 0 1; }
    AskScreen Input, AskScreen Input:focus {
        border: none; height: 1; padding: 0; width: 1fr; background: $background; color: $foreground;
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "give_up", "back")]

    def __init__(
        self,
        question: str,
        value: str = "",
        *,
        hint: str = "Enter takes it, Esc leaves it as it was",
        changed: Callable[[str], None] | None = None,
        check: Callable[[str], str] | None = None,
    ) -> None:
        super().__init__()
        self._question, self._value, self._hint = question, value, hint
        self._changed, self._check = changed, check

    def compose(self) -> ComposeResult:
        yield Words(self._hint, "dim", id="hint")
        with Horizontal():
            question = Words(f"{self._question}:", "title", id="question")
            question.styles.width = len(self._question) + 3
            yield question
            field = Input(self._value, id="field", compact=True, select_on_focus=False)
            field.cursor_blink = False  # 1.9 kB/s
            yield field

    def on_mount(self) -> None:
        self.query_one(Input).focus()

    def on_input_changed(self, event: Input.Changed) -> None:
        if self._changed is not None:
            self._changed(event.value)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        wrong = self._check(event.value) if self._check is not None else ""
        if wrong:
            hint = self.query_one("#hint", Words)
            hint.words, hint.role = wrong, "warning"
            hint.redraw()
            return
        self.dismiss(event.value)

    def action_give_up(self) -> None:
        self.dismiss(None)
