"""The terms that the screens use, each in one sentence: a part of the keys' screen, filtered and scrolled like them."""

from __future__ import annotations

from functools import partial

from app.tui.lines import Line, wrapped
from app.tui.widgets.picker import Picker, Row
from app.tui.words import WORDS

_WORD = 14


def _line(term: str, said: str, width: int) -> Line:
    return [(f"{term:<{_WORD}}", "strong"), *wrapped(said, max(8, width - _WORD))[0]]


def _second(said: str, width: int) -> Line:
    rest = wrapped(said, max(8, width - _WORD))[1:]
    return [(" " * _WORD, "text"), *(part for line in rest for part in line)] if rest else []


class WordList(Picker):
    """Nothing to choose: it is read."""

    def __init__(self) -> None:
        super().__init__(id="words", title="WORDS")
        self._rows = [
            Row(name, partial(_line, name, means), f"{name} {means}", partial(_second, means))
            for name, means in WORDS
        ]

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return action != "choose"
