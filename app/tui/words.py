"""The words of a verdict for those who do not measure every day: at the end of the list of keys, a line each."""

from __future__ import annotations

from typing import NamedTuple


class Word(NamedTuple):
    name: str
    means: str


WORDS: tuple[Word, ...] = (
    Word("group", "A, B, B, A measured in turn: one comparison of both"),
    Word("block", "one measurement of one side, without a pause"),
    Word("control", "a load that must not differ; if it does, trust nothing"),
    Word("margin", "the smallest effect that matters: 5 %, or --margin"),
    Word("95 % CI", "where the true effect lies, in 95 of 100 such runs"),
    Word("interim look", "a planned check whether the groups decide already"),
    Word("resolution", "the smallest effect that could be told from none"),
    Word("QD1, QD16, x8", "1, 16, 8 requests wait at the disk at any time"),
    Word("this stack", "disk, file system, options and scheduler together"),
)
