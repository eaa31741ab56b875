"""Our own report's markdown as lines: headings, lists, tables, code, emphasis. Not a general renderer: the report is
ours, what it quotes from the host is escaped there, and here everything is plain text with a role.
"""

from __future__ import annotations

import re

from rich.cells import cell_len

from app.tui.glyphs import clean
from app.tui.lines import BLANK, Line, Span, pad, text, wrapped

_INLINE = re.compile(r"(`+)(.+?)\1|\*\*(.+?)\*\*|\\([!-/:-@\[-`{-~])|<(https?://[^>]+)>")
_ENTITIES = {"&lt;": "<", "&gt;": ">", "&amp;": "&", "&#124;": "|"}


def inline(source: str, role: str = "text") -> Line:
    """`code`, **strong** and escaped characters; everything else as it stands."""
    out: list[Span] = []
    at = 0
    for match in _INLINE.finditer(source):
        out.append((_plain(source[at : match.start()]), role))
        if match[2] is not None:
            out.append((clean(match[2].strip()), "accent"))
        elif match[3] is not None:
            out.append((_plain(match[3]), "strong"))
        else:
            out.append((clean(match[4] or match[5]), role))
        at = match.end()
    out.append((_plain(source[at:]), role))
    return [part for part in out if part[0]]


def _plain(words: str) -> str:
    for entity, char in _ENTITIES.items():
        words = words.replace(entity, char)
    return clean(words)


def _folded(line: Line, width: int, indent: str, hang: str) -> list[Line]:
    """Folds a line of spans at blanks; a word longer than the line is broken."""
    out: list[Line] = [[(indent, "text")]]
    used = len(indent)
    for part, role in line:
        for word in re.findall(r"\S+\s*|\s+", part):
            size = cell_len(word.rstrip())
            if used + size > width and used > len(hang):
                out.append([(hang, "text")])
                used = len(hang)
            while cell_len(word) > width - used and cell_len(word.rstrip()) > width - used:
                cut = max(1, width - used)
                out[-1].append((word[:cut], role))
                out.append([(hang, "text")])
                used, word = len(hang), word[cut:]
            if used + cell_len(word) > width:  # a blank beyond the edge would cut the line's last letter
                word = word.rstrip()
            out[-1].append((word, role))
            used += cell_len(word)
    return out


def markdown_lines(source: str, width: int) -> list[Line]:
    out: list[Line] = []
    rows = source.split("\n")
    index = 0
    while index < len(rows):
        row = rows[index]
        stripped = row.strip()
        if fence := re.match(r"\s*(`{3,}|~{3,})", row):
            index += 1
            while index < len(rows) and not rows[index].strip().startswith(fence[1]):
                out += [[("  ", "text"), *line] for line in _code(rows[index], width - 2)]
                index += 1
        elif stripped.startswith("#"):
            level = len(stripped) - len(stripped.lstrip("#"))
            words = inline(stripped.lstrip("# "), "title" if level < 3 else "strong")
            out += _folded(
                [(p.upper() if level == 2 else p, "title" if level < 3 else "strong") for p, _ in words],
                width,
                "",
                "",
            )
        elif stripped.startswith("|"):
            table = []
            while index < len(rows) and rows[index].strip().startswith("|"):
                table.append(_cells(rows[index]))
                index += 1
            out += _table(table, width)
            continue
        elif item := re.match(r"(\s*)([-*]|\d+\.)\s+(.*)", row):
            mark = "· " if item[2] in "-*" else f"{item[2]} "
            indent = "  " * (len(item[1]) // 2) + mark
            out += _folded(inline(item[3]), width, indent, " " * len(indent))
        elif not stripped:
            if out and out[-1] != BLANK:
                out.append(BLANK)
        elif stripped.startswith(">"):
            out += _folded(inline(stripped.lstrip("> "), "dim"), width, "  ", "  ")
        elif row.startswith("    "):
            out += [[("  ", "text"), *line] for line in _code(row[4:], width - 2)]
        else:
            out += _folded(inline(stripped), width, "", "")
        index += 1
    return out


def _code(row: str, width: int) -> list[Line]:
    cleaned = clean(row)
    return (
        [text(cleaned, "accent")] if cell_len(cleaned) <= width else wrapped(cleaned, width, "accent", hang=2)
    )


def _cells(row: str) -> list[Line]:
    inner = row.strip().strip("|")
    return [inline(cell.strip()) for cell in re.split(r"(?<!\\)\|", inner)]


def _table(rows: list[list[Line]], width: int) -> list[Line]:
    """Columns as wide as they need; where they do not fit, each row becomes a block of `name  value` lines."""
    body = [r for r in rows if not all(set("".join(p for p, _ in c)) <= set("-: ") for c in r)]
    if not body:
        return []
    count = max(len(r) for r in body)
    sizes = [
        max((sum(cell_len(p) for p, _ in r[c]) for r in body if c < len(r)), default=0) for c in range(count)
    ]
    if sum(sizes) + 2 * (count - 1) <= width:
        out = []
        for n, row in enumerate(body):
            line: Line = []
            for column, cell in enumerate(row):
                spans = [(p, "dim") for p, _ in cell] if n == 0 else cell
                line += [*pad(spans, sizes[column]), ("  ", "text")]
            out.append(line)
        return out
    names = body[0]
    label = min(22, max(sum(cell_len(p) for p, _ in c) for c in names))
    out = []
    for row in body[1:]:
        for name, cell in zip(names, row, strict=False):
            folded = _folded(cell, width - label - 2, "", "")
            for n, line in enumerate(folded):
                out.append(
                    [*pad([(p, "dim") for p, _ in name] if not n else [], label), ("  ", "text"), *line]
                )
        out.append(BLANK)
    return out
