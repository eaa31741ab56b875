"""Variant over baseline, group by group, with the margin as a band: the answer itself, not the raw values."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

from app.glyphs import clean
from app.lines import Line, cells, crop, framed, merged, split, text
from app.recording.session import Session
from app.report.wording import metric_title
from app.tui.widgets.measuring.block_plot import label, plot_lines, variants
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
MOST_NAMED = 4
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
    session: Session, workload: str, metric: str, only: tuple[str, str] | None = None
) -> list[PairRatios]:
    """Of the pairs that have values, in the order they came; disturbed groups have none."""
    found: dict[tuple[str, str], list[float]] = {}
    for group in session.groups.get(workload, ()):
        for key, value in group.log_ratios.items():
            name, _, both = key.partition("|")
            baseline, _, variant = both.partition("|")
            if name == metric and math.isfinite(value) and (only is None or only == (baseline, variant)):
                found.setdefault((baseline, variant), []).append(value)
    rest = {
        (v.baseline, v.variant): v.groups * v.batch
        for v in session.verdicts.values()
        if (v.workload, v.metric) == (workload, metric)
    }
    return [PairRatios(*both, values, rest.get(both)) for both, values in found.items()]


def _marks(
    values: Sequence[float], span: Span, columns: int, rows: int, longest: int
) -> dict[tuple[int, int], str]:
    """Half a cell high each, by (row, column) from the top."""
    halves: dict[tuple[int, int], int] = {}
    for n, value in enumerate(values):
        x = min(columns - 1, int((n + 0.5) / longest * columns))
        half = min(2 * rows - 1, int((1 - span.share(value)) * 2 * rows))
        where = (half // 2, x)
        halves[where] = halves.get(where, 0) | (1 << half % 2)
    return {where: _HALVES[which] for where, which in halves.items()}


class Span(NamedTuple):
    low: float
    high: float

    def share(self, value: float) -> float:
        return min(1.0, max(0.0, (value - self.low) / (self.high - self.low)))


def _span(values: Sequence[float], edge: float) -> tuple[Span, int]:
    """Limits in log ratios round the margin and the values, and how many of these lie beyond them."""
    low, high = -1.6 * edge, 1.6 * edge
    ordered = sorted(values)
    for sign in (-1, 1):
        ours = sorted(v * sign for v in ordered if v * sign > 0)
        if ours:
            usual = ours[min(len(ours) - 1, int(0.95 * len(ours)))]
            reach = ours[-1] if ours[-1] <= _FAR * usual else usual
            if sign < 0:
                low = min(low, -1.1 * reach)
            else:
                high = max(high, 1.1 * reach)
    return Span(low, high), sum(not low <= v <= high for v in ordered)


def group_plot_lines(
    session: Session, workload: str, found: Sequence[PairRatios], metric: str, width: int, height: int
) -> list[Line]:
    """A title and the plot in `height` lines; `found` holds at least one value."""
    margin = margin_of(session)
    edge = math.log1p(margin)
    span, beyond = _span([v for c in found for v in c.values], edge)
    rows, columns = max(3, height - 3), max(10, width - _EDGE - 1)
    roles = {v: role for v, (_, role) in variants(session).items()}
    longest = max(len(c.values) for c in found)
    grid: list[list[Cell]] = [[(" ", "text")] * columns for _ in range(rows)]
    for y in range(rows):
        top, bottom = (span.high - (span.high - span.low) * n / rows for n in (y, y + 1))
        if top >= -edge and bottom <= edge:
            grid[y] = [("░", "shade@band")] * columns
    one = min(rows - 1, int((1 - span.share(0.0)) * rows))
    for course in found:
        for (y, x), sign in _marks(course.values, span, columns, rows, longest).items():
            ground = "@band" if grid[y][x][1].endswith("@band") else ""
            own = roles.get(course.variant, "b")
            counted = course.counted is None or x < columns * course.counted / longest
            grid[y][x] = (sign, f"{own if counted else 'dim'}{ground}")
    labels = _labels(span, rows, one)
    out = [_title(session, workload, found, metric, beyond, width, roles)]
    for y, row in enumerate(grid):
        tick = labels.get(y, "")
        row = [("·", "rule") if tick and sign == " " else (sign, role) for sign, role in row]
        out.append([(f"{tick:>{_EDGE - 1}}{'┤' if tick else '│'}", "dim"), *merged(row)])
    out.append([(" " * (_EDGE - 1) + "└" + "─" * columns, "dim")])
    right = f"{longest}"
    line = f"{'1':<{columns - len(right)}}{right}"
    late = any(c.counted is not None and c.counted < len(c.values) for c in found)
    grey = f", {GREY}" if late else ""
    notes = (f" {GROUP}, {WAY}{grey} ", f" group, {WAY}{grey} ", f" group, {WAY} ")
    middle = next((note for note in notes if len(note) + 6 <= columns), "")
    at = max(2, (columns - len(middle)) // 2)
    out.append([(" " * _EDGE + line[:at] + middle + line[at + len(middle) :], "dim")])
    return [*out, *([text("")] * (height - len(out)))][:height]


def _labels(span: Span, rows: int, one: int) -> dict[int, str]:
    """Ratios beside their rows; 1 always, the others where two rows are free between."""
    found = {one: "1"}
    for tick in sorted(_TICKS, key=lambda t: abs(math.log(t)), reverse=True):
        log = math.log(tick)
        if not span.low <= log <= span.high:
            continue
        y = min(rows - 1, int((1 - span.share(log)) * rows))
        if all(abs(y - other) >= 2 for other in found):
            found[y] = f"{tick:g}"
    return {y: f"{words} ×" for y, words in found.items()}


def _title(
    session: Session, workload: str, found: Sequence[PairRatios], metric: str, beyond: int, width: int,
    roles: dict[str, str],
) -> Line:  # fmt: skip
    """Which load, what over what, which way is good."""
    right = ["finished"] if session.ended is None and workload != session.workload else []
    right += [f"{beyond} beyond the edge"] if beyond else []
    right.append(f"band: ±{units.percent(margin_of(session))}")
    for first in range(len(right)):  # the sides' names give way before what a colour means
        note = "   ".join(right[first:])
        for names in (18, 0):
            left = _pairs(session, workload, found, metric, names, roles)
            if cells(left) + len(note) < width:
                return split(left, text(note, "dim"), width)
    return crop(left, width)


def _pairs(
    session: Session,
    workload: str,
    found: Sequence[PairRatios],
    metric: str,
    names: int,
    roles: dict[str, str],
) -> Line:
    """Each side in at most `names` cells; by its letter or word alone where there is no room."""
    out: Line = [(f"{title_of(session, workload)}: ", "strong")]
    for n, course in enumerate(found[:MOST_NAMED]):
        sides = [label(session, side, names) if names else clean(side) for side in course[:2]]
        out += [(", " if n else "", "text"), (sides[1], roles.get(course.variant, "b"))]
        following = found[n + 1].baseline if n + 1 < len(found[:MOST_NAMED]) else ""
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

    def __init__(self, session: Callable[[], Session], chosen: Callable[[], PlotSubject | None]) -> None:
        super().__init__(session)
        self._chosen = chosen

    def shows(self, session: Session) -> object:
        return self._chosen(), self.shell.raw_values

    def made(self, session: Session, width: int, height: int) -> list[Line]:
        if not self.boxed:
            return self.lines(session, width, height)
        head, *rows = self.lines(session, width - 7, height - 1)
        gap = [
            (f" {'─' * (len(part) - 2)} ", "rule") if len(part) > 4 and part.isspace() else (part, role)
            for part, role in head
        ]
        return framed(gap, [], [*rows], width, height)

    def lines(self, session: Session, width: int, height: int) -> list[Line]:
        chosen = self._chosen()
        if chosen is None:
            return [text("")]
        found = [] if self.shell.raw_values else pair_ratios(session, *chosen)
        if not any(len(c.values) > 1 for c in found):
            return plot_lines(session, width, height, chosen.workload)
        return group_plot_lines(session, chosen.workload, found, chosen.metric, width, height)


class ValuesPlot(GroupPlot):
    """The raw values under the ratios, where there is room for both; the ratios under them where `p` turned these."""

    ID = "values"

    def lines(self, session: Session, width: int, height: int) -> list[Line]:
        chosen = self._chosen()
        if chosen is None or height < 6 or not pair_ratios(session, *chosen):  # then they stand above already
            return [text("")]
        return plot_lines(session, width, height, chosen.workload)
