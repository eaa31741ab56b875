"""What is wrong? Seven complaints and the scenario that answers each, then every scenario by its name."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from app.recording.session import Session
from app.tui.glyphs import clean
from app.tui.lines import Line, Span, cells, crop, flowed, pad, split
from app.tui.questions import QUESTIONS, Question, scenario_for
from app.tui.widgets.picker import Picker, Row
from scenarios.events import Offer

ASKED = "?"  # begins the key of a question's row


def _takes(seconds: float) -> str:
    if seconds <= 0:
        return "any"
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


def _missing(offer: Offer) -> Line:
    """Only what is missing here: what it needs and has, nobody has to know."""
    if offer.blocked:
        return [(f"✗ {offer.blocked}", "unknown")]
    asked = [option.name for option in offer.options if option.required]
    return [(f"needs {', '.join(map(clean, asked))}", "dim")] if asked else []


def _row(head: Line, offer: Offer, width: int) -> Line:
    unknown = (
        offer.blocked or not offer.title
    ) and offer.takes_s <= 0  # not asked yet, or could not be loaded
    faint = "dim" if offer.blocked else "text"
    takes: Line = [(f"{'' if unknown else _takes(offer.takes_s):>6}", faint)]
    return split(crop([*head, *_missing(offer)], width - cells(takes) - 1), takes, width)


def _line(offer: Offer, titles: int, width: int) -> Line:
    head: Line = [(f"{clean(offer.id):<9} ", "dim" if offer.blocked else "strong")]
    head.append((f"{clean(offer.title):<{titles}}  ", "dim" if offer.blocked else "text"))
    return _row(head, offer, width)


def _question_line(question: Question, offer: Offer, width: int) -> Line:
    longest = max(len(q.words) for q in QUESTIONS)
    dim = "dim" if offer.blocked else "text"
    head: Line = [(f"{question.key} ", "key"), *pad([(question.words, dim)], longest + 2)]
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
        out = []
        for question in QUESTIONS:
            name = scenario_for(question, session, self.shell.pulse)
            offer = offers.get(name) or Offer(t=0.0, id=name, title="", question="", takes_s=0.0)
            words = f"{question.key} {question.words} {' '.join(question.scenarios)} {_words(offer)}"
            draw = partial(_question_line, question, offer)
            out.append(Row(ASKED + question.key, draw, words, _nothing, partial(_whole, offer)))
        titles = min(36, max((len(clean(o.title)) for o in session.offers), default=0))
        for offer in session.offers:
            draw = partial(_line, offer, titles)
            out.append(Row(offer.id, draw, _words(offer), _nothing, partial(_whole, offer)))
        return out


def _words(offer: Offer) -> str:
    return f"{offer.id} {offer.title} {offer.answers} {offer.question} {offer.blocked}"
