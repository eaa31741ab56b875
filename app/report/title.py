"""A report's title: an answer's first clauses, short enough for a heading; the rest stands below it."""

import re
from collections.abc import Callable
from itertools import accumulate
from typing import NamedTuple

MAX_TITLE_LENGTH = 110  # characters
MIN_TITLE_LENGTH = 30  # a shorter beginning is no answer
_PROCESS_IDS = re.compile(r" \[\d+(?:, \d+)*(?: and \d+ more)?\]")
# where a title may end, the best first: the pattern, the least length before it, and which of several
_ENDS: tuple[tuple[re.Pattern[str], int, Callable[[list[int]], int]], ...] = (
    (re.compile(r"; |\. "), MIN_TITLE_LENGTH, max),
    (re.compile(r", (?!but )"), MIN_TITLE_LENGTH, min),
    (re.compile(r": "), 2 * MIN_TITLE_LENGTH, max),
    (re.compile(r" (?=\([^()]*\)(?:[;,:] |$))"), MIN_TITLE_LENGTH, max),
)


class ReportTitle(NamedTuple):
    text: str
    rest: str = ""  # of the answer, without what the title says


def split_title(answer: str) -> ReportTitle:
    """Return the answer without process ids, cut after as many sentences as fit, else after its first clause.

    Nothing is cut between parentheses; a text without a clause that fits ends in `…`.
    """
    text = _PROCESS_IDS.sub("", answer)
    if len(text) <= MAX_TITLE_LENGTH:
        return ReportTitle(text)
    depths = list(accumulate((char in "([{") - (char in ")]}") for char in text))
    for pattern, least, choose in _ENDS:
        ends = {
            match.start(): match.end()
            for match in pattern.finditer(text)
            if least <= match.start() <= MAX_TITLE_LENGTH and depths[match.start()] == 0
        }
        if ends:
            end = choose(list(ends))
            return ReportTitle(text[:end], text[ends[end] :])
    cut = text.rfind(" ", 0, MAX_TITLE_LENGTH)
    cut = cut if cut >= MIN_TITLE_LENGTH else MAX_TITLE_LENGTH
    return ReportTitle(f"{text[:cut]} …", text[cut:].strip())


def rest_of_title(title: ReportTitle) -> tuple[str, ...]:
    """Return the paragraph that goes on where the title was cut; empty where all of it fits."""
    return (f"… {title.rest.rstrip('.')}.",) if title.rest else ()
