"""What is wrong? The complaints that the scenarios say they answer, and what the host tells for their options."""

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from hostdx.app.recordings.session import RunSession
from hostdx.app.report.confirmation import AT_HOME, MAX_SUSPECTS, data_mounts, dirs_to_compare, disk_mounts
from hostdx.probes.number_text import parse_unsigned
from hostdx.probes.reading.process_stat import read_start_ticks
from hostdx.scenarios.contract import card as cards
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.card import Card

MAX_DIRECTORIES = 3
MAX_DIGIT = 9  # complaints further down have no key


class Question(NamedTuple):
    """`cards`: the first that this host offers, in this order."""

    key: str
    words: str
    cards: tuple[Card, ...]

    @property
    def id(self) -> str:
        """Return what tells it from others: only nine complaints have a key."""
        return self.key or self.words


@cache
def list_questions(others: tuple[Card, ...] = ()) -> tuple[Question, ...]:
    """Of our own scenarios, known before the host is read, and of `others`."""
    known_cards = cards.bundled_cards()
    ids = {card.id for card in known_cards}
    cards_by_complaint = cards.complaints_with_cards(
        (*known_cards, *(card for card in others if card.id not in ids))
    )
    return tuple(
        Question(str(complaint.place) if 0 < complaint.place <= MAX_DIGIT else "", complaint.words, answering)
        for complaint, answering in cards_by_complaint.items()
    )


def all_questions(offers: Sequence[ev.ScenarioOffer]) -> tuple[Question, ...]:
    """With those of other packages' scenarios, as the host's reading tells them."""
    return list_questions(tuple(offer.card for offer in offers if offer.card.complaint is not None))


def scenario_for(question: Question, session: RunSession) -> Card:
    """Return the scenario that answers the complaint, the same one whatever the host does: a digit means one thing."""
    offered = {offer.id: offer for offer in session.offers}
    return next((card for card in question.cards if card.id in offered), question.cards[0])


def fill_in_options(card: Card, session: RunSession, pulse: ev.Pulse | None) -> list[str]:
    """Options as on a command line: what a finding names, else what the mounts and the pulse tell."""
    if card.directories == "compared":
        mounted = data_mounts(session)
        suspects = list(dirs_to_compare(session.worst_first, session))
        if card.role == "whole" and not mounted:
            return []  # it asks for what findings name by itself, and whether that can be measured
        others = list(dict.fromkeys((*suspects[:MAX_SUSPECTS], *mounted)))[:MAX_DIRECTORIES]
        return [f"--dir={path}" for path in (AT_HOME, *others)] if others else []
    if card.process_option:
        return []  # who uses the host is asked of the host as it is when the key is pressed, not as it was read
    for finding in session.worst_first:
        if finding.prove == card.id and finding.prove_options:
            return list(finding.prove_options)
    # the picker asks: nothing is proposed for a trim, which cannot be undone
    if card.directories != "busiest":
        return []
    first = _busiest_mount(session, pulse) or next(
        (path for path, _ in disk_mounts(session) if path != "/"), ""
    )
    # the system's own disk is not suggested for what switches or trims: the plan asks
    return [f"--dir={first}"] if first not in ("", "/") else []


def without_ended_process(card: Card, options: Sequence[str]) -> Sequence[str]:
    """Return the options, or none where they name a process of this host that has ended meanwhile: then the plan is
    about the whole host, and is no dead end."""
    values = dict(zip(options[::2], options[1::2], strict=False))
    pid, started = (
        parse_unsigned(values.get(f"--{name}", "")) for name in (card.process_option, card.start_option)
    )
    if not card.process_option or pid is None:
        return options
    start_ticks = read_start_ticks(pid)
    return options if start_ticks is not None and started in (None, start_ticks) else ()


def _busiest_mount(session: RunSession, pulse: ev.Pulse | None) -> str:
    """The mount point on the disk that is busiest now; a partition's disk is the beginning of its name."""
    if pulse is None or not pulse.devices:
        return ""
    disk = max(pulse.devices, key=lambda name: pulse.devices[name][2])
    return next(
        (path for path, source in disk_mounts(session) if source.removeprefix("/dev/").startswith(disk)), ""
    )
