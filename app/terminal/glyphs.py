"""The characters that are drawn: harmless for text of the host, and a plain form for terminals without Unicode."""

import locale
import os
import sys
import unicodedata
from collections.abc import Sequence
from functools import lru_cache

from hostdx.app.terminal.printable import make_printable

SIGNS = {"critical": "!", "warning": "▲", "notice": "·", "ok": "✓", "unknown": "?"}
MARKERS = ("●", "○", "■", "□", "▲", "△")  # one a variant, in the plan's order
SPARKS = "▁▂▃▄▅▆▇█"

# One cell for one cell, so that a layout is the same in both forms.
_PLAIN = {
    "●": "o", "○": "x", "■": "#", "□": "%", "▲": "^", "△": "*", "▸": ">", "▶": ">", "◂": "<", "✓": "+", "✗": "X",
    "·": ".", "•": "*", "×": "x", "…": "~", "–": "-", "—": "-", "→": ">", "←": "<", "↑": "^", "↓": "v", "µ": "u",
    "│": "|", "┤": "|", "├": "|", "─": "-", "└": "+", "┘": "+", "┌": "+", "┐": "+", "┼": "+", "┴": "+", "┬": "+",
    "━": "=", "░": ":", "▒": ":", "█": "#", "▁": "_", "▂": ".", "▃": ":", "▄": "-", "▅": "=", "▆": "+", "▇": "*",
    "“": '"', "”": '"', "‘": "'", "’": "'", "≤": "<", "≈": "~", "≥": ">", "‖": "|", "›": ">", "²": "2", "°": "o",
    "▀": "'", "▌": "|", "▏": ".", "▎": ".", "▍": "-", "▋": "=", "▊": "=", "▉": "#", "┄": "~", "┆": ":", "▐": "|",
    "╭": "+", "╮": "+", "╰": "+", "╯": "+",
}  # fmt: skip
_TABLE = str.maketrans(_PLAIN | {"±": "+-"})  # two cells: a line of the screen makes room for it before


def clean_text(text: str) -> str:
    """Text of the host as harmless cells: no control, formatting, combining or unassigned characters.

    They are written out (`\\x1b`, `\\u202e`), not dropped: a name that holds them should be seen to hold them.
    """
    if text.isascii() and text.isprintable():
        return text
    return _visible_text(text)


@lru_cache(maxsize=2048)  # a screen is drawn again and again from the same texts
def _visible_text(text: str) -> str:
    return "".join(_visible_character(char) for char in unicodedata.normalize("NFC", text))


@lru_cache(maxsize=4096)
def _visible_character(char: str) -> str:
    if char in "\n\t":
        return " "
    category = unicodedata.category(char)
    if category == "Cs":
        return make_printable(char)
    if category[0] == "C" or category in ("Mn", "Me", "Mc", "Zl", "Zp"):
        return char.encode("unicode_escape").decode("ascii")
    return char


def ascii_text(text: str) -> str:
    """The same cells in ASCII. What has no likeness is `?` (two for a wide character)."""
    if text.isascii():
        return text
    return "".join(c if c.isascii() else _ascii_or_question_mark(c) for c in text.translate(_TABLE))


@lru_cache(maxsize=4096)
def _ascii_or_question_mark(char: str) -> str:
    if "\u2800" <= char <= "\u28ff":
        return "." if char > "\u2800" else " "  # a drawing in braille keeps its outline
    if unicodedata.east_asian_width(char) in "WF":
        return "??"
    base = unicodedata.normalize("NFKD", char)[0]
    return base if base.isascii() else "?"


def spark_cell(share: float | None) -> str:
    """One cell for a share of 0..1; blank where there is none."""
    if share is None:
        return " "
    return SPARKS[min(7, max(0, int(share * 8)))]


def bar_rows(shares: Sequence[float | None], height: int) -> list[str]:
    """A column a share of 0..1 in `height` rows, the highest row first; a share that is not 0 is always seen."""
    eighths = [0 if s is None else max(int(s > 0), min(8 * height, round(s * 8 * height))) for s in shares]
    steps = " " + SPARKS
    return [
        "".join(steps[min(8, max(0, n - 8 * (height - 1 - row)))] for n in eighths) for row in range(height)
    ]


def wants_ascii() -> bool:
    """True where the terminal cannot draw more: a locale without UTF-8, or the Linux console's small font."""
    encoding = (getattr(sys.__stderr__, "encoding", None) or locale.getpreferredencoding(False)).lower()
    locale_name = os.environ.get("LC_ALL") or os.environ.get("LC_CTYPE") or os.environ.get("LANG") or ""
    utf8 = "utf" in encoding and (
        not locale_name
        or "utf" in locale_name.lower()
        or ("." not in locale_name and locale_name not in ("C", "POSIX"))
    )
    return not utf8 or os.environ.get("TERM", "") in ("linux", "dumb", "vt100", "vt220")
