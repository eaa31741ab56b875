"""A document as GitHub-flavoured markdown."""

from typing import TypeAlias

from app.report.figures.histogram import histogram_lines
from app.report.figures.interval_chart import interval_lines
from app.report.figures.plot import chart_lines
from app.report.forms import escape
from app.terminal.lines import Line
from scenarios.contract.results import document as doc

WIDTH = 78  # cells of a drawing

Block: TypeAlias = list[
    tuple[str, str]
]  # lines with their role on a terminal (app.terminal.output.out_parts)


def render_markdown(document: doc.ReportDocument) -> str:
    return "\n\n".join("\n".join(line for line, _ in block) for block in list_blocks(document)) + "\n"


def list_blocks(document: doc.ReportDocument) -> list[Block]:
    """Return what a blank line parts, each line with what it is for."""
    all_blocks: list[Block] = [
        [(f"# {escape.text(document.title)}", "strong")],
        [(_words_text(document.lead), "strong")],
    ]
    first_appendix = next((section for section in document.sections if section.appendix), None)
    for section in document.sections:
        if section is first_appendix:
            all_blocks.append([("---", "dim")])
        all_blocks.append([(f"## {escape.text(section.title)}", "strong")])
        all_blocks += [_part_block(part) for part in section.parts]
    return [block for block in all_blocks if any(line for line, _ in block)]


def _part_block(part: doc.Part) -> Block:
    match part:
        case doc.Heading():
            return [(f"### {escape.text(part.text)}", "strong")]
        case doc.Paragraph():
            return [(_words_text(part.words), "")]
        case doc.Bullets():
            return [(f"- {_words_text(item)}", "") for item in part.items]
        case doc.Effects():
            return [
                *_table_block(part.table),
                ("", ""),
                (_drawing_block(interval_lines(part.drawn, WIDTH)), ""),
            ]
        case doc.Gallery():
            return [line for drawing in part.drawings for line in (*_part_block(drawing), ("", ""))][:-1]
        case doc.Tiles():
            return []
        case doc.Histogram():
            return [*_heading_block(part.title), (_drawing_block(histogram_lines(part, WIDTH)), "")]
        case doc.Chart():
            return [
                *_heading_block(part.title),
                (escape.fenced_block("\n".join(chart_lines(part, WIDTH))), ""),
            ]
        case doc.Picture():
            return [(escape.fenced_block("\n".join(part.lines), ""), "")] if part.lines else []
        case doc.Code():
            return [(escape.fenced_block("\n".join(part.lines), part.language), "")]
        case doc.Table():
            return _table_block(part)


def _heading_block(title: str) -> Block:
    return [(f"### {escape.text(title)}", "strong"), ("", "")]


def _drawing_block(lines: list[Line]) -> str:
    return escape.fenced_block("\n".join("".join(words for words, _ in line).rstrip() for line in lines))


def _words_text(words: doc.Words) -> str:
    return " ".join(filter(None, (_word_text(word) for word in words)))


def _word_text(word: doc.Cell | doc.Strong) -> str:
    match word:
        case doc.Mono():
            return escape.inline_code(word.text)
        case doc.Strong():
            shown = escape.text(word.text)
            return f"**{shown}**" if shown else ""
        case doc.Toned():
            return escape.text(word.text)
        case str():
            return escape.text(word)


def _table_block(table: doc.Table) -> Block:
    rule = ["---:" if n in table.right else "---" for n in range(len(table.header))]
    lines = [[escape.text(name) for name in table.header], rule]
    lines += [
        [
            escape.cell_code(c.text) if isinstance(c, doc.Mono) else escape.escape_cell(doc.plain_text(c))
            for c in row
        ]
        for row in table.rows
    ]
    return [("| " + " | ".join(line) + " |", "dim" if n < 2 else "") for n, line in enumerate(lines)]
