"""Lines of text with roles: what every panel draws, before it becomes cells in colours.

A role is a meaning ("warning", "dim", "a" for the first variant), never a colour; `app/tui/theme.py` turns it into one.
`role@ground` stands on a tinted ground: `bar`, `band` (the margin), `chip`, or a severity. `target→role` opens what is
drawn there: `load:read-4k→text`.
"""

import re
from collections.abc import Iterable, Sequence
from itertools import zip_longest
from typing import TypeAlias

from rich.cells import cell_len, set_cell_size

from hostdx.app.terminal import glyphs
from hostdx.app.terminal.glyphs import clean_text

Span: TypeAlias = tuple[str, str]  # text, role
Line: TypeAlias = list[Span]

BLANK: Line = []
GAP = 3  # cells between two columns
KEPT = "\u00a0"  # in place of a blank that no line ends at
_UNIT = re.compile(r"(?<=\d) (?=[%×]|[kMGT](?: |$)|[KMGT]i?B\b|[a-zµ]?[sB](?:\b|/)|min\b|IOPS\b)")
TARGET = "→"  # between what a span opens and its role
HIGHLIGHT = "!"  # suffix of a role: the same meaning on the row that the cursor is on


def text_line(value: str, role: str = "text") -> Line:
    """Return one span of harmless text."""
    return [(clean_text(value), role)]


def cell_width(line: Iterable[Span]) -> int:
    """The width in terminal cells; wide characters count two."""
    return sum(len(part) if part.isascii() else cell_len(part) for part, _ in line)


def crop_line(line: Sequence[Span], width: int) -> Line:
    """The line in at most `width` cells; what is cut ends in an ellipsis. Its text counts as it will be shown."""
    line = clean_line(line)
    if cell_width(line) <= width:
        return line
    out: Line = []
    left = max(0, width - 1)
    for part, role in line:
        size = cell_len(part)
        if size >= left:
            out.append((set_cell_size(part, left).rstrip() if left else "", role))
            out.append(("…", role))
            break
        out.append((part, role))
        left -= size
    return out if width > 0 else []


def shorten_middle(words: str, width: int) -> str:
    """At most `width` cells; what is cut is cut in the middle: names that begin alike often differ at their end.

    A last part after a comma stays whole where it fits: `sequential write… one CPU`.
    """
    words = clean_text(words)
    if cell_len(words) <= width or width < 1:
        return words if width > 0 else ""
    tail, room = "", (width - 1) * 2 // 5
    for letter in reversed(words):
        if cell_len(letter + tail) > room:
            break
        tail = letter + tail
    comma = tail.find(", ")
    tail = tail[comma + 1 :] if comma >= 0 else tail.lstrip()
    return f"{set_cell_size(words, width - 1 - cell_len(tail)).rstrip(' ,')}…{tail}"


def shorten_names(names: Sequence[str], width: int) -> list[str]:
    """Each in at most `width` cells, as `shorten_middle`; names that would look alike keep their ends instead."""
    shortened = [shorten_middle(name, width) for name in names]
    whole_names: dict[str, set[str]] = {}
    for name, text in zip(names, shortened, strict=True):
        whole_names.setdefault(text, set()).add(clean_text(name))
    return [
        text if len(whole_names[text]) == 1 else _crop_beginning(clean_text(name), width)
        for name, text in zip(names, shortened, strict=True)
    ]


def _crop_beginning(words: str, width: int) -> str:
    while words and cell_len(words) > width - 1:
        words = words[1:]
    return f"…{words}"


def clause_prefixes(words: str) -> list[str]:
    """The whole, then ever less of what follows a comma: for a name in too few cells."""
    parts = clean_text(words).split(", ")
    return [", ".join(parts[:n]) for n in range(len(parts), 0, -1)]


def fit_line(line: Sequence[Span], width: int) -> Line:
    """Exactly `width` cells: cropped or filled with blanks."""
    cut = crop_line(line, width)
    missing = width - cell_width(cut)
    return [*cut, (" " * missing, "text")] if missing > 0 else cut


def split_line(left: Sequence[Span], right: Sequence[Span], width: int) -> Line:
    """`left` at the left edge, `right` at the right one; `left` gives way, then `right`."""
    tail = crop_line(right, width)
    room = width - cell_width(tail)
    if room <= 1:
        return tail
    return [*fit_line(left, room - 1), (" ", "text"), *tail] if tail else crop_line(left, width)


def highlight_line(line: Sequence[Span], width: int) -> Line:
    """The row under the cursor: filled to the width, every role in its highlighted form."""
    return [(part, role + HIGHLIGHT) for part, role in fit_line(line, width)]


def link_line(line: Iterable[Span], target: str) -> Line:
    """The line whose spans open `target`, except those that open something already."""
    return [
        (part, role if TARGET in role or not target else f"{target}{TARGET}{role}") for part, role in line
    ]


def link_in_style(role: str) -> str:
    return role.rpartition(TARGET)[0]


def tinted_line(line: Iterable[Span], width: int, background: str) -> Line:
    """The line filled to the width, on a tinted ground."""
    return [
        (part, role if "@" in role.rpartition(TARGET)[2] else f"{role}@{background}")
        for part, role in fit_line(clean_line(line), width)
    ]


def area_lines(shares: Sequence[float | None], height: int, role: str) -> list[Line]:
    """Columns of `height` rows, the highest first: the edge of each bright, what lies below it in the role's shade."""
    rows, above = glyphs.bar_rows(shares, height) or [""], ""
    out: list[Line] = []
    for row in rows:
        below = [at < len(above) and above[at] != " " for at in range(len(row))]
        out.append(
            merge_spans((sign, f"{role}2" if low else role) for sign, low in zip(row, below, strict=True))
        )
        above = row
    return out


def two_columns(left: Sequence[Line], right: Sequence[Line], width: int) -> list[Line]:
    """Two texts side by side, each made for `half_column_width(width)` cells."""
    room = half_column_width(width)
    return [
        [*fit_line(left_line, room), (" " * GAP, "text"), *fit_line(other, room)]
        for left_line, other in zip_longest(left, right, fillvalue=BLANK)
    ]


def half_column_width(width: int) -> int:
    return (width - GAP) // 2


def ruled_head(left: Sequence[Span], right: Sequence[Span], width: int) -> Line:
    """A section's head: its name, a rule, what there is to say about it at the right edge."""
    tail = crop_line(right, max(0, width - cell_width(left) - 4))
    rule = width - cell_width(left) - cell_width(tail) - (2 if tail else 1)
    if rule < 2:
        return split_line(left, right, width)
    return [*clean_line(left), (" " + "─" * rule + (" " if tail else ""), "rule"), *tail]


def frame_rows(
    title: str | Sequence[Span],
    rows: Sequence[Line],
    width: int,
    height: int | None = None,
    *,
    note: Sequence[Span] = (),
    role: str = "rule",
) -> list[Line]:
    """`rows` in a rounded border of `height` lines in all, else of as many as they need; its upper edge holds `title`
    and, at the right, `note`."""
    title = text_line(title, "title") if isinstance(title, str) else title
    height = len(rows) + 2 if height is None else height
    inner = max(1, width - 4)
    right = crop_line([span for span in note if span[0]], inner - 8)
    room = inner - 3 - (cell_width(right) + 2 if right else 0)
    left = [(shorten_middle(title[0][0], room), title[0][1])] if len(title) == 1 else crop_line(title, room)
    top: Line = [("╭─", role)]
    top += [(" ", role), *left, (" ", role)] if left else []
    top.append(("─" * (width - cell_width(top) - (cell_width(right) + 4 if right else 2)), role))
    top += [(" ", role), *right, (" ", role)] if right else []
    top.append(("─╮", role))
    edge: Span = ("│", role)
    shown = [*rows[: height - 2], *[BLANK] * (height - 2 - len(rows))]
    body = [[edge, (" ", "text"), *fit_line(row, inner), (" ", "text"), edge] for row in shown]
    return [top, *body, [("╰" + "─" * (width - 2) + "╯", role)]]


def wrap_text(value: str, width: int, role: str = "text", indent: int = 0, hang: int = 0) -> list[Line]:
    """`value` folded to `width`; the first line indented by `indent`, the others by `indent + hang`.

    Wide characters are folded by cells, so that no line is longer than it looks.
    """
    room = max(8, width - indent - hang)
    rows = enumerate(_fold_paragraph(value, room))
    return [[(" " * (indent + (hang if n else 0)) + row, role)] for n, row in rows]


def flow_parts(parts: Iterable[Span], width: int, gap: str = " ") -> list[Line]:
    """Parts beside each other, `gap` between, folded to `width`; one that is wider than a line is folded at blanks."""
    rows: list[Line] = [[]]
    used = 0
    for part, role in clean_line(parts):
        if not part:
            continue
        for piece in (part,) if cell_len(part) <= width else _fold_paragraph(part, width):
            size = cell_len(piece)
            if rows[-1] and used + len(gap) + size > width:
                rows.append([])
            if rows[-1]:
                rows[-1].append((gap, role))
                used += len(gap) + size
            else:
                used = size
            rows[-1].append((piece, role))
    return [row for row in rows if row]


_KEY = re.compile(r"\[([^\[\]]+)\]")
KEY = "key"  # the role of a key's name: the screen that shows it binds the key


def line_with_key_names(value: str, role: str = "dim") -> Line:
    """Return words in which `[Enter]` names a key: `[Enter] opens the whole answer`."""
    parts = _KEY.split(clean_text(value))
    return [(part, KEY if number % 2 else role) for number, part in enumerate(parts) if part]


def wrap_keys(value: str, width: int, role: str = "dim") -> list[Line]:
    """Return the same folded to `width`. A key is a word of its own, with nothing before or after it."""
    words = [(word, KEY if _KEY.fullmatch(word) else role) for word in value.split()]
    return flow_parts(((_KEY.sub(lambda key: key[1], word), of) for word, of in words), width)


def keep_units_together(words: str) -> str:
    """A number and its unit as one word: `KEPT` between them."""
    return _UNIT.sub(KEPT, words)


def _fold_paragraph(paragraph: str, room: int) -> list[str]:
    """Greedy, at blanks. A panel that has no room left takes two cells all the same: the widest character."""
    words = " ".join(re.split("[ \n\t]+", clean_text(paragraph).strip(" \n\t")))
    return ["".join(part for part, _ in line) for line in fold_spans([(words, "text")], max(2, room))]


def fold_spans(line: Iterable[Span], width: int, first: str = "", hang: str = "") -> list[Line]:
    """At blanks, a number with its unit; a word longer than a line is broken. `first` and `hang` begin the first and
    the other lines."""
    out: list[Line] = [[(first, "text")]]
    used = len(first)
    for part, role in line:
        for word in re.findall(r" *[^ ]+", keep_units_together(part)) or [part]:
            size = cell_len(word)
            if used + size > width and used > len(hang):
                out.append([(hang, "text")])
                used, word = len(hang), word.lstrip(" ")
                size = cell_len(word)
            while size > width - used:
                cut = _count_fitting(word, max(1, width - used))
                cut = word_break_position(word[:cut], width - used)
                out[-1].append((word[:cut].replace(KEPT, " "), role))
                out.append([(hang, "text")])
                used, word = len(hang), word[cut:]
                size = cell_len(word)
            out[-1].append((word.replace(KEPT, " "), role))
            used += size
    return out


def _count_fitting(word: str, room: int) -> int:
    """Return how many characters of it fit into `room` cells; at least one."""
    used = 0
    for count, char in enumerate(word):
        used += cell_len(char)
        if used > room:
            return max(1, count)
    return len(word)


def word_break_position(fitting_part: str, cells: int) -> int:
    """Return how much of the beginning of a word stays on a line of `cells` cells: to the end of a path's or a name's
    part.
    """
    part = max(fitting_part.rfind(sign) for sign in f"/_{KEPT}") + 1
    return part if part > cells // 2 else len(fitting_part)


def clean_line(line: Iterable[Span]) -> Line:
    """Harmless cells, whoever wrote the text."""
    return [(clean_text(part), role) for part, role in line]


def merge_spans(line: Iterable[Span]) -> Line:
    """Neighbours of one role joined: fewer escape sequences on the wire."""
    out: Line = []
    for part, role in line:
        if not part:
            continue
        if out and out[-1][1] == role:
            out[-1] = (out[-1][0] + part, role)
        else:
            out.append((part, role))
    return out


DIGIT = "digit:"


def workload_link(workload: str) -> str:
    return f"load:{workload}"


def process_link(pid: int | None) -> str:
    """Empty where nobody knows the process id."""
    return "" if pid is None else f"process:{pid}"


def digit_link(number: int) -> str:
    """What the digit key opens on this screen."""
    return f"{DIGIT}{number}"
