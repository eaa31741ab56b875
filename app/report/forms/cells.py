"""A document as lines of the screen: headings, lists, tables, commands. Folds at blanks; nothing is cut off."""

from bisect import bisect_right
from collections.abc import Sequence
from itertools import zip_longest

from rich.cells import cell_len

from hostdx.app.terminal.invocation import command_to_paste
from hostdx.app.terminal.lines import (
    BLANK,
    Line,
    cell_width,
    clean_line,
    crop_line,
    fit_line,
    fold_spans,
    keep_units_together,
    text_line,
    wrap_text,
)
from hostdx.scenarios.contract.results import document as doc

MAX_PROSE_COLUMNS = 110  # longer lines of prose are hard to read
_NARROW = 76  # cells: in fewer a table whose rows would be high is none any more
_MAX_FOLD_RATIO = 1.6  # of them it may need whole
_BREAK = 9  # cells that a broken word has at least
_WORD = 14  # cells of a word that is broken only where there is no other way
_MIN_BAR_CELLS, _MAX_BAR_CELLS = 25, 61
_ROLES: dict[type, str] = {doc.Mono: "accent", doc.Strong: "strong"}


def document_lines(document: doc.ReportDocument, width: int) -> list[Line]:
    """For a screen: `width` is never passed."""
    prose = min(width, MAX_PROSE_COLUMNS)
    out = fold_spans(_make_spans((document.title,), "title"), prose)
    out += [BLANK, *fold_spans(_make_spans(document.lead, "strong"), prose)]
    for section in document.sections:
        out += [BLANK, *fold_spans([(section.title.upper(), "title")], prose)]
        for part in section.parts:
            if lines := _part_lines(part, width if isinstance(part, doc.Table | doc.Effects) else prose):
                out += [BLANK, *lines]
    return out


def parts_lines(parts: Sequence[doc.Part], width: int) -> list[Line]:
    """Some parts of a document, close together; a blank before what begins in strong words."""
    out: list[Line] = []
    for part in parts:
        begins = isinstance(part, doc.Paragraph) and part.words and isinstance(part.words[0], doc.Strong)
        out += [*([BLANK] if begins and out else []), *_part_lines(part, min(width, MAX_PROSE_COLUMNS))]
    return out


def run_end_lines(sections: Sequence[doc.ReportSection], width: int) -> list[Line]:
    """For the end of a run on a terminal, of which a command is copied: that is a line, however long it is."""
    out: list[Line] = []
    for section in (candidate for candidate in sections if candidate.parts):
        out += [BLANK, [(section.title, section.role)]]
        for part in section.parts:
            lines = _part_lines(part, width - 2, mark="")
            if isinstance(part, doc.Code):
                lines = [[(f"  {command_to_paste(line)}", "text")] for line in part.lines]
            out += [[("  ", "text"), *line] if line else line for line in lines]
    return [clean_line(line) for line in out]


def _part_lines(part: doc.Part, width: int, mark: str = "· ") -> list[Line]:
    """`mark`: before an item of a list; without one the second line of a text is set in."""
    match part:
        case doc.Heading():
            return fold_spans([(part.text, "strong")], width)
        case doc.Paragraph():
            return fold_spans(_make_spans(part.words), width, hang="" if mark else "  ")
        case doc.Bullets():
            return [row for item in part.items for row in fold_spans(_make_spans(item), width, mark, "  ")]
        case doc.Code():
            return [
                [("  ", "text"), *row]
                for line in part.lines
                for row in _code_lines(command_to_paste(line), width - 2)
            ]
        case doc.Effects():
            return _effects_lines(part, width)
        case doc.Gallery():
            return [line for drawing in part.drawings for line in (BLANK, *_part_lines(drawing, width))][1:]
        case doc.Tiles():
            return []
        case doc.Histogram():
            from hostdx.app.report.figures.latency import (
                histogram_lines,  # triage draws none, and is to be quick
            )

            return [*fold_spans([(part.title, "strong")], width), BLANK, *histogram_lines(part, width)]
        case doc.Chart():
            from hostdx.app.report.figures.plot import chart_lines

            head = fold_spans([(part.title, "strong")], width)
            return [*head, BLANK, *(crop_line(text_line(line), width) for line in chart_lines(part, width))]
        case doc.Picture():
            return [crop_line(text_line(line), width) for line in part.lines]
        case doc.Table():
            return table_lines(part, width)


def _make_spans(words: doc.Words, role: str = "text") -> Line:
    """Words with a blank between them; what is empty is left out."""
    out: Line = []
    for word in words:
        shown = word.text if isinstance(word, doc.Strong) else doc.plain_text(word)
        if shown := command_to_paste(shown) if isinstance(word, doc.Mono) else shown:
            own = word.role if isinstance(word, doc.Toned) else _ROLES.get(type(word), role)
            out.append((shown if not out else f" {shown}", own))
    return out


def _code_lines(row: str, width: int) -> list[Line]:
    return [text_line(row, "accent")] if cell_len(row) <= width else wrap_text(row, width, "accent", hang=2)


def _effects_lines(part: doc.Effects, width: int) -> list[Line]:
    """Each interval in its row where the table, without spare columns if need be, leaves room; else below the
    table; above one with spare columns, which has the same figures once more."""
    from hostdx.app.report.figures.interval_chart import axis_line, draw_bar, interval_lines, scale_for_bars

    table, drawn = part.table, part.drawn
    while (room := width - _unfolded_table_width(table)) < _MIN_BAR_CELLS and table.spare:
        table = _without_last_spare(table)
    if room < _MIN_BAR_CELLS:
        below, above = table_lines(part.table, width), interval_lines(drawn, width)
        return [*above, BLANK, *below] if part.table.spare else [*below, BLANK, *above]
    table_width, room = _unfolded_table_width(table), min(_MAX_BAR_CELLS, room)
    scale = scale_for_bars(drawn.bars)
    bars = dict(zip(part.rows, drawn.bars, strict=True))
    first, *rest = table_lines(table, table_width)
    out = [[*fit_line(first, table_width), *axis_line(room, scale)]]
    for n, line in enumerate(rest):
        shown = draw_bar(bars[n], room, scale, drawn.margin) if n in bars else []
        out.append([*fit_line(line, table_width), *shown])
    return out


def _head_and_body_lines(table: doc.Table) -> tuple[list[Line], list[list[Line]]]:
    return [[(name, "dim")] for name in table.header], [
        [_make_spans((cell,)) for cell in row] for row in table.rows
    ]


def _unfolded_table_width(table: doc.Table) -> int:
    """Return the cells of an unfolded table, a gap behind each column."""
    return sum(_unfolded_widths(*_head_and_body_lines(table))) + 2 * len(table.header)


def _without_last_spare(table: doc.Table) -> doc.Table:
    return table.only_columns([n for n in range(len(table.header)) if n != max(table.spare)])


def _unfolded_widths(head: list[Line], body: list[list[Line]]) -> list[int]:
    return [max(cell_width(row[column]) for row in (head, *body)) for column in range(len(head))]


def panel_lines(table: doc.Table, width: int) -> list[Line]:
    """Return the table's lines, without the spare columns that make a row wider than the panel."""
    while table.spare and _unfolded_table_width(table) - 2 > width:
        table = _without_last_spare(table)
    return table_lines(table, width)


def table_lines(table: doc.Table, width: int) -> list[Line]:
    """Columns as wide as they need; where they do not fit text breaks in the column in which the fewest rows do, a long
    word itself at last. Where not even that does each row becomes a block of `name  value` lines."""
    head, body = _head_and_body_lines(table)
    sizes = _unfolded_widths(head, body)
    least = [max(map(_longest_word, (row[column] for row in (head, *body)))) for column in range(len(head))]
    gap = 2 if sum(least) + 2 * (len(sizes) - 1) <= width else 1
    room = width - gap * (len(sizes) - 1)
    if width < _NARROW and (sum(least) > room or sum(sizes) > _MAX_FOLD_RATIO * room):
        return _rows_as_blocks(head, body, width)
    unbroken = least
    if sum(sizes) > room:  # one long word is broken before it leaves the other columns a few cells each
        most = max(_WORD, room // len(sizes))
        least = [size if n in table.right else min(size, most) for n, size in enumerate(least)]
    while sum(least) > room:
        widest = max(range(len(least)), key=lambda n: (n not in table.right, least[n]))
        if least[widest] <= _BREAK:
            return _rows_as_blocks(head, body, width)
        least[widest] -= 1
    rows = [sorted(cell_width(row[column]) for row in (head, *body)) for column in range(len(sizes))]

    def fold_cost(n: int) -> tuple[int, bool, int]:
        """Of a cell less: how many rows are folded in that column then, and whether at a blank."""
        size = sizes[n] - 1
        return len(rows[n]) - bisect_right(rows[n], size), size < unbroken[n], -size

    while sum(sizes) > room:
        sizes[min((n for n, size in enumerate(sizes) if size > least[n]), key=fold_cost)] -= 1
    return [line for row in (head, *body) for line in _folded_row_lines(row, sizes, table.right, gap)]


def _rows_as_blocks(head: list[Line], body: list[list[Line]], width: int) -> list[Line]:
    label = min(22, max(cell_width(name) for name in head))
    out: list[Line] = []
    for row in body:
        for name, cell in zip(head, row, strict=True):
            for n, line in enumerate(fold_spans(cell, width - label - 2)):
                out.append([*fit_line([] if n else name, label), ("  ", "text"), *line])
        out.append(BLANK)
    return out


def _longest_word(cell: Line) -> int:
    words = keep_units_together("".join(part for part, _ in cell)).split(" ")
    return max(map(cell_len, words))


def _folded_row_lines(row: list[Line], sizes: list[int], right: frozenset[int], gap: int) -> list[Line]:
    """As high as its highest cell."""
    folds = [fold_spans(cell, size) for cell, size in zip(row, sizes, strict=True)]
    out: list[Line] = []
    for parts in zip_longest(*folds, fillvalue=BLANK):
        line: Line = []
        for column, cell in enumerate(parts):
            missing = (" " * (sizes[column] - cell_width(cell)), "text")
            line += [missing, *cell] if column in right else [*cell, missing]
            line.append((" " * gap, "text"))
        out.append(line[:-1] if len(parts) - 1 in right else line[:-2])
    return out
