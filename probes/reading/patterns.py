"""Patterns at little cost: the words without which one cannot match, and one that is compiled when it is used."""

import re
from functools import cached_property
from re import _constants as c  # type: ignore[attr-defined]
from re import _parser  # type: ignore[attr-defined]
from typing import cast

from probes.types import Json

MIN_LETTERS = 3


def needed_words(pattern: str) -> list[str]:
    """In small letters; every match has one of them at least. Empty where that cannot be told."""
    return sorted(_words_of_sequence(_parser.parse(pattern)) or ())


def _words_of_sequence(parts: _parser.SubPattern) -> set[str] | None:
    """The best of the parts that must all be there: the one whose shortest word is longest."""
    candidates: list[set[str]] = []
    run = ""
    for op, value in parts:
        if op is c.LITERAL:
            run += chr(value).lower()
            continue
        candidates += [{run}] if run else []
        run = ""
        if (own := _words_of_part(op, value)) is not None:
            candidates.append(own)
    candidates += [{run}] if run else []
    best = max(candidates, key=lambda words: min(map(len, words)), default=None)
    return best if best is not None and min(map(len, best)) >= MIN_LETTERS else None


def _words_of_part(op: c._NamedIntConstant, value: _parser.SubPattern) -> set[str] | None:
    if op is c.SUBPATTERN:
        return _words_of_sequence(value[3])
    if op is c.BRANCH:
        branches = [_words_of_sequence(branch) for branch in value[1]]
        return set[str]().union(*(b for b in branches if b)) if all(branches) else None
    if op in (c.MAX_REPEAT, c.MIN_REPEAT) and value[0] >= 1:
        return _words_of_sequence(value[2])
    return None


def add_needed_words(parsed: dict[str, Json]) -> None:
    """Add them to each rule and each of its reads that looks at the log, and to each entry of patterns."""
    for entries in parsed.values():
        for entry in entries if isinstance(entries, list) else ():
            if not isinstance(entry, dict):
                continue
            reads = entry.get("read", {})
            for table in (entry, *(reads.values() if isinstance(reads, dict) else ())):
                for name in ("log", "pattern"):
                    if isinstance(table, dict) and isinstance(table.get(name), str):
                        table[f"{name}_words"] = needed_words(str(table[name]))


class _LazyPattern:
    def __init__(self, pattern: str, flags: int) -> None:
        self._source = pattern, flags

    @cached_property
    def _compiled(self) -> re.Pattern[str]:
        return re.compile(*self._source)

    def __getattr__(self, name: str) -> object:
        method: object = getattr(self._compiled, name)
        setattr(self, name, method)  # the next use asks the pattern itself
        return method


def lazy_pattern(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """Return what `re.compile` returns, without its work until it is used. A wrong pattern raises there."""
    return cast(re.Pattern[str], _LazyPattern(pattern, flags))
