"""What can be measured here: what each answers, how long it takes, and why one cannot run here."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from app.recording.session import Session
from app.tui.glyphs import clean
from app.tui.lines import Line, Span, cells, crop, flowed, split
from app.tui.widgets.picker import Picker, Row
from scenarios.events import Offer


def _takes(seconds: float) -> str:
    if seconds <= 0:
        return "any"
    return f"{seconds:.0f} s" if seconds < 600 else f"{seconds / 60:.0f} min"


def _line(offer: Offer, titles: int, width: int) -> Line:
    faint = "dim" if offer.blocked else "text"
    head: Line = [(f"{clean(offer.id):<9} ", "dim" if offer.blocked else "strong")]
    body: Line = [(f"{clean(offer.title):<{titles}}  ", faint)]
    tail: Line = []
    if offer.blocked:
        tail = [(f"✗ {offer.blocked}", "unknown")]
    elif offer.needs:
        tail = [(f"needs {offer.needs}", "dim")]
    unknown = offer.blocked and offer.takes_s <= 0  # of a scenario that could not even be loaded
    takes: Line = [(f"{'' if unknown else _takes(offer.takes_s):>6}", faint)]
    room = width - cells(takes) - 1
    return split(crop([*head, *body, *tail], room), takes, width)


def _second(offer: Offer, width: int) -> Line:
    return crop([(" " * 10, "text"), (offer.answers or offer.question, "dim")], width)


def _whole(offer: Offer, width: int) -> list[Line]:
    """The question, what one gets and what it needs; before all of that, why it cannot run here."""
    parts: list[Span] = []
    if offer.blocked:
        parts.append((f"✗ cannot run here: {offer.blocked}", "unknown"))
    if offer.question:
        parts.append((offer.question, "strong"))
    if offer.answers:
        parts.append((offer.answers, "dim"))
    if offer.needs:
        parts.append((f"needs {offer.needs}", "dim"))
    words: list[Span] = []
    for number, (part, role) in enumerate(parts):
        split_up = part.split()
        if number < len(parts) - 1:
            split_up[-1] += " ·"  # a line never begins with it
        words += [(word, role) for word in split_up]
    return flowed(words, width)


def nothing(width: int) -> Line:
    return []


class ScenarioList(Picker):
    def __init__(self, session: Callable[[], Session]) -> None:
        super().__init__(id="scenarios", title="SCENARIOS", empty="asking which ones can run here")
        self.note = [("takes", "dim")]
        self._session = session

    def rows(self) -> list[Row]:
        offers = self._session().offers
        high = self.screen.has_class(
            "-high"
        )  # else the panel beside it says what would stand on second lines
        titles = min(36, max((len(clean(o.title)) for o in offers), default=0))
        out = []
        for offer in offers:
            words = f"{offer.id} {offer.title} {offer.answers} {offer.question} {offer.blocked}"
            out.append(
                Row(
                    offer.id,
                    partial(_line, offer, titles),
                    words,
                    partial(_second, offer) if high else nothing,
                    partial(_whole, offer),
                )
            )
        return out
