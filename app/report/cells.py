"""A document as lines of the screen: headings, lists, tables, commands. Folds at blanks; nothing is cut off."""

from __future__ import annotations

import re
from collections.abc import Iterable

from rich.cells import cell_len

from app.lines import BLANK, Line, cells, crop, pad, text, wrapped
from app.report.interval_chart import interval_lines
from app.report.plot import chart_lines
from scenarios.results.document import (
    Bullets,
    Chart,
    Code,
    Document,
    Heading,
    Intervals,
    Mono,
    Paragraph,
    Part,
    Picture,
    Strong,
    Table,
    Words,
)

MOST_COLUMNS = 110  # longer lines of prose are hard to read
_ROLES: dict[type, str] = {Mono: "accent", Strong: "strong"}


def document_lines(document: Document, width: int) -> list[Line]:
    width = min(width, MOST_COLUMNS)
    out = folded(_spans((document.title,), "title"), width)
    out += [BLANK, *folded(_spans(document.lead, "strong"), width)]
    for section in document.sections:
        out += [BLANK, *folded([(section.title.upper(), "title")], width)]
        for part in section.parts:
            out += [BLANK, *_part(part, width)]
    return out


def _part(part: Part, width: int) -> list[Line]:
    match part:
        case Heading():
            return folded([(part.text, "strong")], width)
        case Paragraph():
            return folded(_spans(part.words), width)
        case Bullets():
            return [row for item in part.items for row in folded(_spans(item), width, "· ", "  ")]
        case Code():
            return [[("  ", "text"), *row] for line in part.lines for row in _code(line, width - 2)]
        case Intervals():
            return interval_lines(part, width)
        case Chart():
            head = folded([(part.title, "strong")], width)
            return [*head, BLANK, *(crop(text(line), width) for line in chart_lines(part, width))]
        case Picture():
            return [crop(text(line), width) for line in part.lines]
        case Table():
            return _table(part, width)


def _spans(words: Words, role: str = "text") -> Line:
    """Words with a blank between them; what is empty is left out."""
    out: Line = []
    for word in words:
        shown = word if isinstance(word, str) else word.text
        if shown:
            out.append((shown if not out else f" {shown}", _ROLES.get(type(word), role)))
    return out


def folded(line: Iterable[tuple[str, str]], width: int, first: str = "", hang: str = "") -> list[Line]:
    """At blanks; a word longer than a line is broken. `first` and `hang` begin the first and the other lines."""
    out: list[Line] = [[(first, "text")]]
    used = cell_len(first)
    for part, role in line:
        for word in re.findall(r"\s*\S+", part) or [part]:
            size = cell_len(word)
            if used + size > width and used > len(hang):
                out.append([(hang, "text")])
                used, word = cell_len(hang), word.lstrip()
            while cell_len(word) > width - used:
                cut = _fitting(word, max(1, width - used))
                out[-1].append((word[:cut], role))
                out.append([(hang, "text")])
                used, word = cell_len(hang), word[cut:]
            out[-1].append((word, role))
            used += cell_len(word)
    return out


def _fitting(word: str, room: int) -> int:
    """How many characters of it fit into `room` cells; at least one."""
    used = 0
    for count, char in enumerate(word):
        used += cell_len(char)
        if used > room:
            return max(1, count)
    return len(word)


def _code(row: str, width: int) -> list[Line]:
    return [text(row, "accent")] if cell_len(row) <= width else wrapped(row, width, "accent", hang=2)


def _table(table: Table, width: int) -> list[Line]:
    """Columns as wide as they need; where they do not fit, each row becomes a block of `name  value` lines."""
    head = [[(name, "dim")] for name in table.header]
    body = [[_spans((cell,)) for cell in row] for row in table.rows]
    sizes = [max(cells(row[column]) for row in (head, *body)) for column in range(len(head))]
    if sum(sizes) + 2 * (len(sizes) - 1) <= width:
        return [_row(row, sizes, table.right) for row in (head, *body)]
    label = min(22, max(cells(name) for name in head))
    out: list[Line] = []
    for row in body:
        for name, cell in zip(head, row, strict=True):
            for n, line in enumerate(folded(cell, width - label - 2)):
                out.append([*pad([] if n else name, label), ("  ", "text"), *line])
        out.append(BLANK)
    return out


def _row(row: list[Line], sizes: list[int], right: frozenset[int]) -> Line:
    out: Line = []
    for column, cell in enumerate(row):
        gap = (" " * (sizes[column] - cells(cell)), "text")
        out += [gap, *cell] if column in right else [*cell, gap]
        out.append(("  ", "text"))
    return out[:-1]
