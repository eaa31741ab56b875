"""A document as GitHub-flavoured markdown."""

from __future__ import annotations

from app import markdown
from app.document import Bullets, Code, Document, Heading, Mono, Paragraph, Part, Strong, Table, Words


def rendered(document: Document) -> str:
    parts = [f"# {markdown.text(document.title)}", _words(document.lead)]
    for section in document.sections:
        parts.append(f"## {markdown.text(section.title)}")
        parts += [_part(part) for part in section.parts]
    return "\n\n".join(part for part in parts if part) + "\n"


def _part(part: Part) -> str:
    match part:
        case Heading():
            return f"### {markdown.text(part.text)}"
        case Paragraph():
            return _words(part.words)
        case Bullets():
            return "\n".join(f"- {_words(item)}" for item in part.items)
        case Code():
            return markdown.block("\n".join(part.lines), part.language)
        case Table():
            return _table(part)


def _words(words: Words) -> str:
    return " ".join(filter(None, (_word(word) for word in words)))


def _word(word: str | Mono | Strong) -> str:
    match word:
        case Mono():
            return markdown.code(word.text)
        case Strong():
            shown = markdown.text(word.text)
            return f"**{shown}**" if shown else ""
        case str():
            return markdown.text(word)


def _table(table: Table) -> str:
    rule = ["---:" if n in table.right else "---" for n in range(len(table.header))]
    lines = [[markdown.text(name) for name in table.header], rule]
    lines += [[_cell(cell) for cell in row] for row in table.rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _cell(cell: str | Mono) -> str:
    return markdown.cell_code(cell.text) if isinstance(cell, Mono) else markdown.cell(cell)
