"""What a killed run left behind, and the offer to undo it now."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec
from textual.binding import Binding
from textual.widget import Widget

from app.terminal.lines import BLANK, Line, text_line, wrap_text
from app.tui.children.command import CommandOutcome, run_hostdx
from app.tui.screens.base import Base
from app.tui.widgets.reader import Reader
from app.undo.change_report import ChangeReport, UndoneChange

LOOK = ("undo", "--dry-run", "--json")


def parse_changes(outcome: CommandOutcome) -> list[UndoneChange]:
    """Return what `undo --json` tells, without what stays on purpose; nothing where it could not be asked."""
    try:
        reported = msgspec.json.decode(outcome.output, type=ChangeReport).changes
    except msgspec.MsgspecError:
        return []
    return [change for change in reported if not change.on_purpose]


class UndoScreen(Base):
    BINDINGS = [
        Binding("y", "undo", "undo all of it now"),
        Binding("u", "undo", "undo all of it now", show=False),
        Binding("n", "later", "leave it for later"),
    ]
    title_words = "undo"

    def __init__(self, entries: Sequence[UndoneChange]) -> None:
        super().__init__()
        self._entries = entries
        self._status_text = ""  # once it was asked for: how it stands
        self._done: list[UndoneChange] = []
        self._open = True  # there is something to undo, and nobody is at it

    def compose_body(self) -> Iterable[Widget]:
        yield Reader(self._undo_lines)

    def _undo_lines(self, width: int) -> list[Line]:
        if self._done:
            return self._outcome_lines(width)
        out: list[Line] = [
            text_line("A run was killed before it could undo what it had changed.", "warning"),
            text_line("Its journal knows what there was before:", "dim"),
            BLANK,
        ]
        for change in self._entries:
            out += wrap_text(change.title, width, "strong", hang=2)
            out += wrap_text(change.would, width, indent=4, hang=2)
        out.append(BLANK)
        if self._status_text:
            return [*out, *wrap_text(self._status_text, width, "strong")]
        return [
            *out,
            [("y", "key"), (" undoes it now   ", "text"), ("n", "key"), (" leaves it for later", "text")],
        ]

    def _outcome_lines(self, width: int) -> list[Line]:
        out: list[Line] = [text_line("What the run had changed, and what became of it:", "dim"), BLANK]
        for change in self._done:
            sign, role = ("✓", "text") if change.state == "reverted" else ("▲", "warning")
            out += wrap_text(f"{sign} {change.change_line}", width, role, hang=2)
        return [*out, BLANK, *wrap_text(self._status_text, width, "strong")]

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return self._open if action in ("undo", "later") else True

    def action_later(self) -> None:
        self.action_back()

    def action_undo(self) -> None:
        def show_outcome(outcome: CommandOutcome) -> None:
            self._done = [change for change in parse_changes(outcome) if change.state != "failed"]
            self._status_text = outcome.error or "Nothing of it is left to undo."
            self._open = bool(outcome.error)
            # they stay in the journal
            failed = [change for change in parse_changes(outcome) if change.state == "failed"]
            self.shell.left = (failed or list(self._entries)) if outcome.error else []
            if self.shell.triage is not None:  # home shows what it found before
                self.shell.read_host()
            self.show()

        self._status_text, self._open = "undoing", False
        self.show()
        run_hostdx(self.app, ["undo", "--json"], show_outcome)
