"""Every fact with its source, and everything that could not be read with its reason: as the report's tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from textual.binding import Binding
from textual.widget import Widget

from hostdx.app.recordings.session import RunSession
from hostdx.app.report.forms.cells import parts_lines
from hostdx.app.report.full_report import fact_parts
from hostdx.app.report.unread import (
    may_ask_programs,
    missing_parts,
    programs_answer_text,
    unread_parts,
)
from hostdx.app.terminal.lines import BLANK, Line, line_with_key_names, text_line
from hostdx.app.tui.screens.base import Base
from hostdx.app.tui.widgets.reader import Reader


def fact_lines(session: RunSession, width: int) -> list[Line]:
    """What was not looked at comes first: it is what was pressed for, and what an admin can mend."""
    out: list[Line] = []
    if unread := parts_lines(unread_parts(session), width):
        out += [text_line("NOT LOOKED AT", "title"), *unread, BLANK]
    facts = parts_lines(fact_parts(session), width) or [text_line("none yet", "dim")]
    out += [text_line("FACTS", "title"), *facts]
    if missing := parts_lines(missing_parts(session), width):
        out += [BLANK, text_line("THIS HOST DOES NOT TELL", "title"), *missing]
    return out


class FactsScreen(Base):
    """`of_host`: of the host now, whose programs may be asked from here; else of a run."""

    title_words = "facts"
    BINDINGS = [
        Binding("slash", "filter", "search", priority=True),
        Binding("R", "again", "read again, ask programs"),
    ]

    def __init__(self, session: Callable[[], RunSession], *, of_host: bool = False) -> None:
        super().__init__()
        self._session, self._of_host = session, of_host

    def compose_body(self) -> Iterable[Widget]:
        yield Reader(self._lines)

    def _lines(self, width: int) -> list[Line]:
        session = self._session()
        lines = fact_lines(session, width)
        if not self._of_host:
            return lines
        if may_ask_programs(session):
            return [line_with_key_names("Programs of this host were not asked: [R] asks them"), BLANK, *lines]
        # the findings are counted once all of them are there
        answer = (
            programs_answer_text(session, self.shell.findings_before) if session.ended is not None else ""
        )
        return [text_line(answer or "asking the programs of this host", "strong"), BLANK, *lines]

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return self._of_host if action == "again" else True

    def action_again(self) -> None:
        self.shell.read_host(programs=True)
