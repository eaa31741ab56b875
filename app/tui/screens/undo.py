"""What a killed run left behind, and the offer to undo it now."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.widget import Widget

from app.tui.command import Outcome, hostdx
from app.tui.glyphs import clean
from app.tui.lines import BLANK, Line, text, wrapped
from app.tui.screens.base import Base
from app.tui.widgets.reader import Reader


def open_entries(said: str) -> list[tuple[str, str]]:
    """(title, what would be done) of each open entry, from what `undo --dry-run` prints; empty for nothing to undo."""
    out: list[tuple[str, str]] = []
    for line in said.splitlines():
        title, would, what = line.partition(": would ")
        if would:
            out.append((title, what))
    return out


class UndoScreen(Base):
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "undo", "undo all of it now"),
        Binding("u", "undo", "undo all of it now", show=False),
        Binding("n", "later", "leave it for later"),
    ]
    title_words = "undo"

    def __init__(self, entries: Sequence[tuple[str, str]]) -> None:
        super().__init__()
        self._entries = entries
        self._said = ""  # once it was asked for: how it stands
        self._done: list[str] = []
        self._open = True  # there is something to undo, and nobody is at it

    def body(self) -> Iterable[Widget]:
        yield Reader(self._lines)

    def _lines(self, width: int) -> list[Line]:
        if self._done:
            return self._outcome(width)
        out: list[Line] = [
            text("A run was killed before it could undo what it had changed.", "warning"),
            text("Its journal knows what there was before:", "dim"),
            BLANK,
        ]
        for title, what in self._entries:
            out += wrapped(title, width, "strong", hang=2)
            out += wrapped(what, width, indent=4, hang=2)
        out.append(BLANK)
        if self._said:
            return [*out, *wrapped(self._said, width, "strong")]
        return [
            *out,
            [("y", "key"), (" undoes it now   ", "text"), ("n", "key"), (" leaves it for later", "text")],
        ]

    def _outcome(self, width: int) -> list[Line]:
        out: list[Line] = [text("What the run had changed, and what became of it:", "dim"), BLANK]
        for line in self._done:
            back = line.endswith(": reverted") or ": reverted: " in line
            sign, role = ("✓", "text") if back else ("▲", "warning")
            out += wrapped(f"{sign} {line}", width, role, hang=2)
        return [*out, BLANK, *wrapped(self._said, width, "strong")]

    def on_mount(self) -> None:
        self.query_one(Reader).focus()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return self._open if action in ("undo", "later") else True

    def action_later(self) -> None:
        self.action_back()

    def action_undo(self) -> None:
        def done(outcome: Outcome) -> None:
            self._done = [
                line for line in outcome.output.splitlines() if not line.startswith("nothing to undo")
            ]
            self._said = clean(outcome.error) or "Nothing of it is left to undo."
            self._open = bool(outcome.error)
            self.shell.left_over = (
                max(1, len(self._entries) - len(self._done)) if outcome.error else 0
            )  # one that failed stays in the journal
            if not outcome.error:
                self.shell.left = []
            if self.shell.triage is not None:  # home shows what it found before
                self.shell.read_host()
            self.show()

        self._said, self._open = "undoing", False
        self.show()
        hostdx(self.shell, ["undo"], done)
