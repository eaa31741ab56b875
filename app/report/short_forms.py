"""A report in fewer lines: its first page alone, or as much of the rest as 200 lines of Markdown hold."""

from collections.abc import Iterable

import msgspec

from hostdx.app.report.forms.markdown import Block, markdown_blocks, section_blocks
from hostdx.probes.units import count_noun
from hostdx.scenarios.contract.results import document as doc

MAX_LINES = 200
MIN_ROWS = 8  # of a table that is cut


def cut_to_first_page(document: doc.ReportDocument, whole_command: str) -> doc.ReportDocument:
    """Return the report without its appendix, and at the end the command for the whole report."""
    return _add_left_out(
        document, [s for s in document.sections if not s.appendix], ["the appendix"], whole_command
    )


def shorten_document(document: doc.ReportDocument, whole_command: str) -> doc.ReportDocument:
    """Return the report in at most `MAX_LINES` lines of Markdown: the shortest sections of the appendix that fit.

    The sections that do not fit are named with their length. Rows of a first page that is too long are cut.
    """
    if _count_lines(markdown_blocks(document)) <= MAX_LINES:
        return document
    first = _fit_to_page([section for section in document.sections if not section.appendix])
    appendix = [section for section in document.sections if section.appendix]
    lengths = {n: _count_lines(section_blocks(section)) + 1 for n, section in enumerate(appendix)}
    room = MAX_LINES - _count_lines(markdown_blocks(_add_left_out(document, first, ["…"], whole_command))) - 2
    shown_sections = set[int]()
    for n, length in sorted(lengths.items(), key=lambda entry: entry[1]):
        if length <= room:
            shown_sections.add(n)
            room -= length
    left_out = [
        f"{section.title} ({count_noun(lengths[n], 'line')})"
        for n, section in enumerate(appendix)
        if n not in shown_sections
    ]
    shown = [section for n, section in enumerate(appendix) if n in shown_sections]
    return _add_left_out(document, [*first, *shown], left_out, whole_command)


def _add_left_out(
    document: doc.ReportDocument,
    sections: Iterable[doc.ReportSection],
    left_out: list[str],
    whole_command: str,
) -> doc.ReportDocument:
    parts = (doc.paragraph_of(f"Left out here: {', '.join(left_out)}."), doc.Code((whole_command,), "sh"))
    return msgspec.structs.replace(
        document, sections=(*sections, doc.ReportSection("The whole report", parts))
    )


def _fit_to_page(sections: list[doc.ReportSection]) -> list[doc.ReportSection]:
    """Halve the longest table or list until the first page leaves a quarter of the lines; commands stay whole."""
    while sum(_count_lines(section_blocks(section)) + 1 for section in sections) > MAX_LINES * 3 // 4:
        places = [(s, p) for s, section in enumerate(sections) for p in range(len(section.parts))]
        at, place = max(places, key=lambda pair: _count_rows(sections[pair[0]].parts[pair[1]]))
        part = sections[at].parts[place]
        count = _count_rows(part)
        if count <= MIN_ROWS:
            break
        cut = _cut_rows_of_part(part, count // 2)
        parts = (*sections[at].parts[:place], cut, *sections[at].parts[place + 1 :])
        sections[at] = msgspec.structs.replace(sections[at], parts=parts)
    return sections


def _count_rows(part: doc.Part) -> int:
    match part:
        case doc.Table():
            return len(part.rows)
        case doc.Effects():
            return len(part.table.rows)
        case doc.Bullets():
            return len(part.items)
    return 0


def _cut_rows_of_part(part: doc.Part, count: int) -> doc.Part:
    match part:
        case doc.Bullets():
            return msgspec.structs.replace(part, items=(*part.items[: count - 1], ("…",)))
        case doc.Effects():
            return _cut_table(part.table, count)
        case doc.Table():
            return _cut_table(part, count)
    return part


def _cut_table(table: doc.Table, count: int) -> doc.Table:
    blank = ("…", *[""] * (len(table.header) - 1))
    return msgspec.structs.replace(table, rows=(*table.rows[: count - 1], blank))


def _count_lines(blocks: list[Block]) -> int:
    """Of the Markdown, with the blank lines between the blocks."""
    return sum(line.count("\n") + 1 for block in blocks for line, _ in block) + len(blocks) - 1
