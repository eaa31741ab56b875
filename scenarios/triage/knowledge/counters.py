"""Counters that are 0 on a healthy host: of cards (ethtool -S), of InfiniBand and RoCE ports, and of TCP."""

from typing import Literal

from hostdx.scenarios.contract.knowledge_file import KnowledgeEntry, load_entries


class KnownCounter(KnowledgeEntry, frozen=True, forbid_unknown_fields=True):
    """`counter`: a pattern of the whole name; from `least` on it is told, from `loud` on as a warning (0: never)."""

    of: Literal["card", "port", "tcp"]
    counter: str
    least: int
    told: str
    effect: str
    advice: str
    source: str
    loud: int = 0
    unit: str = ""


class RingCounter(KnowledgeEntry, frozen=True, forbid_unknown_fields=True):
    """`counter`: a pattern of the whole name, of packets that found no buffer in the receive ring."""

    counter: str
    source: str


def ring_counters() -> tuple[RingCounter, ...]:
    return load_entries("counters", "ring_counter", RingCounter).entries


def known_counters() -> tuple[KnownCounter, ...]:
    return load_entries("counters", "counter", KnownCounter).entries
