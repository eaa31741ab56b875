"""Every fact with its source, and everything that could not be read with its reason."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import zip_longest

from textual.binding import Binding
from textual.widget import Widget

from hostdx.app.recordings.session import RunSession
from hostdx.app.terminal.glyphs import clean_text
from hostdx.app.terminal.lines import BLANK, Line, cell_width, pad_line, text_line, wrap_text
from hostdx.app.tui.screens.base import Base
from hostdx.app.tui.widgets.home.host_table import value_words
from hostdx.app.tui.widgets.reader import Reader

NAME, SOURCE = 26, 40  # cells: most are shorter


def fact_lines(session: RunSession, width: int) -> list[Line]:
    """What is missing comes first: it is what was pressed for, and what an admin can mend."""
    out = _missing_lines(session, width)
    out.append(text_line("FACTS", "title"))
    wide = width >= 100
    for fact in session.facts.values():
        words = value_words(fact.value, fact.unit)
        name = clean_text(fact.label)
        if cell_width(text_line(name)) > NAME:  # on a line of its own
            out.append(text_line(name, "strong"))
            name = ""
        room = width - NAME - 2 - (SOURCE + 2 if wide else 0)
        body = wrap_text(words, room)
        sources = wrap_text(fact.source, SOURCE, "dim") if wide else []
        for row, source in zip_longest(body, sources, fillvalue=BLANK):
            head = pad_line(text_line(name, "strong"), NAME + 2)
            name = ""
            out.append([*head, *pad_line(row, room + 2), *source] if source else [*head, *row])
    if not session.facts:
        out.append(text_line("none yet", "dim"))
    return out


def _missing_lines(session: RunSession, width: int) -> list[Line]:
    out: list[Line] = []
    if session.absent:
        out.append(text_line("COULD NOT BE READ", "title"))
        for absent in session.absent.values():
            out += wrap_text(f"? {absent.label}: {absent.reason}", width, "unknown", hang=2)
        out.append(BLANK)
    unreadable = [c for c in session.checks.values() if c.state == "unreadable"]
    if unreadable:
        out.append(text_line("CHECKS THAT COULD NOT DECIDE", "title"))
        for check in unreadable:
            out += wrap_text(f"? {check.rule}: {check.reason}", width, "unknown", hang=2)
        out.append(BLANK)
    return out


class FactsScreen(Base):
    title_words = "facts"
    BINDINGS = [Binding("slash", "filter", "search", priority=True)]

    def __init__(self, session: RunSession) -> None:
        super().__init__()
        self._session = session

    def compose_body(self) -> Iterable[Widget]:
        yield Reader(lambda width: fact_lines(self._session, width))
