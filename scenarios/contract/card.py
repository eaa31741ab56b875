"""What hostdx knows of a scenario by its id alone, without loading it: the home screen, lists and reports ask this.

A scenario's card stands in the `__init__.py` of its folder and is its class's `card`; another package's is its class's.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache, lru_cache
from importlib import import_module
from typing import Literal, TypeAlias

import msgspec

from hostdx.probes.reading import other_package
from hostdx.probes.reading.other_package import load_entry_point
from hostdx.scenarios import GROUP
from hostdx.scenarios.contract import ranges as of
from hostdx.scenarios.contract.folders import scenario_packages_with

# resolution: tells how small a difference shows on this host, so that nothing undecided in it is left to be done;
# whole: runs others, and its ranked answer says itself what to do about each; battery: a run of it alone compares
# nothing, it is one side of a comparison; import: another tool's results, nothing was measured by hostdx
Role: TypeAlias = Literal["experiment", "resolution", "whole", "battery", "import"]
# what is proposed for its `--dir`: several that are compared with each other, the first one that holds data, or the
# one on the disk that is busiest now
Directories: TypeAlias = Literal["", "compared", "first", "busiest"]


class Complaint(msgspec.Struct, frozen=True, omit_defaults=True):
    """A complaint in the words of who asks for help. `place`: its position in the list; 0 comes after all numbers."""

    words: str
    place: of.Number = 0


class SampleTrace(msgspec.Struct, frozen=True, omit_defaults=True):
    """The series of samples that a watch draws, in words, and the text that it shows while there are none."""

    series: str
    words: str
    nothing: str


class Card(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What hostdx knows of a scenario without importing it. `known_by`: the label of the fact that tells its runs
    apart, where the host's name does not.

    `compares`: its loads have windows of two variants, whose ratio is the answer. `rates`: its results have
    `rates_alone_by_device`; `proves`: they have `proofs`.
    `takes_s`: the usual time, for a scenario that is suggested as a next step. `process_option`: the option that takes
    the id of a process whose behaviour the scenario watches; `start_option`: the one that takes when it started.
    """

    id: str = ""
    role: Role = "experiment"
    compares: bool = True
    complaint: Complaint | None = None
    directories: Directories = ""
    known_by: str = ""
    rates: bool = False
    proves: bool = False
    takes_s: of.Duration = 0.0
    trace: SampleTrace | None = None
    process_option: str = ""
    start_option: str = "started"


NO_RUNS = frozenset({"", "triage", "plan"})  # streams that begin like a run; no package has a card of theirs


@cache
def bundled_cards() -> tuple[Card, ...]:
    """Return the cards of the scenarios that hostdx itself brings, in the order of their folders."""
    packages = scenario_packages_with("__init__.py")
    declared_cards = (getattr(import_module(package), "CARD", None) for package in packages)
    return tuple(card for card in declared_cards if isinstance(card, Card))


@lru_cache(maxsize=1024)
def card_of(id: str) -> Card:
    """Return the scenario's card; an empty card for an unknown id, because a foreign recording may name anything."""
    if id in NO_RUNS:
        return Card(id=id)
    matching_card = next((card for card in bundled_cards() if card.id == id), None)
    entries = {} if matching_card else {e.name: e for e in other_package.entry_points_of(GROUP)}
    if (entry := entries.get(id)) is not None:
        try:
            card = msgspec.convert(msgspec.to_builtins(getattr(load_entry_point(entry), "card", None)), Card)
            matching_card = msgspec.structs.replace(card, id=id)
        except Exception:  # another package's module raises what it likes
            matching_card = None
    return matching_card if isinstance(matching_card, Card) else Card(id=id)


def card_with_role(role: Role) -> Card:
    """Return the first bundled card with that role. Raises StopIteration where there is none."""
    return next(card for card in bundled_cards() if card.role == role)


def complaints_with_cards(cards: Iterable[Card]) -> dict[Complaint, tuple[Card, ...]]:
    """Return each complaint once, in the order of the list, with the cards that answer it."""
    complaint_cards = [(card.complaint, card) for card in cards if card.complaint is not None]
    complaint_cards.sort(key=lambda pair: (not pair[0].place, pair[0].place))
    cards_by_words: dict[str, list[tuple[Complaint, Card]]] = {}
    for complaint, card in complaint_cards:
        cards_by_words.setdefault(complaint.words, []).append((complaint, card))
    return {pairs[0][0]: tuple(card for _, card in pairs) for pairs in cards_by_words.values()}


def options_of_process(pid: int, start_ticks: int) -> tuple[str, ...]:
    """Return the options that name a process to the scenario that watches one.

    `start_ticks`: when it started, in clock ticks after boot; 0 where nobody knows it.
    """
    card = next(card for card in bundled_cards() if card.process_option)
    start = (f"--{card.start_option}", str(start_ticks)) if start_ticks else ()
    return f"--{card.process_option}", str(pid), *start
