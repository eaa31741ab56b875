"""Every fact with its source, and everything that could not be read with its reason."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import zip_longest

from textual.binding import Binding
from textual.widget import Widget

from app.glyphs import clean
from app.lines import BLANK, Line, cells, pad, text, wrapped
from app.recording.session import Session
from app.tui.screens.base import Base
from app.tui.widgets.fact_words import value_words
from app.tui.widgets.reader import Reader

NAME, SOURCE = 26, 40  # cells: most are shorter


def fact_lines(session: Session, width: int) -> list[Line]:
    out: list[Line] = [text("FACTS", "title")]
    wide = width >= 100
    for fact in session.facts.values():
        words = value_words(fact.value, fact.unit)
        name = clean(fact.label)
        if cells(text(name)) > NAME:  # on a line of its own
            out.append(text(name, "strong"))
            name = ""
        room = width - NAME - 2 - (SOURCE + 2 if wide else 0)
        body = wrapped(words, room)
        sources = wrapped(fact.source, SOURCE, "dim") if wide else []
        for row, source in zip_longest(body, sources, fillvalue=BLANK):
            head = pad(text(name, "strong"), NAME + 2)
            name = ""
            out.append([*head, *pad(row, room + 2), *source] if source else [*head, *row])
    if not session.facts:
        out.append(text("none yet", "dim"))
    if session.absent:
        out += [BLANK, text("COULD NOT BE READ", "title")]
        for absent in session.absent.values():
            out += wrapped(f"? {absent.label}: {absent.reason}", width, "unknown", hang=2)
    unreadable = [c for c in session.checks.values() if c.state == "unreadable"]
    if unreadable:
        out += [BLANK, text("CHECKS THAT COULD NOT DECIDE", "title")]
        for check in unreadable:
            out += wrapped(f"? {check.rule}: {check.reason}", width, "unknown", hang=2)
    return out


class FactsScreen(Base):
    title_words = "facts"
    BINDINGS = [Binding("slash", "filter", "search", priority=True)]

    def __init__(self, session: Session) -> None:
        super().__init__()
        self._session = session

    def body(self) -> Iterable[Widget]:
        yield Reader(lambda width: fact_lines(self._session, width))
