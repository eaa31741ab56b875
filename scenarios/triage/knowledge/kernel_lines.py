"""Lines of the kernel's log that no rule names: which of them are worth a word, and which are harmless."""

import datetime
import re
from functools import lru_cache
from typing import Literal

import msgspec

from scenarios.contract.knowledge_file import load


class LineWords(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Words by which a line is taken up, or by which it is grave."""

    kind: Literal["fault", "limit", "grave"]
    pattern: str
    dated: datetime.date
    source: str
    pattern_words: tuple[str, ...] = ()  # worked out: probes/reading/patterns.py


class HarmlessLine(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Lines that say nothing of a fault."""

    pattern: str
    why: str
    dated: datetime.date
    source: str
    pattern_words: tuple[str, ...] = ()


@lru_cache(maxsize=1)
def line_words() -> tuple[LineWords, ...]:
    return load("kernel_lines", "words", LineWords).entries


@lru_cache(maxsize=1)
def harmless_lines() -> tuple[HarmlessLine, ...]:
    return load("kernel_lines", "harmless", HarmlessLine).entries


def is_harmless(message: str) -> bool:
    small = message.lower()
    return any(_matches_line(entry, message, small) for entry in harmless_lines())


def speaks_of(message: str, *kinds: str) -> bool:
    """True where the line has words of one of these kinds."""
    small = message.lower()
    return any(_matches_line(entry, message, small) for entry in line_words() if entry.kind in kinds)


def _matches_line(entry: LineWords | HarmlessLine, message: str, small: str) -> bool:
    """The pattern is asked only of lines that have one of the words that it needs."""
    words = entry.pattern_words
    if words and not any(word in small for word in words):
        return False
    return re.search(entry.pattern, message) is not None
