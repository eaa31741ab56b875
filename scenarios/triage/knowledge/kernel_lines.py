"""Lines of the kernel's log that no rule names: which of them are worth a word, and which are harmless."""

import datetime
from functools import lru_cache
from typing import Literal

import msgspec

from hostdx.scenarios.contract.knowledge_file import load


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
def _line_words() -> tuple[LineWords, ...]:
    return load("kernel_lines", "words", LineWords).entries


@lru_cache(maxsize=1)
def harmless_patterns() -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return each pattern with the words of which a matching line has one."""
    entries = load("kernel_lines", "harmless", HarmlessLine).entries
    return tuple((entry.pattern, entry.pattern_words) for entry in entries)


def patterns_of_words(*kinds: str) -> list[tuple[str, tuple[str, ...]]]:
    """Return the patterns of these kinds, as `harmless_patterns` does."""
    return [(entry.pattern, entry.pattern_words) for entry in _line_words() if entry.kind in kinds]
