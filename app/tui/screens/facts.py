"""Every fact with its source, and everything that could not be read with its reason."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from textual.binding import BindingType
from textual.widget import Widget

from app.session import Session
from app.tui.glyphs import clean
from app.tui.lines import BLANK, Line, text, wrapped
from app.tui.screens.base import Base
from app.tui.widgets.host_glance import value_words
from app.tui.widgets.reader import Reader


def fact_lines(session: Session, width: int) -> list[Line]:
    out: list[Line] = [text("FACTS", "title")]
    wide = width >= 100
    for fact in session.facts.values():
        words = value_words(fact.value, fact.unit)
        body = wrapped(words, width - 26 - (34 if wide else 0))
        for n, row in enumerate(body):
            name = clean(fact.name)[:24] if not n else ""
            source = [(f"   {clean(fact.source)}", "dim")] if wide and not n else []
            out.append([(f"{name:<25} ", "strong"), *row, *source])
    if not session.facts:
        out.append(text("none yet", "dim"))
    if session.absent:
        out += [BLANK, text("COULD NOT BE READ", "title")]
        for absent in session.absent.values():
            out += wrapped(f"? {clean(absent.name)}: {clean(absent.reason)}", width, "unknown", hang=2)
    unreadable = [c for c in session.checks.values() if c.state == "unreadable"]
    if unreadable:
        out += [BLANK, text("CHECKS THAT COULD NOT DECIDE", "title")]
        for check in unreadable:
            out += wrapped(f"? {clean(check.rule)}: {clean(check.reason)}", width, "unknown", hang=2)
    return out


class FactsScreen(Base):
    BINDINGS: ClassVar[list[BindingType]] = []
    title_words = "facts"

    def __init__(self, session: Session) -> None:
        super().__init__()
        self._session = session

    def body(self) -> Iterable[Widget]:
        yield Reader(lambda width: fact_lines(self._session, width))

    def on_mount(self) -> None:
        self.query_one(Reader).focus()
