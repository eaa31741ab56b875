"""A report before it is markdown, HTML or lines on a screen: paragraphs, lists, tables, code. All text is plain text.

It has a JSON form, so that the screen draws what a child process made of a large recording.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import msgspec

from scenarios.verdict.verdict import Word


class Mono(msgspec.Struct, frozen=True, tag=True):
    """A path, a command, a value as the host spells it."""

    text: str


class Strong(msgspec.Struct, frozen=True, tag=True):
    text: str


class Toned(msgspec.Struct, frozen=True, tag=True):
    """`role`: a severity or "unknown", shown as a colour where there are any."""

    text: str
    role: str


Cell: TypeAlias = str | Mono | Toned
Words: TypeAlias = tuple[Cell | Strong, ...]


class Paragraph(msgspec.Struct, frozen=True, tag=True):
    words: Words


class Bullets(msgspec.Struct, frozen=True, tag=True):
    items: tuple[Words, ...]


class Table(msgspec.Struct, frozen=True, tag=True):
    """`right`: columns of numbers."""

    header: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    right: frozenset[int] = frozenset()

    def without_empty_columns(self) -> Table:
        """A column in which no row says anything only makes the others narrow."""
        filled_columns = [
            n
            for n in range(len(self.header))
            if any(plain_text(row[n]).strip() not in ("", "–") for row in self.rows)
        ]
        return Table(
            tuple(self.header[n] for n in filled_columns),
            tuple(tuple(row[n] for n in filled_columns) for row in self.rows),
            frozenset(filled_columns.index(n) for n in self.right if n in filled_columns),
        )


def plain_text(cell: Cell) -> str:
    return cell if isinstance(cell, str) else cell.text


class Code(msgspec.Struct, frozen=True, tag=True):
    """Lines to be copied, or a drawing. `language` is `sh` for commands."""

    lines: tuple[str, ...]
    language: str = ""


class Bar(NamedTuple):
    """One effect: `ratio` and the ends of its interval are finite and above 0; `size` says the effect in words."""

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
    """A table of effects with their intervals: drawn in its rows where there is room, else below it.

    `rows`: of the table, the one that each bar belongs to.
    """

    table: Table
    drawn: Intervals
    rows: tuple[int, ...]


class Tile(NamedTuple):
    """A figure of the summary: what it is of, the figure, and what belongs to it. `role` as in `Toned`."""

    label: str
    value: str
    more: str = ""
    role: str = ""


class Tiles(msgspec.Struct, frozen=True, tag=True):
    """The summary at a glance, on a page; text says all of it in sentences."""

    tiles: tuple[Tile, ...]


class Axis(NamedTuple):
    low: float
    high: float
    log: bool = False


class ChartSeries(NamedTuple):
    """Points (x, y), all finite, drawn with a one-cell `marker`; later series are drawn over earlier ones.

    `runs`: thin lines besides, on a page.
    """

    marker: str
    points: tuple[tuple[float, float], ...]
    legend: str = ""
    runs: tuple[tuple[tuple[float, float], ...], ...] = ()


class Chart(msgspec.Struct, frozen=True, tag=True):
    """Series over seconds, or over what `across` says: the axis' unit first."""

    title: str
    series: tuple[ChartSeries, ...]
    x: Axis
    y: Axis
    across: str = "s into the run"


class Histogram(msgspec.Struct, frozen=True, tag=True):
    """How often which time came, by the counts of buckets that are as wide as each other on a logarithmic axis.

    `low_ns` and `high_ns` are its ends; `rows` has a name and the counts of each side, `percentiles` their words.
    """

    title: str
    low_ns: float
    high_ns: float
    rows: tuple[tuple[str, tuple[int, ...]], ...]
    percentiles: tuple[str, ...] = ()


class Gallery(msgspec.Struct, frozen=True, tag=True):
    """Small multiples: beside each other on a page, else one below the other."""

    drawings: tuple[Chart | Histogram, ...]


class Picture(msgspec.Struct, frozen=True, tag=True):
    """A drawing of a kind of its own: `lines` of cells where text is all there is, `svg` (made by us, escaped) on a
    page."""

    lines: tuple[str, ...]
    svg: str


class Heading(msgspec.Struct, frozen=True, tag=True):
    """Inside a section."""

    text: str


Part: TypeAlias = (
    Paragraph | Bullets | Table | Code | Heading | Effects | Tiles | Chart | Histogram | Gallery | Picture
)


class ReportSection(msgspec.Struct, frozen=True):
    """`appendix`: not on the first page. `role`: of its title, as in `Toned`."""

    title: str
    parts: tuple[Part, ...]
    appendix: bool = False
    role: str = "strong"


class ReportDocument(msgspec.Struct, frozen=True):
    title: str
    lead: Words  # the answer, first of all
    sections: tuple[ReportSection, ...]


def paragraph_of(*words: Cell | Strong) -> Paragraph:
    return Paragraph(words)
