"""What can be measured here: what each answers, how long it takes, and why one cannot run here."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from app.session import Session
from app.tui.glyphs import clean
from app.tui.lines import Line, split
from app.tui.widgets.picker import Picker, Row
from scenarios.events import Offer


def _line(offer: Offer, width: int) -> Line:
    takes = f"{offer.takes_s:.0f} s" if offer.takes_s else ""
    head: Line = [(f"{clean(offer.id):<10} ", "dim" if offer.blocked else "strong")]
    body: Line = [(f"{clean(offer.title):<28} ", "dim" if offer.blocked else "text")]
    if offer.blocked:
        tail: Line = [(f"✗ {clean(offer.blocked)}", "unknown")]
    else:
        tail = [(clean(offer.answers or offer.needs), "dim")]
    return split([*head, *body, *tail], [(f"{takes:>6}", "dim" if offer.blocked else "text")], width)


class ScenarioList(Picker):
    def __init__(self, session: Callable[[], Session]) -> None:
        super().__init__(id="scenarios", title="SCENARIOS", empty="asking which ones can run here")
        self.note = [("takes", "dim")]
        self._session = session

    def rows(self) -> list[Row]:
        return [
            Row(o.id, partial(_line, o), f"{o.id} {o.title} {o.answers} {o.blocked}")
            for o in self._session().offers
        ]
