"""A report before it is markdown, HTML or lines on a screen: paragraphs, lists, tables, code. All text is plain text.

It has a JSON form, so that the screen draws what a child process made of a large recording.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import msgspec

from hostdx.scenarios.contract.verdict.verdict import Word


class Mono(msgspec.Struct, frozen=True, tag=True):
    """A path, a command or a value, spelled as on the host."""

    text: str


class Strong(msgspec.Struct, frozen=True, tag=True):
    """Emphasised text."""

    text: str


class Toned(msgspec.Struct, frozen=True, tag=True):
    """Text with a `role`: a severity or "unknown". Where there are colours, the role chooses one."""

    text: str
    role: str


Cell: TypeAlias = str | Mono | Toned
Words: TypeAlias = tuple[Cell | Strong, ...]


class Paragraph(msgspec.Struct, frozen=True, tag=True):
    """A paragraph of running text."""

    words: Words


class Bullets(msgspec.Struct, frozen=True, tag=True):
    """A list with one entry for each item."""

    items: tuple[Words, ...]


class Table(msgspec.Struct, frozen=True, tag=True):
    """A table. `right` holds the numbers of the columns that are aligned to the right. `spare` holds those of the
    columns that a narrow panel leaves out, the last one first.
    """

    header: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    right: frozenset[int] = frozenset()
    spare: frozenset[int] = frozenset()

    def without_empty_columns(self) -> Table:
        """Return the table without the columns that are empty in all rows."""
        filled_columns = [
            n
            for n in range(len(self.header))
            if any(plain_text(row[n]).strip() not in ("", "–") for row in self.rows)
        ]
        return self.only_columns(filled_columns)

    def only_columns(self, columns: Sequence[int]) -> Table:
        right, spare = (
            frozenset(columns.index(n) for n in kind if n in columns) for kind in (self.right, self.spare)
        )
        rows = tuple(tuple(row[n] for n in columns) for row in self.rows)
        return Table(tuple(self.header[n] for n in columns), rows, right, spare)


def plain_text(cell: Cell) -> str:
    """Return the text of a cell without its form."""
    return cell if isinstance(cell, str) else cell.text


class Code(msgspec.Struct, frozen=True, tag=True):
    """Lines to copy, or a drawing. `language` is `sh` for commands."""

    lines: tuple[str, ...]
    language: str = ""


class Bar(NamedTuple):
    """One effect in a plot. `ratio` and the ends of its interval are finite, above 0; `size` is the effect in words."""

    name: str
    ratio: float
    ci95: tuple[float, float] | None
    word: Word
    size: str


class Intervals(msgspec.Struct, frozen=True):
    """Effects with their intervals on one logarithmic scale, the margin round 1 as a band."""

    bars: tuple[Bar, ...]
    margin: float


class Effects(msgspec.Struct, frozen=True, tag=True):
    """A table of effects with their intervals, which are drawn in the table's rows where there is room, else below
    the table. Markdown has the table only.

    `rows` holds, for each bar, the number of the table's row that it belongs to.
    """

    table: Table
    drawn: Intervals
    rows: tuple[int, ...]


class Tile(NamedTuple):
    """One figure of the summary: its label, its value and a further line. `role` is as in `Toned`."""

    label: str
    value: str
    more: str = ""
    role: str = ""


class Tiles(msgspec.Struct, frozen=True, tag=True):
    """The summary's figures, side by side on a page. Text forms leave them out: sentences hold the same figures."""

    tiles: tuple[Tile, ...]


class Axis(NamedTuple):
    """The ends of an axis, and whether it is logarithmic."""

    low: float
    high: float
    log: bool = False


class ChartSeries(NamedTuple):
    """Points (x, y), all finite, drawn with a `marker` of one character; later series are drawn over earlier ones.

    `runs` are thin lines behind the points, on a page only.
    """

    marker: str
    points: tuple[tuple[float, float], ...]
    legend: str = ""
    runs: tuple[tuple[tuple[float, float], ...], ...] = ()


class Chart(msgspec.Struct, frozen=True, tag=True):
    """Series over seconds, or over the quantity that `across` names, which begins with its unit.

    Markdown leaves it out: a chart outside a gallery stands next to a table with its figures.
    """

    title: str
    series: tuple[ChartSeries, ...]
    x: Axis
    y: Axis
    across: str = "s into the run"


class Histogram(msgspec.Struct, frozen=True, tag=True):
    """Counts of times in buckets of equal width on a logarithmic axis from `low_ns` to `high_ns`.

    `rows` has a name and the counts of each variant, `percentiles` the words for them.
    """

    title: str
    low_ns: float
    high_ns: float
    rows: tuple[tuple[str, tuple[int, ...]], ...]
    percentiles: tuple[str, ...] = ()


class Gallery(msgspec.Struct, frozen=True, tag=True):
    """Small drawings, side by side on a page, one below the other on a screen; in Markdown `table` stands for them."""

    drawings: tuple[Chart | Histogram, ...]
    table: Table | None = None


class Picture(msgspec.Struct, frozen=True, tag=True):
    """A drawing that no other class describes: `lines` of characters for a screen, `svg` (made here, escaped) for a
    page. In Markdown `table` stands for it, where it has one.
    """

    lines: tuple[str, ...]
    svg: str
    table: Table | None = None


class Heading(msgspec.Struct, frozen=True, tag=True):
    """A heading inside a section."""

    text: str


Part: TypeAlias = (
    Paragraph | Bullets | Table | Code | Heading | Effects | Tiles | Chart | Histogram | Gallery | Picture
)


class ReportSection(msgspec.Struct, frozen=True):
    """A section of a report. An `appendix` is not on the first page. `role` belongs to its title, as in `Toned`."""

    title: str
    parts: tuple[Part, ...]
    appendix: bool = False
    role: str = "strong"


class ReportDocument(msgspec.Struct, frozen=True):
    """A report before it is written in one of its forms."""

    title: str  # the answer, where the report has one
    lead: Words  # the question, and what it was asked of
    sections: tuple[ReportSection, ...]


def split_code(text: str, *, strong: bool = False) -> Words:
    """Return the words of a sentence of our own in which commands stand between backticks: ``see `dmesg` `` holds one.

    A text whose backticks make no pairs, or touch other signs, stays whole: words are joined by blanks.
    """
    parts = text.split("`")
    touches = any(part[:1] not in ("", " ") for part in parts[2::2]) or any(
        part[-1:] not in ("", " ") for part in parts[:-1:2]
    )
    if len(parts) % 2 == 0 or touches:
        parts = [text]
    plain = Strong if strong else str
    return tuple(Mono(part) if n % 2 else plain(part.strip()) for n, part in enumerate(parts) if part.strip())


def paragraph_of(*words: Cell | Strong) -> Paragraph:
    """Return a paragraph of these words."""
    return Paragraph(words)
