"""What a scenario measures, how, and what it cannot tell: the page that `hostdx explain SCENARIO` prints."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from textual.widget import Widget

from app.lines import BLANK, Line, crop_line, split_line, text_line, wrap_text
from app.tui.screens.base import Base
from app.tui.widgets.panel import Panel
from app.tui.widgets.reader import Reader

MAX_COLUMNS = 110  # longer lines of prose are hard to read


def page_lines(page: str, width: int) -> list[Line]:
    """A README.md: prose is folded anew for the width; commands and tables stay as they are, cut at the edge."""
    out: list[Line] = []
    for kind, words in _split_page(page):
        if kind == "as it is":
            out.append(crop_line(text_line(words, "accent"), width))
        elif kind == "heading":
            out += [*([BLANK] if out else []), *wrap_text(words, min(width, MAX_COLUMNS), "title")]
        elif kind == "blank":
            out.append(BLANK)
        else:
            out += wrap_text(words, min(width, MAX_COLUMNS), hang=2 if kind == "item" else 0)
    return out


def _split_page(page: str) -> Iterator[tuple[str, str]]:
    """(kind, words) of headings, paragraphs, list items, and lines that stay as they are."""
    kind, words, fenced = "", "", False
    for line in [*page.splitlines(), ""]:
        fence = line.startswith("```")
        start = line.startswith(("- ", "* ", "#", "|", "    ")) or not line.strip()
        if words and (start or fence or fenced):
            yield kind, words
            words = ""
        if fence:
            fenced = not fenced
        elif fenced or line.startswith(("|", "    ")):
            yield "as it is", line
        elif line.startswith("#"):
            yield "heading", line.lstrip("#").strip()
        elif not line.strip():
            yield "blank", ""
        elif words:
            words += f" {line.strip()}"
        else:
            kind, words = ("item" if start else "prose"), line.strip()


class ExplainHead(Panel):
    DEFAULT_CSS = "ExplainHead { height: 2; }"

    def __init__(self, scenario: str) -> None:
        super().__init__(id="head")
        self._scenario = scenario

    def draw(self, width: int, height: int) -> list[Line]:
        return [split_line(text_line("explain", "title"), text_line(self._scenario, "dim"), width)]


class ExplainScreen(Base):
    title_words = "explain"

    def __init__(self, scenario: str, page: str) -> None:
        super().__init__()
        self.scenario, self.page = scenario, page

    def compose_body(self) -> Iterable[Widget]:
        yield ExplainHead(self.scenario)
        yield Reader(lambda width: page_lines(self.page, width))
