"""Counters that are 0 on a healthy host: of cards (ethtool -S), of InfiniBand and RoCE ports, and of TCP."""

from typing import Literal

from hostdx.scenarios.contract.knowledge_file import KnowledgeEntry, load_entries


class KnownCounter(KnowledgeEntry, frozen=True, forbid_unknown_fields=True):
    """`counter`: a pattern of the whole name; from `least` on it is told, from `loud` on as a warning (0: never).

    `of` the ring: packets that found no free buffer in a card's receive ring, which the rule net.missed tells.
    """

    of: Literal["card", "port", "tcp", "ring"]
    counter: str
    source: str
    least: int = 1
    told: str = ""
    effect: str = ""
    advice: str = ""
    loud: int = 0
    unit: str = ""


def known_counters() -> tuple[KnownCounter, ...]:
    return load_entries("counters", "counter", KnownCounter).entries
