"""Text as markdown that cannot be anything but text: whatever a host, a device or a process is called."""

import re

from app.terminal.printable import make_lines_printable, make_printable

# always special somewhere in a line (CommonMark 2.4, GFM tables and strikethrough, $ maths of GitHub and GitLab)
_ANYWHERE = re.compile(r"[\\`*\[\]<|~$]")
_UNDERSCORE = re.compile(r"(?<![0-9A-Za-z])_|_(?![0-9A-Za-z])")  # inside a word it is plain
_ENTITY = re.compile(r"&(?=[#0-9A-Za-z])")
_LINK = re.compile(r"(?i)/(?=/)|(?<=www)\.|(?<=mailto):|@")  # what GFM would turn into a link by itself
_START = re.compile(r"^([-+=#>]|\d{1,9}(?=[.)](?:\s|$)))")


def text(value: str) -> str:
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
