"""Variant over baseline, group by group, with the margin as a band: the answer itself, not the raw values."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

from app.recordings.session import RunSession
from app.report.wording import metric_title
from app.terminal.glyphs import clean_text
from app.terminal.lines import Line, cell_width, crop_line, frame_rows, merge_spans, split_line, text_line
from app.tui.widgets.measuring.block_plot import plot_lines, variant_label, variant_marks
from app.tui.widgets.measuring.standing import margin_of, title_of
from app.tui.widgets.panel import PacedPanel
from probes import units

_TICKS = (
    0.01, 0.02, 0.05, 0.1, 0.2, 0.33, 0.5, 0.67, 0.8, 0.9, 0.95, 1.0,
    1.05, 1.1, 1.25, 1.5, 2.0, 3.0, 5.0, 10.0, 20.0, 50.0, 100.0,
)  # fmt: skip
_EDGE = 8  # cells of the y axis with its labels
_HALVES = ("", "▀", "▄", "█")
_FAR = 1.3  # times the 95th percentile: what lies further out stands at the edge
MAX_NAMED_PAIRS = 4
WAY = "down is slower"
GROUP = "group: all sides in turn"
GREY = "grey: after it was decided"


Cell: TypeAlias = tuple[str, str]  # sign, role


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


def _half_marks(
    values: Sequence[float], span: Span, columns: int, rows: int, longest: int
) -> dict[tuple[int, int], str]:
    """Half a cell high each, by (row, column) from the top."""
    halves: dict[tuple[int, int], int] = {}
    for n, value in enumerate(values):
        x = min(columns - 1, int((n + 0.5) / longest * columns))
        half = min(2 * rows - 1, int((1 - span.share_of(value)) * 2 * rows))
        cell = (half // 2, x)
        halves[cell] = halves.get(cell, 0) | (1 << half % 2)
    return {cell: _HALVES[which] for cell, which in halves.items()}


class Span(NamedTuple):
    low: float
    high: float

    def share_of(self, value: float) -> float:
        return min(1.0, max(0.0, (value - self.low) / (self.high - self.low)))


def _plot_limits(values: Sequence[float], edge: float) -> tuple[Span, int]:
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
    return Span(low, high), sum(not low <= v <= high for v in ordered)


def group_plot_lines(
    session: RunSession, workload: str, pairs: Sequence[PairRatios], metric: str, width: int, height: int
) -> list[Line]:
    """A title and the plot in `height` lines; `found` holds at least one value."""
    margin = margin_of(session)
    edge = math.log1p(margin)
    span, beyond = _plot_limits([v for c in pairs for v in c.values], edge)
    rows, columns = max(3, height - 3), max(10, width - _EDGE - 1)
    roles = {v: role for v, (_, role) in variant_marks(session).items()}
    longest = max(len(c.values) for c in pairs)
    grid: list[list[Cell]] = [[(" ", "text")] * columns for _ in range(rows)]
    for y in range(rows):
        top, bottom = (span.high - (span.high - span.low) * n / rows for n in (y, y + 1))
        if top >= -edge and bottom <= edge:
            grid[y] = [("░", "shade@band")] * columns
    unity_row = min(rows - 1, int((1 - span.share_of(0.0)) * rows))
    for course in pairs:
        for (y, x), sign in _half_marks(course.values, span, columns, rows, longest).items():
            ground = "@band" if grid[y][x][1].endswith("@band") else ""
            own = roles.get(course.variant, "b")
            counted = course.counted is None or x < columns * course.counted / longest
            grid[y][x] = (sign, f"{own if counted else 'dim'}{ground}")
    labels = _tick_labels(span, rows, unity_row)
    out = [_title(session, workload, pairs, metric, beyond, width, roles)]
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


def _tick_labels(span: Span, rows: int, unity_row: int) -> dict[int, str]:
    """Ratios beside their rows; 1 always, the others where two rows are free between."""
    labels = {unity_row: "1"}
    for tick in sorted(_TICKS, key=lambda t: abs(math.log(t)), reverse=True):
        log = math.log(tick)
        if not span.low <= log <= span.high:
            continue
        y = min(rows - 1, int((1 - span.share_of(log)) * rows))
        if all(abs(y - other) >= 2 for other in labels):
            labels[y] = f"{tick:g}"
    return {y: f"{words} ×" for y, words in labels.items()}


def _title(
    session: RunSession, workload: str, pairs: Sequence[PairRatios], metric: str, beyond: int, width: int,
    roles: dict[str, str],
) -> Line:  # fmt: skip
    """Return which load, what over what, which way is good."""
    right = ["finished"] if session.ended is None and workload != session.workload else []
    right += [f"{beyond} beyond the edge"] if beyond else []
    right.append(f"band: ±{units.format_percent(margin_of(session))}")
    for first in range(len(right)):  # the sides' names give way before what a colour means
        note = "   ".join(right[first:])
        for names in (18, 0):
            left = _pairs_line(session, workload, pairs, metric, names, roles)
            if cell_width(left) + len(note) < width:
                return split_line(left, text_line(note, "dim"), width)
    return crop_line(left, width)


def _pairs_line(
    session: RunSession,
    workload: str,
    pairs: Sequence[PairRatios],
    metric: str,
    names: int,
    roles: dict[str, str],
) -> Line:
    """Each side in at most `names` cells; by its letter or word alone where there is no room."""
    out: Line = [(f"{title_of(session, workload)}: ", "strong")]
    for n, course in enumerate(pairs[:MAX_NAMED_PAIRS]):
        sides = [variant_label(session, side, names) if names else clean_text(side) for side in course[:2]]
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
        if not self.has_borders:
            return self.draw_plot(session, width, height)
        head, *rows = self.draw_plot(session, width - 7, height - 1)
        gap = [
            (f" {'─' * (len(part) - 2)} ", "rule") if len(part) > 4 and part.isspace() else (part, role)
            for part, role in head
        ]
        return frame_rows(gap, [], [*rows], width, height)

    def draw_plot(self, session: RunSession, width: int, height: int) -> list[Line]:
        chosen = self._chosen()
        if chosen is None:
            return [text_line("")]
        pairs = [] if self.shell.raw_values else pair_ratios(session, *chosen)
        if not any(len(c.values) > 1 for c in pairs):
            return plot_lines(session, width, height, chosen.workload)
        return group_plot_lines(session, chosen.workload, pairs, chosen.metric, width, height)


class ValuesPlot(GroupPlot):
    """The raw values under the ratios, where there is room for both; the ratios under them where `p` turned these."""

    ID = "values"

    def draw_plot(self, session: RunSession, width: int, height: int) -> list[Line]:
        chosen = self._chosen()
        if chosen is None or height < 6 or not pair_ratios(session, *chosen):  # then they stand above already
            return [text_line("")]
        return plot_lines(session, width, height, chosen.workload)
