"""What is wrong? The complaints and the scenario that answers each, then the scenarios that answer none of them."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from app.glyphs import SIGNS, clean
from app.lines import Line, Span, cells, crop, flowed, pad
from app.recording.session import Session
from app.tui.commands import Example, Known
from app.tui.questions import asked, card_for, questions
from app.tui.widgets.picker import Picker, PickerRow
from probes.units import counted
from scenarios.card import Card, card_of
from scenarios.events import Pulse, ScenarioOffer
from scenarios.finding import LOUD, Finding

ASKED = "?"  # begins the key of a question's row
MOST_SAID = 3  # lines of all that is said of one, from where on what was seen gives way
LEAST_KNOWN = 20  # cells for what is known and how long it takes, else it gives way
SPEAKS = 0.1  # of the time that somebody waits
NAME = 10  # cells of a scenario's id
WORDS = max(len(question.words) for question in asked())


def _takes(seconds: float) -> str:
    if seconds <= 0:
        return "any"
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


class Seen(NamedTuple):
    """What is known of a complaint before anything is measured: findings of triage that its scenario would prove (all
    that is loud, for the one that looks at the whole host), how busy its disk is, and the last run's answer."""

    offer: ScenarioOffer
    found: tuple[Finding, ...]
    last: Example | None
    busy: str = ""

    @property
    def evidence(self) -> Span:
        """A few cells: the sign of the worst and how many, else the disk, else when it was measured last."""
        offer = self.offer
        if offer.blocked:
            return f"✗ {offer.blocked}", "unknown"
        if self.found:
            worst = self.found[0].severity
            return f"{SIGNS[worst]} {counted(len(self.found), 'suspect')}", worst
        if self.busy:
            return self.busy, "text"
        if self.last is not None:
            day = self.last.wall[5:16].replace("T", " ")
            return f"{SIGNS.get(self.last.weight, '?')} {clean(day)}", self.last.weight
        asked = ["where" if o.name == "dir" else clean(o.name) for o in offer.options if o.required]
        return (f"asks {', '.join(asked)}" if asked else "–"), "dim"


def seen_of(card: Card, offer: ScenarioOffer, session: Session, known: Known, pulse: Pulse | None) -> Seen:
    loud = [f for f in session.worst_first if f.severity != "ok"]
    whole = card.role == "whole"
    found = tuple(f for f in loud if (f.severity in LOUD if whole else f.prove == card.id))
    busy = ""
    if pulse is not None and whole:
        waits = {"cpu": pulse.psi_cpu, "disk": pulse.psi_io, "mem": pulse.psi_memory}
        kind, most = max(waits.items(), key=lambda one: one[1] or 0.0)
        busy = f"{kind} wait {most * 100:.0f} %" if most and most >= SPEAKS else ""
    if (
        pulse is not None
        and pulse.devices
        and card.complaint
        and card.directories == "compared"
        and not whole
    ):
        name = max(pulse.devices, key=lambda n: (pulse.devices[n][2], n))
        busy = f"{clean(name)} {pulse.devices[name][2] * 100:.0f} % busy"
    return Seen(offer, found, known.last.get(card.id), busy)


def _line(key: str, words: str, seen: Seen, width: int) -> Line:
    offer = seen.offer
    # not asked yet, or could not be loaded
    unknown = (offer.blocked or not offer.title) and offer.takes_s <= 0
    faint = "dim" if offer.blocked else "text"
    known = width >= WORDS + NAME + LEAST_KNOWN
    name = pad([(clean(offer.id), "dim" if offer.blocked else "accent")], NAME if known else NAME - 1)
    tail: Line = [*name, (f"{'' if unknown else _takes(offer.takes_s):>6}", faint)]
    room = width - cells(tail)
    head: Line = [(f"{key or ' '} ", "key"), *pad([(words, faint)], min(WORDS, room - 3)), (" ", "text")]
    if known:
        head += crop([seen.evidence], room - cells(head) - 1)
    return [*pad(head, room), *tail]


def _whole(seen: Seen, width: int) -> list[Line]:
    """The question, and what one gets; before all of that, why it cannot run here, after it what was seen of it."""
    offer = seen.offer
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
    out = flowed(words, width)
    more: list[Line] = [[(f"{SIGNS[f.severity]} ", f.severity), (clean(f.title), "text")] for f in seen.found]
    if seen.last is not None:
        day, said = clean(seen.last.wall[:16].replace("T", " ")), clean(seen.last.result)
        more.insert(0, [(f"last {day}: ", "dim"), (said, seen.last.weight)])
    return [*out, *(crop(line, width) for line in more[: max(0, MOST_SAID - len(out))])]


class ScenarioList(Picker):
    def __init__(self, session: Callable[[], Session]) -> None:
        super().__init__(id="scenarios", title="WHAT IS WRONG?", empty="checking which ones can run here")
        self.note = [("what is known, scenario, how long it takes", "dim")]
        self._session = session

    def rows(self) -> list[PickerRow]:
        session, known, pulse = self._session(), self.shell.known, self.shell.first_pulse
        offers = {offer.id: offer for offer in session.offers}
        out, answering = [], set()
        for question in questions(session.offers):
            card = card_for(question, session, pulse)
            empty = ScenarioOffer(t=0.0, id=card.id, title="", question="", takes_s=0.0)
            seen = seen_of(card, offers.get(card.id) or empty, session, known, pulse)
            ids = " ".join(card.id for card in question.cards)
            words = f"{question.key} {question.words} {ids} {_words(seen.offer)}"
            answering.add(card.id)
            out.append(_row(ASKED + question.id, question.key, clean(question.words), words, seen))
        for offer in session.offers:
            if offer.id not in answering:
                seen = seen_of(card_of(offer.id), offer, session, known, pulse)
                out.append(_row(offer.id, "", clean(offer.title), _words(offer), seen))
        return out


def _question(seen: Seen, width: int) -> Line:
    """Below its row while a filter leaves room for everyone's."""
    return crop([("  ", "text"), (clean(seen.offer.question), "dim")], width) if seen.offer.question else []


def _row(key: str, digit: str, said: str, searched: str, seen: Seen) -> PickerRow:
    line, whole = partial(_line, digit, said, seen), partial(_whole, seen)
    return PickerRow(key, line, searched, partial(_question, seen), whole)


def _words(offer: ScenarioOffer) -> str:
    return f"{offer.id} {offer.title} {offer.answers} {offer.question} {offer.blocked}"
