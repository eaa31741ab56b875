"""What is wrong? The complaints and the scenario that answers each, then the scenarios that answer none of them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from app.glyphs import clean
from app.lines import Line, Span, cells, crop, flowed, pad, split
from app.recording.session import Session
from app.tui.questions import asked, card_for, questions
from app.tui.widgets.picker import Picker, Row
from scenarios.events import Offer

ASKED = "?"  # begins the key of a question's row
WORDS = max(len(question.words) for question in asked())


def _takes(seconds: float) -> str:
    if seconds <= 0:
        return "any"
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


def _missing(offer: Offer) -> Line:
    """Only what is missing here: what it needs and has, nobody has to know."""
    if offer.blocked:
        return [(f"✗ {offer.blocked}", "unknown")]
    asked = ["where" if o.name == "dir" else clean(o.name) for o in offer.options if o.required]
    return [(f"asks {', '.join(asked)}", "dim")] if asked else []


def _row(head: Line, offer: Offer, width: int) -> Line:
    # not asked yet, or could not be loaded
    unknown = (offer.blocked or not offer.title) and offer.takes_s <= 0
    faint = "dim" if offer.blocked else "text"
    takes: Line = [(f"{'' if unknown else _takes(offer.takes_s):>6}", faint)]
    return split(crop([*head, *_missing(offer)], width - cells(takes) - 1), takes, width)


def _line(key: str, words: str, offer: Offer, width: int) -> Line:
    dim = "dim" if offer.blocked else "text"
    head: Line = [(f"{key or ' '} ", "key"), *pad([(words, dim)], WORDS), ("  ", "text")]
    return _row([*head, (f"{clean(offer.id):<9} ", "dim" if offer.blocked else "accent")], offer, width)


def _whole(offer: Offer, width: int) -> list[Line]:
    """The question, and what one gets; before all of that, why it cannot run here."""
    parts: list[Span] = []
    if offer.blocked:
        parts.append((f"✗ cannot run here: {offer.blocked}", "unknown"))
    if offer.question:
        parts.append((offer.question, "strong"))
    if offer.answers:
        parts.append((offer.answers, "dim"))
    if offer.blocked and offer.needs:
        parts.append((f"needs {offer.needs}", "dim"))
    words: list[Span] = []
    for number, (part, role) in enumerate(parts):
        split_up = part.split()
        if number < len(parts) - 1:
            split_up[-1] += " ·"  # a line never begins with it
        words += [(word, role) for word in split_up]
    return flowed(words, width)


def _nothing(width: int) -> Line:
    return []


class ScenarioList(Picker):
    def __init__(self, session: Callable[[], Session]) -> None:
        super().__init__(id="scenarios", title="WHAT IS WRONG?", empty="checking which ones can run here")
        self.note = [("scenario, and how long it takes", "dim")]
        self._session = session

    def rows(self) -> list[Row]:
        session = self._session()
        offers = {offer.id: offer for offer in session.offers}
        out, answering = [], set()
        for question in questions(session.offers):
            name = card_for(question, session, self.shell.first_pulse).id
            offer = offers.get(name) or Offer(t=0.0, id=name, title="", question="", takes_s=0.0)
            ids = " ".join(card.id for card in question.cards)
            words = f"{question.key} {question.words} {ids} {_words(offer)}"
            answering.add(name)
            draw = partial(_line, question.key, clean(question.words), offer)
            out.append(Row(ASKED + question.id, draw, words, _nothing, partial(_whole, offer)))
        for offer in session.offers:
            if offer.id in answering:
                continue
            draw = partial(_line, "", clean(offer.title), offer)
            out.append(Row(offer.id, draw, _words(offer), _nothing, partial(_whole, offer)))
        return out


def _words(offer: Offer) -> str:
    return f"{offer.id} {offer.title} {offer.answers} {offer.question} {offer.blocked}"
