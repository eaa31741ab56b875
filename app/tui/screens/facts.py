"""Every fact with its source, and everything that could not be read with its reason: as the report's tables."""

from __future__ import annotations

from collections.abc import Iterable

from textual.binding import Binding
from textual.widget import Widget

from hostdx.app.recordings.session import RunSession
from hostdx.app.report.forms.cells import parts_lines
from hostdx.app.report.full_report import absent_parts, fact_parts
from hostdx.app.terminal.lines import BLANK, Line, text_line
from hostdx.app.tui.screens.base import Base
from hostdx.app.tui.widgets.reader import Reader


def fact_lines(session: RunSession, width: int) -> list[Line]:
    """What is missing comes first: it is what was pressed for, and what an admin can mend."""
    out: list[Line] = []
    if missing := parts_lines(absent_parts(session), width):
        out += [text_line("COULD NOT BE READ", "title"), *missing, BLANK]
    facts = parts_lines(fact_parts(session), width) or [text_line("none yet", "dim")]
    return [*out, text_line("FACTS", "title"), *facts]


class FactsScreen(Base):
    title_words = "facts"
    BINDINGS = [Binding("slash", "filter", "search", priority=True)]

    def __init__(self, session: RunSession) -> None:
        super().__init__()
        self._session = session

    def compose_body(self) -> Iterable[Widget]:
        yield Reader(lambda width: fact_lines(self._session, width))
