"""What can be measured here: what each answers, how long it takes, and why one cannot run here."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from app.session import Session
from app.tui.glyphs import clean
from app.tui.lines import Line, crop, split
from app.tui.widgets.picker import Picker, Row
from scenarios.events import Offer


def _takes(seconds: float) -> str:
    if seconds <= 0:
        return "any"
    return f"{seconds:.0f} s" if seconds < 600 else f"{seconds / 60:.0f} min"


def _line(offer: Offer, titles: int, picker: Picker, width: int) -> Line:
    faint = "dim" if offer.blocked else "text"
    head: Line = [(f"{clean(offer.id):<9} ", "dim" if offer.blocked else "strong")]
    body: Line = [(f"{clean(offer.title):<{titles}}  ", faint)]
    if offer.blocked:
        tail: Line = [(f"✗ {clean(offer.blocked)}", "unknown")]
    elif picker.tall and width < 100:  # the second line says it in full
        tail = []
    else:
        tail = [(clean(offer.answers or offer.needs), "dim")]
    return split([*head, *body, *tail], [(f"{_takes(offer.takes_s):>6}", faint)], width)


def _second(offer: Offer, width: int) -> Line:
    if not offer.question:
        return []
    needs = f"  needs {clean(offer.needs)}" if offer.needs and not offer.blocked else ""
    return crop([(" " * 10, "text"), (clean(offer.question), "dim"), (needs, "dim")], width)


class ScenarioList(Picker):
    def __init__(self, session: Callable[[], Session]) -> None:
        super().__init__(id="scenarios", title="SCENARIOS", empty="asking which ones can run here")
        self.note = [("takes", "dim")]
        self._session = session

    def rows(self) -> list[Row]:
        offers = self._session().offers
        titles = min(36, max((len(clean(o.title)) for o in offers), default=0))
        out = []
        for offer in offers:
            words = f"{offer.id} {offer.title} {offer.answers} {offer.question} {offer.blocked}"
            out.append(Row(offer.id, partial(_line, offer, titles, self), words, partial(_second, offer)))
        return out
