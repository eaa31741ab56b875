"""The terms that the screens use, each in one sentence: a part of the keys' screen, filtered and scrolled like them."""

from functools import cache, partial

from app.lines import Line, crop, text, wrapped
from app.tui.widgets.picker import Picker, PickerRow
from probes.safe_read import own_data

_WORD = 14


@cache
def words() -> dict[str, str]:
    return own_data(__file__, "words.toml", dict[str, str])


def _line(term: str, said: str, width: int) -> Line:
    return [(f"{term:<{_WORD}}", "strong"), *wrapped(said, max(8, width - _WORD))[0]]


def _second(said: str, width: int) -> Line:
    rest = wrapped(said, max(8, width - _WORD))[1:]
    return [(" " * _WORD, "text"), *(part for line in rest for part in line)] if rest else []


def word_lines(width: int) -> list[Line]:
    """All of them under a head, a line each: what can be read meanwhile."""
    named = [crop([(f"{name:<{_WORD}} ", "text"), (means, "dim")], width) for name, means in words().items()]
    return [text("WORDS THAT COME UP", "title"), *named]


class WordList(Picker):
    """Nothing to choose: it is read."""

    def __init__(self) -> None:
        super().__init__(id="words", title="WORDS")
        self._rows = [
            PickerRow(name, partial(_line, name, means), f"{name} {means}", partial(_second, means))
            for name, means in words().items()
        ]

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return action != "choose"
