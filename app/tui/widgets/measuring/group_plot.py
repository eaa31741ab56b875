"""Variant over baseline, group by group, with the margin as a band: the answer itself, not the raw values."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from statistics import median
from typing import NamedTuple, TypeAlias

from hostdx.app.recordings.session import RunSession
from hostdx.app.report.figures.interval_chart import drawable_interval, is_drawable_value
from hostdx.app.report.wording import metric_title
from hostdx.app.terminal.glyphs import clean_text
from hostdx.app.terminal.lines import (
    Line,
    cell_width,
    crop_line,
    frame_rows,
    link_line,
    merge_spans,
    split_line,
    text_line,
    workload_link,
)
from hostdx.app.tui.widgets.measuring.graphs import Scale, block_graph_lines
from hostdx.app.tui.widgets.measuring.standing import margin_of, title_of
from hostdx.app.tui.widgets.measuring.variants import variant_label, variant_marks
from hostdx.app.tui.widgets.panel import PacedPanel
from hostdx.probes import units
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.verdict.verdict import ratio_of

_TICKS = (
    0.01, 0.02, 0.05, 0.1, 0.2, 0.33, 0.5, 0.67, 0.8, 0.9, 0.95, 1.0,
    1.05, 1.1, 1.25, 1.5, 2.0, 3.0, 5.0, 10.0, 20.0, 50.0, 100.0,
)  # fmt: skip
_EDGE = 8  # cells of the y axis with its labels
_HALVES = ("", "▀", "▄", "█")
FAR_FROM_ONE = 4.0  # times the margin: where all values lie further out the axis is broken
MIN_BROKEN_LINES = 5
_FAR = 1.3  # times the 95th percentile: what lies further out stands at the edge
MAX_NAMED_PAIRS = 4
WAY = "lower is slower"
GROUP = "each group measures all variants"
GREY = "grey: after it was decided"


Cell: TypeAlias = tuple[str, str]  # sign, role


class PlotAxis(NamedTuple):
    """Log ratios over `rows` lines from line `first` on. Where all values lie far from 1 the axis is broken: the line
    of 1 stands at the edge, beyond a gap.
    """

    span: Scale
    first: int
    rows: int
    unity: int  # line of the ratio 1
    gap: int | None  # line of the break

    def line_of(self, value: float) -> int:
        return self.first + min(self.rows - 1, int((1 - self.span.share_of(value)) * self.rows))

    def ends_of(self, line: int) -> tuple[float, float]:
        """Return the lower and the upper end of what a line stands for."""
        high, step = self.span.high, (self.span.high - self.span.low) / self.rows
        return high - step * (line - self.first + 1), high - step * (line - self.first)


class PairRatios(NamedTuple):
    """The log ratios of one pair, group by group; `baseline` and `variant` are ids."""

    baseline: str
    variant: str
    values: list[float]
    # so many of them the verdict rests on; what came after it decided is drawn dim
    counted: int | None = None


def pair_ratios(
    session: RunSession, workload: str, metric: str, only: tuple[str, str] | None = None
) -> list[PairRatios]:
    """Of the pairs that have values, in the order they came; disturbed groups have none."""
    values_by_pair: dict[tuple[str, str], list[float]] = {}
    for group in session.groups.get(workload, ()):
        for key, value in group.log_ratios.items():
            name, _, both = key.partition("|")
            baseline, _, variant = both.partition("|")
            if name == metric and math.isfinite(value) and (only is None or only == (baseline, variant)):
                values_by_pair.setdefault((baseline, variant), []).append(value)
    rest = {
        (v.baseline, v.variant): v.groups * v.batch
        for v in session.verdicts.values()
        if (v.workload, v.metric) == (workload, metric)
    }
    return [PairRatios(*both, values, rest.get(both)) for both, values in values_by_pair.items()]


def _half_cell_marks(
    values: Sequence[float], axis: PlotAxis, columns: int, longest: int
) -> dict[tuple[int, int], str]:
    """Half a cell high each, by (line, column) from the top."""
    halves: dict[tuple[int, int], int] = {}
    for n, value in enumerate(values):
        x = min(columns - 1, int((n + 0.5) / longest * columns))
        half = min(2 * axis.rows - 1, int((1 - axis.span.share_of(value)) * 2 * axis.rows))
        cell = (axis.first + half // 2, x)
        halves[cell] = halves.get(cell, 0) | (1 << half % 2)
    return {cell: _HALVES[which] for cell, which in halves.items()}


def _limits_and_beyond(values: Sequence[float], edge: float) -> tuple[Scale, int]:
    """Limits in log ratios round the margin and the values, and how many of these lie beyond them."""
    low, high = -1.6 * edge, 1.6 * edge
    ordered = sorted(values)
    for sign in (-1, 1):
        distances = sorted(v * sign for v in ordered if v * sign > 0)
        if distances:
            usual = distances[min(len(distances) - 1, int(0.95 * len(distances)))]
            reach = distances[-1] if distances[-1] <= _FAR * usual else usual
            if sign < 0:
                low = min(low, -1.1 * reach)
            else:
                high = max(high, 1.1 * reach)
    return Scale(low, high), sum(not low <= v <= high for v in ordered)


def _axis_and_beyond(values: Sequence[float], edge: float, lines: int) -> tuple[PlotAxis, int]:
    """Return the axis in `lines` lines, and how many values lie beyond its ends."""
    nearest, farthest = min(values, key=abs), max(values, key=abs)
    size = max(abs(farthest - nearest), edge)
    is_far = abs(nearest) > max(FAR_FROM_ONE * edge, size) and min(values) * max(values) > 0
    if not is_far or lines < MIN_BROKEN_LINES:
        span, beyond = _limits_and_beyond(values, edge)
        whole_axis = PlotAxis(span, 0, lines, 0, None)
        return whole_axis._replace(unity=whole_axis.line_of(0.0)), beyond
    span = Scale(min(values) - 0.1 * size, max(values) + 0.1 * size)
    if nearest < 0:
        return PlotAxis(span, 2, lines - 2, 0, 1), 0
    return PlotAxis(span, 0, lines - 2, lines - 1, lines - 2), 0


def group_plot_lines(
    session: RunSession, workload: str, pairs: Sequence[PairRatios], metric: str, width: int, height: int
) -> list[Line]:
    """A title and the plot in `height` lines; `pairs` hold at least one value. Of a single pair the verdict's interval
    is a band and its estimate a line.
    """
    margin = margin_of(session)
    edge = math.log1p(margin)
    verdicts = {
        (v.baseline, v.variant): v
        for v in session.verdicts.values()
        if (v.workload, v.metric) == (workload, metric)
    }
    only = verdicts.get((pairs[0].baseline, pairs[0].variant)) if len(pairs) == 1 else None
    ends = drawable_interval(only.ci95) if only is not None else None
    interval = [math.log(end) for end in ends or ()]
    rows, columns = max(3, height - 3), max(10, width - _EDGE - 1)
    axis, beyond = _axis_and_beyond([*(v for c in pairs for v in c.values), *interval], edge, rows)
    roles = {v: role for v, (_, role) in variant_marks(session).items()}
    longest = max(len(c.values) for c in pairs)
    grid: list[list[Cell]] = [[(" ", "text")] * columns for _ in range(rows)]
    for y in range(rows):
        bottom, top = axis.ends_of(y)
        in_margin = y == axis.unity or (axis.gap is None and top >= -edge and bottom <= edge)
        if y == axis.gap:
            grid[y] = [("≈", "dim")] * columns
        elif interval and axis.line_of(interval[1]) <= y <= axis.line_of(interval[0]):
            grid[y] = [("▒", "rule@band" if in_margin else "rule")] * columns
        elif in_margin:
            grid[y] = [("░", "shade@band")] * columns
    for pair in pairs:
        own = roles.get(pair.variant, "b")
        y = axis.line_of(_log_ratio_estimate(pair, verdicts.get((pair.baseline, pair.variant))))
        grid[y] = [("─", own + _band_role_suffix(grid[y][0])) for _ in range(columns)]
    for pair in pairs:
        for (y, x), sign in _half_cell_marks(pair.values, axis, columns, longest).items():
            own = roles.get(pair.variant, "b")
            counted = pair.counted is None or x < columns * pair.counted / longest
            grid[y][x] = (sign, f"{own if counted else 'dim'}{_band_role_suffix(grid[y][x])}")
    labels = _tick_labels(axis)
    out = [
        _plot_title_line(session, workload, pairs, metric, beyond, width, roles, has_interval=bool(interval))
    ]
    for y, row in enumerate(grid):
        tick = labels.get(y, "")
        row = [("·", "rule") if tick and sign == " " else (sign, role) for sign, role in row]
        out.append([(f"{tick:>{_EDGE - 1}}{'┤' if tick else '│'}", "dim"), *merge_spans(row)])
    out.append([(" " * (_EDGE - 1) + "└" + "─" * columns, "dim")])
    right = f"{longest}"
    line = f"{'1':<{columns - len(right)}}{right}"
    late = any(c.counted is not None and c.counted < len(c.values) for c in pairs)
    grey = f", {GREY}" if late else ""
    notes = (f" {GROUP}, {WAY}{grey} ", f" group, {WAY}{grey} ", f" group, {WAY} ")
    middle = next((note for note in notes if len(note) + 6 <= columns), "")
    at = max(2, (columns - len(middle)) // 2)
    out.append([(" " * _EDGE + line[:at] + middle + line[at + len(middle) :], "dim")])
    return [*out, *([text_line("")] * (height - len(out)))][:height]


def _log_ratio_estimate(pair: PairRatios, verdict: ev.RunVerdict | None) -> float:
    """Return the verdict's log ratio, before there is one the median of the groups."""
    if verdict is not None and verdict.ratio and is_drawable_value(verdict.ratio):
        return math.log(verdict.ratio)
    return median(pair.values)


def _band_role_suffix(cell: Cell) -> str:
    return "@band" if cell[1].endswith("@band") else ""


def _tick_labels(axis: PlotAxis) -> dict[int, str]:
    """Ratios beside their lines; 1 always, the others where two lines are free between. An axis that holds
    fewer than two of them has its ends and its middle.
    """
    labels = {axis.unity: "1"}
    span = axis.span
    own = [ratio_of(log) for log in (span.low, (span.low + span.high) / 2, span.high)]
    inside = [tick for tick in _TICKS if span.low <= math.log(tick) <= span.high and tick != 1.0]
    for tick in sorted(inside if len(inside) > 1 else own, key=lambda t: -abs(math.log(t))):
        y = axis.line_of(math.log(tick))
        if all(abs(y - other) >= 2 for other in labels):
            labels[y] = f"{tick:g}" if tick in _TICKS else f"{tick:.2g}"
    return {y: f"{words} ×" for y, words in labels.items()}


def _plot_title_line(
    session: RunSession, workload: str, pairs: Sequence[PairRatios], metric: str, beyond: int, width: int,
    roles: dict[str, str], *, has_interval: bool,
) -> Line:  # fmt: skip
    """Return which load, what over what, which way is good."""
    right = ["finished"] if session.ended is None and workload != session.workload else []
    right += [f"{beyond} beyond the edge"] if beyond else []
    right += ["▀ group, ─ estimate, ▒ 95 % CI"] if has_interval else []
    right.append(f"band: ±{units.format_percent(margin_of(session))}")
    for first in range(len(right)):  # the sides' names give way before what a colour means
        note = "   ".join(right[first:])
        for names in (18, 0):
            left = _compared_sides_line(session, workload, pairs, metric, names, roles)
            if cell_width(left) + len(note) < width:
                return split_line(left, text_line(note, "dim"), width)
    return crop_line(left, width)


def _compared_sides_line(
    session: RunSession,
    workload: str,
    pairs: Sequence[PairRatios],
    metric: str,
    cells: int,
    roles: dict[str, str],
) -> Line:
    """Each side in at most `cells` cells; by its letter or word alone where there is no room."""
    out: Line = [(f"{title_of(session, workload)}: ", "strong")]
    for n, course in enumerate(pairs[:MAX_NAMED_PAIRS]):
        sides = [variant_label(session, side, cells) if cells else clean_text(side) for side in course[:2]]
        out += [(", " if n else "", "text"), (sides[1], roles.get(course.variant, "b"))]
        following = pairs[n + 1].baseline if n + 1 < len(pairs[:MAX_NAMED_PAIRS]) else ""
        if following != course.baseline:  # one baseline stands once, after all that is compared with it
            out += [(" / ", "dim"), (sides[0], roles.get(course.baseline, "a"))]
    return [*out, (f" in {metric_title(metric)}", "dim")]


class PlotSubject(NamedTuple):
    """What is drawn: one load's metric, of one pair or of all."""

    workload: str
    metric: str
    pair: tuple[str, str] | None = None


def _block_value_lines(session: RunSession, subject: PlotSubject, width: int, height: int) -> list[Line]:
    """Return a title, and each variant's values block by block."""
    title: Line = [
        (f"{title_of(session, subject.workload)}: ", "strong"),
        (metric_title(subject.metric), "text"),
    ]
    return [crop_line(title, width), *block_graph_lines(session, subject.workload, width, height - 1)]


class GroupPlot(PacedPanel):
    """B over A by group; the raw values where `p` asked for them, or where there are no groups to compare."""

    DEFAULT_CSS = "GroupPlot { height: 1fr; min-height: 5; }"
    ID = "plot"

    def __init__(self, session: Callable[[], RunSession], chosen: Callable[[], PlotSubject | None]) -> None:
        super().__init__(session)
        self._chosen = chosen

    def redraw_key(self, session: RunSession) -> object:
        return self._chosen(), self.shell.raw_values

    def draw_session(self, session: RunSession, width: int, height: int) -> list[Line]:
        chosen = self._chosen()
        target = workload_link(chosen.workload) if chosen is not None else ""
        return [link_line(line, target) for line in self._framed_plot(session, width, height)]

    def _framed_plot(self, session: RunSession, width: int, height: int) -> list[Line]:
        if not self.has_borders:
            return self.draw_plot(session, width, height)
        head, *rows = self.draw_plot(session, width - 7, height - 1)
        gap = [
            (f" {'─' * (len(part) - 2)} ", "rule") if len(part) > 4 and part.isspace() else (part, role)
            for part, role in head
        ]
        return frame_rows(gap, [*rows], width, height)

    def draw_plot(self, session: RunSession, width: int, height: int) -> list[Line]:
        chosen = self._chosen()
        if chosen is None:
            return [text_line("")]
        pairs = [] if self.shell.raw_values else pair_ratios(session, *chosen)
        if not any(len(c.values) > 1 for c in pairs):
            return _block_value_lines(session, chosen, width, height)
        return group_plot_lines(session, chosen.workload, pairs, chosen.metric, width, height)


class ValuesPlot(GroupPlot):
    """The raw values under the ratios, where there is room for both; the ratios under them where `p` turned these."""

    ID = "values"

    def draw_plot(self, session: RunSession, width: int, height: int) -> list[Line]:
        chosen = self._chosen()
        if chosen is None or height < 6 or not pair_ratios(session, *chosen):  # then they stand above already
            return [text_line("")]
        return _block_value_lines(session, chosen, width, height)
