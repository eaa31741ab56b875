"""The terms that the screens use, each in one sentence: a part of the keys' screen, filtered and scrolled like them."""

from functools import cache, partial

from hostdx.app.terminal.lines import Line, crop_line, text_line, wrap_text
from hostdx.app.tui.widgets.picker import Picker, PickerRow
from hostdx.probes.files.safe_read import read_shipped_toml

_WORD = 14


@cache
def read_words() -> dict[str, str]:
    return read_shipped_toml(__file__, "words.toml", dict[str, str])


def _term_and_meaning(term: str, meaning: str, width: int) -> list[Line]:
    """Return the term and its whole meaning, as many lines as it takes."""
    rows = wrap_text(meaning, max(8, width - _WORD))
    heads = [(f"{term:<{_WORD}}", "strong"), *[(" " * _WORD, "text")] * (len(rows) - 1)]
    return [[head, *row] for head, row in zip(heads, rows, strict=True)]


def _drawn_line(line: Line, _width: int) -> Line:
    return line


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
        self._width = 0

    def build_rows(self) -> list[PickerRow]:
        """An item a line: a meaning that takes several is scrolled line by line, and filtered as a whole."""
        return [
            PickerRow(f"{term} {number}", partial(_drawn_line, line), f"{term} {meaning}")
            for term, meaning in read_words().items()
            for number, line in enumerate(_term_and_meaning(term, meaning, self._width))
        ]

    def draw(self, width: int, height: int) -> list[Line]:
        self._width = width - (6 if self.has_borders else 2)  # the frame, and the cursor's columns
        return super().draw(width, height)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return action != "choose"
