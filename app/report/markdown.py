"""A document as GitHub-flavoured markdown."""

from __future__ import annotations

from app.report import escape
from app.report.document import (
    Bullets,
    Code,
    Document,
    Heading,
    Mono,
    Paragraph,
    Part,
    Picture,
    Strong,
    Table,
    Words,
)


def rendered(document: Document) -> str:
    parts = [f"# {escape.text(document.title)}", _words(document.lead)]
    apart = next((section for section in document.sections if section.appendix), None)
    for section in document.sections:
        if section is apart:
            parts.append("---")
        parts.append(f"## {escape.text(section.title)}")
        parts += [_part(part) for part in section.parts]
    return "\n\n".join(part for part in parts if part) + "\n"


def _part(part: Part) -> str:
    match part:
        case Heading():
            return f"### {escape.text(part.text)}"
        case Paragraph():
            return _words(part.words)
        case Bullets():
            return "\n".join(f"- {_words(item)}" for item in part.items)
        case Picture():
            return escape.block("\n".join(part.lines), "") if part.lines else ""
        case Code():
            return escape.block("\n".join(part.lines), part.language)
        case Table():
            return _table(part)


def _words(words: Words) -> str:
    return " ".join(filter(None, (_word(word) for word in words)))


def _word(word: str | Mono | Strong) -> str:
    match word:
        case Mono():
            return escape.code(word.text)
        case Strong():
            shown = escape.text(word.text)
            return f"**{shown}**" if shown else ""
        case str():
            return escape.text(word)


def _table(table: Table) -> str:
    rule = ["---:" if n in table.right else "---" for n in range(len(table.header))]
    lines = [[escape.text(name) for name in table.header], rule]
    lines += [[_cell(cell) for cell in row] for row in table.rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _cell(cell: str | Mono) -> str:
    return escape.cell_code(cell.text) if isinstance(cell, Mono) else escape.cell(cell)
