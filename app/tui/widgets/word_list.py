"""The terms that the screens use, each in one sentence: a part of the keys' screen, filtered and scrolled like them."""

from functools import cache, partial

from app.terminal.lines import Line, crop_line, text_line, wrap_text
from app.tui.widgets.picker import Picker, PickerRow
from probes.files.safe_read import read_own_data

_WORD = 14


@cache
def read_words() -> dict[str, str]:
    return read_own_data(__file__, "words.toml", dict[str, str])


def _term_line(term: str, meaning: str, width: int) -> Line:
    return [(f"{term:<{_WORD}}", "strong"), *wrap_text(meaning, max(8, width - _WORD))[0]]


def _rest_line(meaning: str, width: int) -> Line:
    rest = wrap_text(meaning, max(8, width - _WORD))[1:]
    return [(" " * _WORD, "text"), *(part for line in rest for part in line)] if rest else []


def word_lines(width: int) -> list[Line]:
    """All of them under a head, a line each: what can be read meanwhile."""
    lines = [
        crop_line([(f"{name:<{_WORD}} ", "text"), (means, "dim")], width)
        for name, means in read_words().items()
    ]
    return [text_line("WORDS THAT COME UP", "title"), *lines]


class WordList(Picker):
    """Nothing to choose: it is read."""

    def __init__(self) -> None:
        super().__init__(id="words", title="WORDS")
        self._rows = [
            PickerRow(name, partial(_term_line, name, means), f"{name} {means}", partial(_rest_line, means))
            for name, means in read_words().items()
        ]

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return action != "choose"
