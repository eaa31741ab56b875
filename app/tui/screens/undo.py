"""What a killed run left behind, and the offer to undo it now."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.widget import Widget

from app.tui.glyphs import clean
from app.tui.hostdx import Outcome, hostdx
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
        Binding("y,u", "undo", "undo all of it now"),
        Binding("q,n,escape", "back", "later"),
    ]
    title_words = "undo"

    def __init__(self, entries: Sequence[tuple[str, str]]) -> None:
        super().__init__()
        self._entries = entries
        self._said = ""

    def body(self) -> Iterable[Widget]:
        yield Reader(self._lines)

    def _lines(self, width: int) -> list[Line]:
        out: list[Line] = [
            text("A run was killed before it could undo what it had changed.", "warning"),
            text("Its journal knows what there was before:", "dim"),
            BLANK,
        ]
        for title, what in self._entries:
            out += wrapped(clean(title), width, "strong", hang=2)
            out += wrapped(clean(what), width, indent=4, hang=2)
        out.append(BLANK)
        if self._said:
            return [*out, *wrapped(self._said, width, "strong")]
        return [
            *out,
            [("y", "key"), (" undoes it now   ", "text"), ("n", "key"), (" leaves it for later", "text")],
        ]

    def on_mount(self) -> None:
        self.query_one(Reader).focus()

    def action_undo(self) -> None:
        def done(outcome: Outcome) -> None:
            self._said = clean(outcome.error) or "Undone; nothing is left over."
            self.shell.left_over = 0 if not outcome.error else self.shell.left_over
            self.show()

        self._said = "undoing"
        self.show()
        hostdx(self.shell, ["undo"], done)
