"""Patterns at little cost: the words without which one cannot match, the lines that have such a
word, and a pattern that is compiled when it is used.
"""

import re
from bisect import bisect_right
from collections.abc import Container, Iterable, Sequence
from fnmatch import fnmatchcase
from functools import cache, cached_property
from itertools import accumulate
from re import _constants as c  # type: ignore[attr-defined]
from re import _parser  # type: ignore[attr-defined]
from typing import cast

from hostdx.probes.types import Json

MIN_LETTERS = 3
_GLOB_MAGIC = frozenset("*?[")


def words_every_match_needs(pattern: str) -> list[str]:
    """In small letters; every match has one of them at least. Empty where that cannot be told."""
    return sorted(_words_one_of_must_occur(_parser.parse(pattern)) or ())


def _words_one_of_must_occur(parts: _parser.SubPattern) -> set[str] | None:
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
        return _words_one_of_must_occur(value[3])
    if op is c.BRANCH:
        branches = [_words_one_of_must_occur(branch) for branch in value[1]]
        return set[str]().union(*(b for b in branches if b)) if all(branches) else None
    if op in (c.MAX_REPEAT, c.MIN_REPEAT) and value[0] >= 1:
        return _words_one_of_must_occur(value[2])
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
                        table[f"{name}_words"] = words_every_match_needs(str(table[name]))


def _three_letter_parts_of(text: str) -> frozenset[str]:
    """Return all that stand in three letters together: most words that are asked lack one of a log's, and a look
    for it takes a tenth of a search."""
    return frozenset([text[at : at + 3] for at in range(len(text) - 2)])


# the words of the tables are asked of each log anew
_parts_of_word = cache(_three_letter_parts_of)


class LineIndex:
    """Lines, and which of them meet a pattern: the pattern is asked only of lines that have one of its needed words."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.lines = lines
        lowered = [line.lower() for line in lines]
        self._text = "\n".join(lowered)
        self._starts = [0, *accumulate(len(line) + 1 for line in lowered)][: len(lines)]
        self._numbers_by_word: dict[str, frozenset[int]] = {}

    def lines_with_words(self, words: Sequence[str]) -> Iterable[int]:
        """Return the numbers of the lines that have one of the words (in small letters), in order.

        Without words all lines are returned.
        """
        if not words:
            return range(len(self.lines))
        there = [self._lines_with(word) for word in words if _parts_of_word(word) <= self._three_letter_parts]
        return sorted(frozenset().union(*there))

    @cached_property
    def _three_letter_parts(self) -> frozenset[str]:
        return _three_letter_parts_of(self._text)

    def _lines_with(self, word: str) -> frozenset[int]:
        """A word may lie over the end of a line: then it is found in the line where it begins, which does no harm."""
        numbers = self._numbers_by_word.get(word)
        if numbers is None:
            found_numbers, at = set(), self._text.find(word)
            while at >= 0:
                found_numbers.add(number := bisect_right(self._starts, at) - 1)
                if number + 1 == len(self._starts):
                    break
                at = self._text.find(word, self._starts[number + 1])
            numbers = self._numbers_by_word[word] = frozenset(found_numbers)
        return numbers

    def find_matches(self, patterns: Iterable[tuple[str, Sequence[str]]], lines: Container[int]) -> set[int]:
        """Return the numbers, out of `lines`, of the lines that meet one of the patterns; each comes with its words."""
        matching: set[int] = set()
        for pattern, words in patterns:
            open_numbers = [n for n in self.lines_with_words(words) if n in lines and n not in matching]
            if open_numbers:
                search = re.compile(pattern).search
                matching.update(n for n in open_numbers if search(self.lines[n]))
        return matching


def matches_glob(name: str, pattern: str) -> bool:
    """As fnmatchcase, which compiles a regular expression even for `sd*`."""
    before, star, behind = pattern.partition("*")
    if star and not _GLOB_MAGIC & set(before + behind):
        return len(name) >= len(pattern) - 1 and name.startswith(before) and name.endswith(behind)
    return fnmatchcase(name, pattern)


class _LazyPattern:
    def __init__(self, pattern: str, flags: int) -> None:
        self._source = pattern, flags
        self.pattern = pattern

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        return re.compile(*self._source)

    def __getattr__(self, name: str) -> object:
        method: object = getattr(self._pattern, name)
        setattr(self, name, method)  # the next use asks the pattern itself
        return method


def lazy_pattern(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """Return what `re.compile` returns, without its work until it is used. A wrong pattern raises there."""
    return cast(re.Pattern[str], _LazyPattern(pattern, flags))
