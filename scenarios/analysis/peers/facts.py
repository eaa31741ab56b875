"""The facts of many nodes, by fact: which value each node has. A million of them, most of them the same."""

import math
from array import array
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import msgspec

from hostdx.probes.reading.lossless_json import encode
from hostdx.probes.types import Json
from hostdx.scenarios.analysis.compare.run_summary import FactKey
from hostdx.scenarios.triage.knowledge.differences import are_within_tolerance, is_ignored_fact

MAX_FACTS = 8_000  # different ones, of all nodes together: a host has some hundred
MAX_VALUES = 10_000  # different ones of a fact, kept
_MAX_CHARACTERS = 160  # of a value, kept and told apart
_CONTINUOUS = 8  # different numbers of one fact, from which on they are put in ranges
_RANGES = 2  # to a factor of two
MISSING, UNREAD = -1, -2  # the node has no such fact; it could not be read there

_decoder = msgspec.json.Decoder()


class _FactColumn:
    def __init__(self, before: int) -> None:
        self.ids = array("i", [MISSING]) * before  # by node
        self.numbers: dict[str, int] = {}  # by the value's spelling
        self.spelt: list[str] = []

    def number_or_too_many(self, spelling: str) -> int:
        """Beyond MAX_VALUES spellings each call returns a new number, and its text is not kept."""
        value_number = self.numbers.get(spelling)
        if value_number is None:
            value_number = len(self.spelt)
            self.spelt.append(spelling if value_number < MAX_VALUES else "")
            if value_number < MAX_VALUES:
                self.numbers[spelling] = value_number
        return value_number


class ComparedFact(NamedTuple):
    """One fact of one node against its peers'. `value` and the peers' values are spelt as JSON, "" where missing.

    `values` counts the different ones, the node's own among them, `most` the peers that have the
    most frequent one; continuous numbers count by range.
    """

    key: FactKey
    value: str
    matching: int
    peers: int
    values: int
    most: int
    peer_values: tuple[tuple[str, int], ...]


class FactTable:
    def __init__(self) -> None:
        self._facts: dict[FactKey, _FactColumn] = {}
        self.nodes: list[str] = []
        self.left_out = 0
        self._varying: tuple[int, list[FactKey]] | None = None  # of so many nodes

    def add(self, name: str, facts: Mapping[FactKey, str], unread: Iterable[FactKey] = ()) -> None:
        """`facts` as `comparable_fact_texts`."""
        before = len(self.nodes)
        self.nodes.append(name)
        for key, value in facts.items():
            if (fact := self._fact_to_fill(key, before)) is not None:
                fact.ids.append(fact.number_or_too_many(value))
        for key in unread:
            if key not in facts and (fact := self._fact_to_fill(key, before)) is not None:
                fact.ids.append(UNREAD)

    def _fact_to_fill(self, key: FactKey, before: int) -> _FactColumn | None:
        """Filled up to this node."""
        fact = self._facts.get(key)
        if fact is None:
            if len(self._facts) >= MAX_FACTS:
                self.left_out += 1
                return None
            fact = self._facts[key] = _FactColumn(before)
        if len(fact.ids) > before:  # told twice
            return None
        fact.ids.extend([MISSING] * (before - len(fact.ids)))
        return fact

    def node_places(self) -> dict[str, int]:
        return {name: n for n, name in enumerate(self.nodes)}

    def value_numbers(self, key: FactKey, nodes: Sequence[int]) -> list[int]:
        """The value's number of each of these nodes."""
        ids = self._facts[key].ids
        ids.extend([MISSING] * (len(self.nodes) - len(ids)))
        return list(map(ids.__getitem__, nodes))

    def __len__(self) -> int:
        return len(self._facts)

    def keys_differing_between_nodes(self) -> list[FactKey]:
        """The facts that are not the same on all nodes, also those that a node lacks."""
        every = len(self.nodes)
        if self._varying is None or self._varying[0] != every:
            keys = [
                key
                for key, fact in self._facts.items()
                if len(fact.spelt) > 1 or len(fact.ids) < every or min(fact.ids) < 0
            ]
            self._varying = every, keys
        return self._varying[1]

    def spelling_of(self, key: FactKey, number: int) -> str:
        return self._facts[key].spelt[number] if number >= 0 else ""

    def compare_node(self, node: int, peers: Sequence[int]) -> list[ComparedFact]:
        """Every fact that the node and at least one peer could read."""
        compared_facts = []
        for key, fact in self._facts.items():
            own, *others = self.value_numbers(key, [node, *peers])
            counts = Counter(number for number in others if number != UNREAD)
            if own == UNREAD or not counts or (own == MISSING and counts.keys() == {MISSING}):
                continue
            classes = _value_classes(key, [fact.spelt[n] if n >= 0 else "" for n in (own, *counts)])
            grouped: Counter[object] = Counter()
            for number, value_class in zip(counts, classes[1:], strict=True):
                grouped[value_class] += counts[number]
            peer_values = tuple((self.spelling_of(key, n), count) for n, count in counts.most_common(3))
            compared_facts.append(
                ComparedFact(
                    key, self.spelling_of(key, own), grouped[classes[0]], sum(counts.values()),
                    len(grouped.keys() | {classes[0]}), max(grouped.values()), peer_values,
                )
            )  # fmt: skip
        return compared_facts


def comparable_fact_texts(facts: Mapping[FactKey, Json]) -> dict[FactKey, str]:
    """As they are compared: what is known to say nothing is left out, a long value cut.

    What a thousand nodes have alike is one object: so it crosses to another process once a batch.
    """
    if len(_same) > MAX_VALUES:
        _same.clear()
    spellings = {}
    for key, value in facts.items():
        own, left_out = _known_keys.get(key) or _intern_key_and_is_ignored(key)
        if not left_out:
            spelling = encode(value).decode()[:_MAX_CHARACTERS]
            spellings[own] = _same.setdefault(spelling, spelling)
    return spellings


def value_of_spelling(spelling: str) -> Json:
    """For a person; a cut one as it is."""
    try:
        return _decoder.decode(spelling) if spelling else None
    except msgspec.DecodeError:
        return spelling


_same: dict[str, str] = {}
_known_keys: dict[
    FactKey, tuple[FactKey, bool]
] = {}  # kept: the patterns are many, and nodes have the same facts


def _intern_key_and_is_ignored(key: FactKey) -> tuple[FactKey, bool]:
    """The same object each time, and whether the fact says nothing."""
    if len(_known_keys) > MAX_FACTS:
        _known_keys.clear()
    return _known_keys.setdefault(key, (key, is_ignored_fact("/".join(key))))


def _value_classes(key: FactKey, spellings: Sequence[str]) -> list[object]:
    """Return what counts as one value: numbers within the known tolerance, or of one range where there are many."""
    numbers = [value if isinstance(value := value_of_spelling(s), int | float) else None for s in spellings]
    magnitudes = [abs(n) for n in numbers if n is not None]
    if len(magnitudes) < len(spellings) or not magnitudes or any(isinstance(n, bool) for n in numbers):
        return list(spellings)
    if are_within_tolerance("/".join(key), magnitudes):
        return [0] * len(spellings)
    if len(set(magnitudes)) <= _CONTINUOUS:
        return list(spellings)
    return [((n or 0) < 0, round(_RANGES * math.log2(abs(n))) if n else None) for n in numbers]
