"""The bounding box of expectation as a drawing: in cells for screen and ticket, as SVG for the page."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import NamedTuple

from hostdx.app.terminal.printable import make_printable
from hostdx.probes import units
from hostdx.scenarios.analysis.compare.bounding_box import BoundingBoxFigures, BoxCorner
from hostdx.scenarios.contract.results.document import Table

_MAX_RUNS = 400  # runs that are drawn
_SIDE = 11  # cells for the labels of the vertical axis
_WIDE, _HIGH, _LEFT, _BOTTOM = 640, 400, 90, 50  # SVG


def drawable_boxes(boxes: Sequence[BoundingBoxFigures]) -> list[BoundingBoxFigures]:
    """Without those of a value that has no place on a logarithmic scale."""
    # a denormal times 1.25 is itself: an axis of no length
    return [box for box in boxes[:8] if all(min(c.median, c.low, c.high) > 1e-300 for c in box.corners)]


class LogFrame(NamedTuple):
    """The drawing's limits, logarithmic, with room on every side."""

    low_x: float
    high_x: float
    low_y: float
    high_y: float

    def shares_of(self, x: float, y: float) -> tuple[float, float]:
        return self.x_share(x), self.y_share(y)

    def x_share(self, value: float | None) -> float:
        return _log_share_or_minus_one(value, self.low_x, self.high_x)

    def y_share(self, value: float | None) -> float:
        return _log_share_or_minus_one(value, self.low_y, self.high_y)


def _log_share_or_minus_one(value: float | None, low: float, high: float) -> float:
    """0..1; what cannot be placed lies outside."""
    if value is None or not value > 0:
        return -1.0
    return (math.log(value) - math.log(low)) / (math.log(high) - math.log(low))


def _frame_with_margin(box: BoundingBoxFigures) -> LogFrame:
    def find_limits(corners: Sequence[BoxCorner], extra: Sequence[float | None]) -> tuple[float, float]:
        values = [v for c in corners for v in (*c.values[:_MAX_RUNS], c.low, c.high) if v is not None]
        values = [v for v in (*values, *extra) if v is not None and v > 0]
        return min(values) / 1.25, max(values) * 1.25

    x = find_limits(box.corners[:2], [p.bandwidth for p in box.placed])
    y = find_limits(box.corners[2:], [p.metadata for p in box.placed])
    return LogFrame(*x, *y)


class CharacterDrawing:
    """Characters in cells. Positions are shares: x 0..1 from the left, y 0..1 from the bottom; outside of it nothing is
    drawn, and a later character replaces an earlier one.
    """

    def __init__(self, width: int, height: int) -> None:
        self._rows = [[" "] * width for _ in range(height)]

    def draw_mark(self, x: float, y: float, mark: str) -> None:
        if 0 <= x <= 1 and 0 <= y <= 1:
            row, column = self._cell_at(x, y)
            self._rows[row][column] = mark

    def _cell_at(self, x: float, y: float) -> tuple[int, int]:
        """Row and column; what lies outside is at the edge."""
        high, wide = len(self._rows), len(self._rows[0])
        x, y = min(1.0, max(0.0, x)), min(1.0, max(0.0, y))
        return min(high - 1, int((1 - y) * high)), min(wide - 1, int(x * wide))

    def draw_rectangle(
        self, corner: tuple[float, float], opposite: tuple[float, float], across: str, up: str
    ) -> None:
        """Between two corners."""
        (top, bottom), (left, right) = map(
            sorted, zip(self._cell_at(*corner), self._cell_at(*opposite), strict=True)
        )
        for row in range(top, bottom + 1):
            self._rows[row][left] = self._rows[row][right] = up
        for row, first, last in ((top, "┌", "┐"), (bottom, "└", "┘")):
            self._rows[row][left : right + 1] = [first, *across * (right - left - 1), last][
                : right + 1 - left
            ]

    def render_lines(self) -> list[str]:
        return ["".join(row) for row in self._rows]


def box_lines(box: BoundingBoxFigures, width: int, height: int) -> list[str]:
    """`h` and `e` are a run's hard and easy corner, `!` a corner that does not belong, `A`, `B`, … the applications."""
    if width < 30 or height < 8:
        return []
    hard, easy, meta_hard, meta_easy = box.corners
    frame = _frame_with_margin(box)
    drawing = CharacterDrawing(width - _SIDE - 1, height - 3)
    for lower_left, upper_right, *lines in (
        ((hard.low, meta_hard.low), (easy.high, meta_easy.high), "┄", "┆"),
        ((hard.median, meta_hard.median), (easy.median, meta_easy.median), "─", "│"),
    ):
        drawing.draw_rectangle(frame.shares_of(*lower_left), frame.shares_of(*upper_right), *lines)
    odd = {(o.workload, o.index) for o in box.odd}
    for index in range(min(len(box.runs), _MAX_RUNS)):
        for x, y, mark in ((hard, meta_hard, "h"), (easy, meta_easy, "e")):
            bad = (x.workload, index) in odd or (y.workload, index) in odd
            drawing.draw_mark(
                frame.x_share(_value_of_run(x, index)),
                frame.y_share(_value_of_run(y, index)),
                "!" if bad else mark,
            )
    middle = math.sqrt(frame.low_y * frame.high_y)
    for mark, point in zip("ABCDEFGHIJ", box.placed, strict=False):
        drawing.draw_mark(frame.x_share(point.bandwidth), frame.y_share(point.metadata or middle), mark)
    drawn = drawing.render_lines()
    labels = {
        0: units.format_prefixed(frame.high_y) + "/s",
        len(drawn) - 1: units.format_prefixed(frame.low_y) + "/s",
    }
    out = [f"{labels.get(n, ''):>{_SIDE}}│{line}" for n, line in enumerate(drawn)]
    out.append(" " * _SIDE + "└" + "─" * (width - _SIDE - 1))
    left, right = units.format_rate(frame.low_x), units.format_rate(frame.high_x)
    out.append(" " * (_SIDE + 1) + left + right.rjust(width - _SIDE - 1 - len(left)))
    return [line.rstrip() for line in (*out, *legend_lines(box))]


def _value_of_run(corner: BoxCorner, index: int) -> float | None:
    return corner.values[index] if index < len(corner.values) else None


def corner_table(box: BoundingBoxFigures) -> Table:
    """Return the corners in figures; the runs that do not belong are counted."""
    odd = [outlier.workload for outlier in box.odd]
    rows = tuple(
        (
            corner.workload,
            *(str(units.metric_quantity(v, corner.unit)) for v in (corner.median, corner.low, corner.high)),
            str(odd.count(corner.workload) or "–"),
        )
        for corner in box.corners
    )
    header = ("test", "median", "lowest", "highest", "runs that do not belong")
    return Table(header, rows, frozenset(range(1, 5))).without_empty_columns()


def legend_lines(box: BoundingBoxFigures) -> list[str]:
    """Return what the marks are, a line each."""
    title = f"{make_printable(box.title)[:40]}: " if box.title else ""
    out = [f"{title}across bandwidth (IOR hard to easy), up metadata (mdtest hard to easy)"]
    out.append("h, e: a run's hard and easy test" + ("; !: does not belong" if box.odd else ""))
    out += [
        f"{mark}: {make_printable(p.name)[:60]}" + ("" if p.metadata else " (bandwidth only)")
        for mark, p in zip("ABCDEFGHIJ", box.placed, strict=False)
    ]
    return out


def box_svg(box: BoundingBoxFigures) -> str:
    """Self-contained, in the page's own colours, readable without a style sheet."""
    frame = _frame_with_margin(box)
    hard, easy, meta_hard, meta_easy = box.corners

    def x_position(value: float | None) -> float:
        return _LEFT + frame.x_share(value) * (_WIDE - _LEFT - 10)

    def y_position(value: float | None) -> float:
        return (_HIGH - _BOTTOM) - frame.y_share(value) * (_HIGH - _BOTTOM - 10)

    def rectangle_svg(x0: float, y0: float, x1: float, y1: float, style: str) -> str:
        left, top = min(x_position(x0), x_position(x1)), min(y_position(y0), y_position(y1))
        wide, high = abs(x_position(x1) - x_position(x0)), abs(y_position(y1) - y_position(y0))
        return (
            f'<rect x="{left:.1f}" y="{top:.1f}" width="{wide:.1f}" height="{high:.1f}" fill="none" {style}/>'
        )

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDE} {_HIGH}" role="img" font-size="12" '
        'font-family="sans-serif" stroke="currentColor" fill="currentColor" stroke-width="1">',
        f"<title>{escape(legend_lines(box)[0])}</title>",
        f'<path d="M{_LEFT} 10V{_HIGH - _BOTTOM}H{_WIDE - 10}" fill="none"/>',
        rectangle_svg(
            hard.low, meta_hard.low, easy.high, meta_easy.high, 'stroke-dasharray="3 5" opacity="0.6"'
        ),
        rectangle_svg(hard.median, meta_hard.median, easy.median, meta_easy.median, 'stroke-width="2"'),
    ]
    odd = {(o.workload, o.index) for o in box.odd}
    for index, run in enumerate(box.runs[:_MAX_RUNS]):
        for a, b, word in ((hard, meta_hard, "hard"), (easy, meta_easy, "easy")):
            px, py = _value_of_run(a, index), _value_of_run(b, index)
            if px is None or py is None or frame.x_share(px) < 0 or frame.y_share(py) < 0:
                continue
            bad = (a.workload, index) in odd or (b.workload, index) in odd
            colour = ' stroke="#c62828" fill="#c62828"' if bad else ' fill="none"'
            about = f"{run} {word}: {units.format_rate(px)}, {units.format_prefixed(py)}/s"
            title = f"<title>{escape(make_printable(about))}</title>"
            parts.append(
                f'<circle cx="{x_position(px):.1f}" cy="{y_position(py):.1f}" r="4"{colour}>{title}</circle>'
            )
    middle = math.sqrt(frame.low_y * frame.high_y)
    for mark, point in zip("ABCDEFGHIJ", box.placed, strict=False):
        if frame.x_share(point.bandwidth) >= 0:
            parts.append(
                _text_svg(
                    x_position(point.bandwidth), y_position(point.metadata or middle), mark, weight=True
                )
            )
    parts += [
        _text_svg(_LEFT, _HIGH - _BOTTOM + 18, units.format_rate(frame.low_x)),
        _text_svg(_WIDE - 10, _HIGH - _BOTTOM + 18, units.format_rate(frame.high_x), anchor="end"),
        _text_svg(_LEFT - 6, 20, f"{units.format_prefixed(frame.high_y)}/s", anchor="end"),
        _text_svg(_LEFT - 6, _HIGH - _BOTTOM, f"{units.format_prefixed(frame.low_y)}/s", anchor="end"),
    ]
    parts += [
        _text_svg(_LEFT, _HIGH - _BOTTOM + 36 + 14 * n, line) for n, line in enumerate(legend_lines(box)[:1])
    ]
    return "\n".join([*parts, "</svg>"])


def _text_svg(x: float, y: float, words: str, *, anchor: str = "start", weight: bool = False) -> str:
    bold = ' font-weight="bold"' if weight else ""
    text = escape(make_printable(words))
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" stroke="none"{bold}>{text}</text>'
