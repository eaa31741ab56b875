"""A document as GitHub-flavoured markdown: tables stand for its drawings."""

import re
from typing import TypeAlias

from hostdx.app.terminal.printable import make_lines_printable, make_printable
from hostdx.scenarios.contract.results import document as doc

# lines with their role on a terminal (hostdx.app.terminal.output.out_parts)
Block: TypeAlias = list[tuple[str, str]]


# always special somewhere in a line (CommonMark 2.4, GFM tables and strikethrough, $ maths of GitHub and GitLab)
_ANYWHERE = re.compile(r"[\\`*\[\]<|~$]")
_UNDERSCORE = re.compile(r"(?<![0-9A-Za-z])_|_(?![0-9A-Za-z])")  # inside a word it is plain
_ENTITY = re.compile(r"&(?=[#0-9A-Za-z])")
_LINK = re.compile(r"(?i)/(?=/)|(?<=www)\.|(?<=mailto):|@")  # what GFM would turn into a link by itself
_START = re.compile(r"^([-+=#>]|\d{1,9}(?=[.)](?:\s|$)))")


def render_markdown(document: doc.ReportDocument) -> str:
    return "\n\n".join("\n".join(line for line, _ in block) for block in list_blocks(document)) + "\n"


def list_blocks(document: doc.ReportDocument) -> list[Block]:
    """Return what a blank line parts, each line with what it is for."""
    all_blocks: list[Block] = [
        [(f"# {escape_text(document.title)}", "strong")],
        [(_words_text(document.lead), "strong")],
    ]
    first_appendix = next((section for section in document.sections if section.appendix), None)
    for section in document.sections:
        if section is first_appendix:
            all_blocks.append([("---", "dim")])
        all_blocks += section_blocks(section)
    return [block for block in all_blocks if any(line for line, _ in block)]


def section_blocks(section: doc.ReportSection) -> list[Block]:
    """Return the section with its title; nothing where all that it holds is drawings without a table."""
    part_blocks = [block for part in section.parts if (block := _part_block(part))]
    return [[(f"## {escape_text(section.title)}", "strong")], *part_blocks] if part_blocks else []


def _part_block(part: doc.Part) -> Block:
    match part:
        case doc.Heading():
            return [(f"### {escape_text(part.text)}", "strong")]
        case doc.Paragraph():
            return [(_words_text(part.words), "")]
        case doc.Bullets():
            return [(f"- {_words_text(item)}", "") for item in part.items]
        case doc.Effects():
            return _table_block(part.table)
        case doc.Picture() if part.table is None and part.lines:
            return [(fenced_block("\n".join(part.lines), ""), "")]
        case doc.Gallery() | doc.Picture():
            return _table_block(part.table) if part.table is not None else []
        case doc.Tiles() | doc.Histogram() | doc.Chart():
            return []
        case doc.Code():
            return [(fenced_block("\n".join(part.lines), part.language), "")]
        case doc.Table():
            return _table_block(part)


def _words_text(words: doc.Words) -> str:
    return " ".join(filter(None, (_word_text(word) for word in words)))


def _word_text(word: doc.Cell | doc.Strong) -> str:
    match word:
        case doc.Mono():
            return inline_code(word.text)
        case doc.Strong():
            shown = escape_text(word.text)
            return f"**{shown}**" if shown else ""
        case doc.Toned():
            return escape_text(word.text)
        case str():
            return escape_text(word)


def _table_block(table: doc.Table) -> Block:
    rule = ["---:" if n in table.right else "---" for n in range(len(table.header))]
    lines = [[escape_text(name) for name in table.header], rule]
    lines += [
        [cell_code(c.text) if isinstance(c, doc.Mono) else escape_cell(doc.plain_text(c)) for c in row]
        for row in table.rows
    ]
    return [("| " + " | ".join(line) + " |", "dim" if n < 2 else "") for n, line in enumerate(lines)]


def escape_text(value: str) -> str:
    """One line of plain text."""
    return _START.sub(_escape_start, escape_cell(value))


def escape_cell(value: str) -> str:
    """Plain text in a table's cell, where no list, heading or quotation can begin."""
    shown = make_printable(value).strip()
    shown = _ANYWHERE.sub(lambda match: "\\" + match[0], shown)
    shown = _UNDERSCORE.sub(r"\\_", shown)
    shown = _ENTITY.sub(r"\\&", shown)
    return _LINK.sub(lambda match: "\\" + match[0], shown)


def inline_code(value: str) -> str:
    """Inline code: the fence is longer than any run of backticks in it."""
    shown = make_printable(value)
    if not shown.strip():
        return ""
    fence = "`" * (_longest_run(shown) + 1)
    padded = f" {shown} " if shown[0] in " `" or shown[-1] in " `" else shown
    return f"{fence}{padded}{fence}"


def cell_code(value: str) -> str:
    """Inline code in a table: a bar would end the cell even there, so it is escaped (GFM takes that back)."""
    return inline_code(value.replace("\\|", "\\ |")).replace("|", "\\|")


def fenced_block(lines: str, language: str = "") -> str:
    """A fenced block."""
    shown = make_lines_printable(lines)
    fence = "`" * max(3, _longest_run(shown) + 1)
    return f"{fence}{language}\n{shown}\n{fence}"


def _longest_run(shown: str) -> int:
    return max((len(run) for run in re.findall(r"`+", shown)), default=0)


def _escape_start(match: re.Match[str]) -> str:
    # digits cannot be escaped: the full stop or bracket after them is
    return match[0] + "\\" if match[0][0].isdecimal() else "\\" + match[0]
