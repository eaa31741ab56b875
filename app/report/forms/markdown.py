"""A document as GitHub-flavoured markdown: tables stand for its drawings."""

import re
from typing import TypeAlias

from hostdx.app.terminal.printable import make_lines_printable, make_printable
from hostdx.scenarios.contract.results import document as doc

# lines with their role on a terminal (hostdx.app.terminal.output.out_parts)
Block: TypeAlias = list[tuple[str, str]]


# What is special somewhere in a line (CommonMark 2.4, GFM tables and strikethrough, $ maths of GitHub and GitLab) is
# escaped only where it would mean something: whoever reads the raw text should find few backslashes.
# one alone is plain; `_` inside a word, too
_IN_PAIRS = re.compile(r"[`*~$]|(?<![0-9A-Za-z])_|_(?![0-9A-Za-z])")
_BY_WHAT_FOLLOWS = re.compile(
    r"\\(?=[!-/:-@\[-`{-~]|$)|\](?=[(\[:])|<(?=[A-Za-z/!?])|&(?=#?[0-9A-Za-z]+;)|^\[(?=.\])"
)
_LINK = re.compile(  # what GFM would turn into a link by itself
    r"(?i)(?<=http:)/(?=/)|(?<=https:)/(?=/)|(?<=ftp:)/(?=/)|(?<=www)\.|(?<=mailto):|(?<=xmpp):"
    r"|(?<=[\w.+-])@(?=[\w-]+\.)|(?<!\w)@(?=\w)"
)
_START = re.compile(r"^([-+=#>*](?=[\s=#>*+-]|$)|[>]|[|:](?=[ :|-])|\d{1,9}(?=[.)](?:\s|$)))")


def render_markdown(document: doc.ReportDocument) -> str:
    return "\n\n".join("\n".join(line for line, _ in block) for block in markdown_blocks(document)) + "\n"


def markdown_blocks(document: doc.ReportDocument) -> list[Block]:
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
    among = " ".join(map(_text_with_added_signs, words))
    texts: list[str] = []
    for word in words:
        texts += filter(None, [_word_text(word, among, begins_line=not texts)])
    return " ".join(texts)


def _text_with_added_signs(word: doc.Cell | doc.Strong) -> str:
    """Return the word with the signs that its form adds: a sign of the text may pair with them."""
    match word:
        case doc.Mono():
            return "``"
        case doc.Strong():
            return f"**{word.text}**"
    return doc.plain_text(word)


def _word_text(word: doc.Cell | doc.Strong, among: str, *, begins_line: bool) -> str:
    escape = escape_text if begins_line else _escape_paired_signs
    match word:
        case doc.Mono():
            return inline_code(word.text)
        case doc.Strong():
            shown = escape_text(word.text, among)
            return f"**{shown}**" if shown else ""
        case doc.Toned():
            return escape(word.text, among)
        case str():
            return escape(word, among)


def _table_block(table: doc.Table) -> Block:
    rule = ["---:" if n in table.right else "---" for n in range(len(table.header))]
    lines = [[escape_cell(name) for name in table.header], rule]
    lines += [
        [cell_code(c.text) if isinstance(c, doc.Mono) else escape_cell(doc.plain_text(c)) for c in row]
        for row in table.rows
    ]
    return [("| " + " | ".join(line) + " |", "dim" if n < 2 else "") for n, line in enumerate(lines)]


def escape_text(value: str, paragraph: str = "") -> str:
    """One line of plain text. `paragraph`: all the text of its paragraph."""
    return _START.sub(_escape_line_start, _escape_paired_signs(value, paragraph))


def escape_cell(value: str) -> str:
    """Plain text in a table's cell, where no list, heading or quotation can begin, and a bar would end the cell."""
    return _escape_paired_signs(value).replace("|", "\\|")


def _escape_paired_signs(value: str, among: str = "") -> str:
    shown = make_printable(value).strip()
    signs = list(_IN_PAIRS.findall(among or shown))
    paired = {sign for sign in signs if signs.count(sign) > 1}
    special = {match.start() for match in (*_BY_WHAT_FOLLOWS.finditer(shown), *_LINK.finditer(shown))}
    special |= {match.start() for match in _IN_PAIRS.finditer(shown) if match[0] in paired}
    if not special:
        return shown
    return "".join(f"\\{sign}" if at in special else sign for at, sign in enumerate(shown))


def inline_code(value: str) -> str:
    """Inline code: the fence is longer than any run of backticks in it."""
    shown = make_printable(value)
    if not shown.strip():
        return ""
    fence = "`" * (_longest_backtick_run(shown) + 1)
    padded = f" {shown} " if shown[0] in " `" or shown[-1] in " `" else shown
    return f"{fence}{padded}{fence}"


def cell_code(value: str) -> str:
    """Inline code in a table: a bar would end the cell even there, so it is escaped (GFM takes that back)."""
    return inline_code(value.replace("\\|", "\\ |")).replace("|", "\\|")


def fenced_block(lines: str, language: str = "") -> str:
    """A fenced block."""
    shown = make_lines_printable(lines)
    fence = "`" * max(3, _longest_backtick_run(shown) + 1)
    return f"{fence}{language}\n{shown}\n{fence}"


def _longest_backtick_run(shown: str) -> int:
    return max((len(run) for run in re.findall(r"`+", shown)), default=0)


def _escape_line_start(match: re.Match[str]) -> str:
    # digits cannot be escaped: the full stop or bracket after them is
    return match[0] + "\\" if match[0][0].isdecimal() else "\\" + match[0]
