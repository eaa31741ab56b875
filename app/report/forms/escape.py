"""Text as markdown that cannot be anything but text: whatever a host, a device or a process is called."""

import re

from app.printable import printable, printable_lines

# always special somewhere in a line (CommonMark 2.4, GFM tables and strikethrough, $ maths of GitHub and GitLab)
_ANYWHERE = re.compile(r"[\\`*\[\]<|~$]")
_UNDERSCORE = re.compile(r"(?<![0-9A-Za-z])_|_(?![0-9A-Za-z])")  # inside a word it is plain
_ENTITY = re.compile(r"&(?=[#0-9A-Za-z])")
_LINK = re.compile(r"(?i)/(?=/)|(?<=www)\.|(?<=mailto):|@")  # what GFM would turn into a link by itself
_START = re.compile(r"^([-+=#>]|\d{1,9}(?=[.)](?:\s|$)))")


def text(value: str) -> str:
    """One line of plain text."""
    return _START.sub(_start, cell(value))


def cell(value: str) -> str:
    """Plain text in a table's cell, where no list, heading or quotation can begin."""
    shown = printable(value).strip()
    shown = _ANYWHERE.sub(lambda found: "\\" + found[0], shown)
    shown = _UNDERSCORE.sub(r"\\_", shown)
    shown = _ENTITY.sub(r"\\&", shown)
    return _LINK.sub(lambda found: "\\" + found[0], shown)


def code(value: str) -> str:
    """Inline code: the fence is longer than any run of backticks in it."""
    shown = printable(value)
    if not shown.strip():
        return ""
    fence = "`" * (_longest(shown) + 1)
    padded = f" {shown} " if shown[0] in " `" or shown[-1] in " `" else shown
    return f"{fence}{padded}{fence}"


def cell_code(value: str) -> str:
    """Inline code in a table: a bar would end the cell even there, so it is escaped (GFM takes that back)."""
    return code(value.replace("\\|", "\\ |")).replace("|", "\\|")


def block(lines: str, language: str = "") -> str:
    """A fenced block."""
    shown = printable_lines(lines)
    fence = "`" * max(3, _longest(shown) + 1)
    return f"{fence}{language}\n{shown}\n{fence}"


def _longest(shown: str) -> int:
    return max((len(run) for run in re.findall(r"`+", shown)), default=0)


def _start(found: re.Match[str]) -> str:
    # digits cannot be escaped: the full stop or bracket after them is
    return found[0] + "\\" if found[0][0].isdecimal() else "\\" + found[0]
