"""What a scenario measures, how, and what it cannot tell: the page that `hostdx explain SCENARIO --long` prints."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest

from textual.widget import Widget

from hostdx.app.terminal.lines import (
    BLANK,
    Line,
    cell_width,
    clean_line,
    crop_line,
    merge_spans,
    pad_line,
    text_line,
    wrap_text,
)
from hostdx.app.tui.screens.base import Base
from hostdx.app.tui.widgets.reader import Reader

MAX_COLUMNS = 110  # longer lines of prose are hard to read
COLUMN_GAP = "  "
_MARKED = re.compile(r"\*\*(?P<strong>[^*]+)\*\*|`(?P<accent>[^`]+)`|\[(?P<text>[^]]+)\]\([^)\s]+\)")
_TABLE_RULE = re.compile(r"[|:\s-]+")


def readme_lines(page: str, width: int) -> list[Line]:
    """Return a README.md as lines: prose folded for the width and without Markdown's marks, commands as they are."""
    lines: list[Line] = []
    prose_width = min(width, MAX_COLUMNS)
    for kind, words in _split_page(page):
        if kind == "as it is":
            lines.append(crop_line(text_line(words, "accent"), width))
        elif kind == "table":
            lines += render_table(words.splitlines(), width)
        elif kind == "heading":
            lines += [*([BLANK] if lines else []), *wrap_text(words, prose_width, "title")]
        elif kind == "blank":
            lines.append(BLANK)
        else:
            lines += fold_marked(words, prose_width, hang=2 if kind == "item" else 0)
    return lines


def parse_marks(words: str) -> Line:
    """Return the words as spans: `**strong**`, code in accents and links have roles in place of Markdown's marks."""
    line: Line = []
    end = 0
    for match in _MARKED.finditer(words):
        role = match.lastgroup or "text"
        line += [(words[end : match.start()], "text"), (match[role].replace("`", ""), role)]
        end = match.end()
    return clean_line([*line, (words[end:], "text")])


def fold_marked(words: str, width: int, hang: int) -> list[Line]:
    """Return the words folded to the width, each with the role that its mark gives it."""
    line = parse_marks(words)
    roles = iter([role for part, role in line for sign in part if not sign.isspace()])
    rows = wrap_text("".join(part for part, _ in line), width, hang=hang)
    return [
        merge_spans((sign, "text" if sign.isspace() else next(roles)) for part, _ in row for sign in part)
        for row in rows
    ]


def render_table(rows: Sequence[str], width: int) -> list[Line]:
    """Return a Markdown table as columns; the rule below its head is left out, long lines are cut."""
    table = [
        [parse_marks(cell.strip()) for cell in row.strip().strip("|").split("|")]
        for row in rows
        if not _TABLE_RULE.fullmatch(row)
    ]
    widths = [max(map(cell_width, column)) for column in zip_longest(*table, fillvalue=BLANK)]
    lines = []
    for row in table:
        padded_cells = [
            pad_line([*cell, (COLUMN_GAP, "text")], size + 2) for cell, size in zip(row, widths, strict=False)
        ]
        lines.append(merge_spans(crop_line([span for cell in padded_cells for span in cell], width)))
    return lines


def _split_page(page: str) -> Iterator[tuple[str, str]]:
    """Yield (kind, words) of headings, paragraphs, list items, tables, and lines that stay as they are."""
    kind, words, fenced = "", "", False
    for line in [*page.splitlines(), ""]:
        fence = line.startswith("```")
        is_row = line.startswith("|") and not fenced
        start = line.startswith(("- ", "* ", "#", "    ")) or not line.strip() or is_row != (kind == "table")
        if words and (start or fence or fenced):
            yield kind, words
            kind = words = ""
        if fence:
            fenced = not fenced
        elif fenced or (line.startswith("    ") and not words):
            yield "as it is", line
        elif is_row:
            kind, words = "table", f"{words}\n{line}".lstrip("\n")
        elif line.startswith("#"):
            yield "heading", line.lstrip("#").strip()
        elif not line.strip():
            yield "blank", ""
        elif words:
            words += f" {line.strip()}"
        else:
            kind, words = ("item" if line.startswith(("- ", "* ")) else "prose"), line.strip()


class ExplainScreen(Base):
    title_words = "explain"

    def __init__(self, scenario: str, page: str) -> None:
        super().__init__()
        self.scenario, self.page = scenario, page

    @property
    def head_words(self) -> tuple[str, str, str]:
        return "hostdx", "", self.scenario

    def compose_body(self) -> Iterable[Widget]:
        yield Reader(lambda width: readme_lines(self.page, width))
