"""A host's nights: the line of each load over them, where it turned, and what had changed on the host by then."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import partial

import msgspec
from textual.binding import Binding
from textual.widget import Widget

from hostdx.app.features.watch.report import (
    charted_loads_slow_first,
    headline_text,
    height_in_line,
    night_ratios,
    nights_text,
)
from hostdx.app.report.figures.plot import draw_plot
from hostdx.app.terminal.glyphs import SIGNS, clean_text, spark_cell
from hostdx.app.terminal.lines import (
    Line,
    crop_line,
    fit_line,
    frame_rows,
    merge_spans,
    split_line,
    text_line,
    wrap_keys,
    wrap_text,
)
from hostdx.app.tui.screens.base import Base
from hostdx.app.tui.screens.recordings import RecordingsScreen
from hostdx.app.tui.widgets.panel import DrawnPanel
from hostdx.app.tui.widgets.picker import Picker, PickerRow
from hostdx.probes import units
from hostdx.probes.units import format_percent
from hostdx.scenarios.analysis.compare.effects import metric_ratio_text
from hostdx.scenarios.analysis.nights.findings import (
    change_text,
    load_name,
    ratio_text_with_interval,
    suspected_changes_text,
)
from hostdx.scenarios.analysis.nights.history import HostHistory, LoadNights, Slowdown, Turn
from hostdx.scenarios.contract.results.document import Axis, ChartSeries

_CHANGED = "↓"
_TAIL = 30  # cells right of the lines
_MIN_LINE_CELLS = 10
MAX_ABOUT_LINES = 8  # lines
MIN_COURSE_LINES = 8
NO_NIGHTS = (
    "What to do: `hostdx watch --install` measures this host every night and fills this page. "
    "`hostdx watch --night` makes one such measurement now; [q] goes back."
)
STEP = 5  # per cent, of the limits of its axis


def open_nights(asking: RecordingsScreen) -> None:
    """Open the nights of the selected recording's host: what `hostdx watch` recorded here, else the battery's
    recordings. Where there are none, why is said."""
    of = [asking.chosen_host]

    def show(output: str) -> None:
        if asking.is_in_use:
            asking.app.push_screen(HistoryScreen(of, msgspec.json.decode(output, type=HostHistory)))

    asking.shell.run_command_then(["history", "--format", "json", "--", *of], "no nights", show)


def open_incident_book(asking: RecordingsScreen) -> None:
    """Open this host's incident book, whatever is selected. Where there is no book, how to get one is said."""
    asking.shell.show_report(["incident", "--format", "document"], "incidents", "incidents")


class LoadList(Picker):
    """A load a line, those that became slower first; above them where something was changed on the host."""

    def __init__(self, history: HostHistory) -> None:
        super().__init__(
            id="loads", title="EACH LOAD OVER THE NIGHTS", empty="no load is in two nights and a baseline"
        )
        self.history = history
        self.loads = charted_loads_slow_first(history)
        self._nights = [host_night.night for host_night in history.nights if host_night.state == "measured"]
        self.note = [(f"{nights_text(history)}, {_CHANGED} the host was changed", "dim")]

    def build_rows(self) -> list[PickerRow]:
        return [
            PickerRow(str(number), partial(self._row_with_sparkline, load), load_name(load))
            for number, load in enumerate(self.loads)
        ]

    def draw_column_heads(self, width: int) -> list[Line]:
        name, room = self._name_and_line_widths(width - 2)
        changes = {dated.night for dated in self.history.changes}
        marks = "".join(_CHANGED if changes & set(part) else " " for part in self._nights_by_cell(room))
        return [[(" " * (name + 3), "text"), (marks, "accent")]] if marks.strip() else []

    def _name_and_line_widths(self, width: int) -> tuple[int, int]:
        name = max(16, min(34, (width - _TAIL) // 2))
        return name, max(_MIN_LINE_CELLS, width - name - _TAIL - 2)

    def _nights_by_cell(self, room: int) -> list[list[int]]:
        """The nights of each cell: one, or several where there are more nights than cells."""
        each = -(-len(self._nights) // room) or 1
        return [self._nights[n : n + each] for n in range(0, len(self._nights), each)]

    def _row_with_sparkline(self, load: LoadNights, width: int) -> Line:
        name, room = self._name_and_line_widths(width)
        values = dict(night_ratios(load))
        drawn = ""
        for part in self._nights_by_cell(room):
            there = [values[night] for night in part if night in values]
            drawn += spark_cell(height_in_line(sum(there) / len(there)) if there else None)
        role = "critical" if load.slow else "text"
        left: Line = [
            *fit_line(text_line(load_name(load), role), name),
            (" ", "text"),
            (drawn, role),
        ]
        return split_line(left, self._slower_since_or_last(load), width)

    def _slower_since_or_last(self, load: LoadNights) -> Line:
        turn = next((turn for event, turn in self.turns_of(load) if turn.lasting), None)
        if turn is not None:
            since = self.start_date(turn)[:10]
            return [
                (f"{SIGNS['warning']} {metric_ratio_text(turn.ratio, turn.metric)} since {since}", "warning")
            ]
        last = night_ratios(load)[-1][1] - 1
        way = "above" if last >= 0 else "below"
        return [(f"last night: {format_percent(abs(last))} {way} the baseline", "dim")]

    def turns_of(self, load: LoadNights) -> list[tuple[Slowdown, Turn]]:
        return [
            (event, turn) for event in self.history.events for turn in event.turns if turn.key == load.key
        ]

    def start_date(self, turn: Turn) -> str:
        return next(
            (host_night.wall for host_night in self.history.nights if host_night.night == turn.since), ""
        )


class HistoryScreen(Base):
    """`of`: what the nights are of, as the command was asked."""

    DEFAULT_CSS = """
    HistoryScreen #lead { height: auto; max-height: 3; }
    HistoryScreen Picker { height: auto; max-height: 60%; }
    HistoryScreen #about { height: auto; margin: 1 0 0 0; }
    """
    BINDINGS = [
        Binding("o", "report", "report"),
        Binding("slash", "filter", "filter", priority=True),
    ]
    title_words = "history"

    def __init__(self, of: Sequence[str], history: HostHistory) -> None:
        super().__init__()
        self._of, self._history = of, history

    @property
    def head_words(self) -> tuple[str, str, str]:
        return "hostdx", "", self._history.host

    def compose_body(self) -> Iterable[Widget]:
        yield DrawnPanel(self._lead_lines, id="lead")
        yield LoadList(self._history)
        yield DrawnPanel(self._load_chart_lines, id="values")
        yield DrawnPanel(self._slowdown_lines, id="about")

    @property
    def _selected_load(self) -> LoadNights | None:
        loads = self.query_one(LoadList)
        return loads.loads[int(loads.selected_key)] if loads.selected_key else None

    def _lead_lines(self, width: int, _height: int) -> list[Line]:
        return wrap_text(headline_text(self._history), width, "strong")[:3]

    def _slowdown_lines(self, width: int, _height: int) -> list[Line]:
        """Of the load under the cursor: each time it became slower, how much, and the suspects."""
        loads, load = self.query_one(LoadList), self._selected_load
        if load is None:
            return wrap_keys(NO_NIGHTS, width)
        out = wrap_text(load_name(load), width, "strong")
        for event, turn in reversed(loads.turns_of(load)):
            state = "" if turn.lasting else "; over, or part of a newer baseline"
            since = f"since {loads.start_date(turn)[:10]} {ratio_text_with_interval(turn)}{state}"
            out += wrap_text(since, width)
            out += wrap_text(f"suspect: {suspected_changes_text(event)}", width, "accent", hang=2)
        if len(out) == 1:
            last = self._history.changes[-1:]
            words = f"last change: {change_text(last[0])}" if last else "no recorded fact changed"
            out += wrap_text(f"never slower than its baseline; {words}", width, "dim")
        shown = out[:MAX_ABOUT_LINES]
        return shown if shown == out else [*shown[:-1], crop_line(shown[-1], width)]

    def _load_chart_lines(self, width: int, height: int) -> list[Line]:
        """The load under the cursor night by night, in per cent of its baseline; `▲` since it is slower."""
        loads, load = self.query_one(LoadList), self._selected_load
        if load is None or height < MIN_COURSE_LINES:
            return []
        slow = min((turn.since for _, turn in loads.turns_of(load) if turn.lasting), default=None)
        ratios = night_ratios(load)
        first, last = ratios[0][0], ratios[-1][0]
        nights: dict[str, list[tuple[float, float]]] = {"●": [], "▲": []}
        for night, ratio in ratios:
            mark = "▲" if slow is not None and night >= slow else "●"
            nights[mark].append((night - first + 1, 100 * ratio))
        series = [ChartSeries(mark, tuple(points)) for mark, points in nights.items() if points]
        low, high = min(100 * ratio for _, ratio in ratios), max(100 * ratio for _, ratio in ratios)
        y = Axis(STEP * math.floor(min(low, 99) / STEP), STEP * math.ceil(max(high, 101) / STEP))
        rows = draw_plot(series, width - 4, height - 2, Axis(0.0, last - first + 1.0), y)
        roles = {"●": "a", "▲": "warning"}
        usual = units.metric_quantity(load.centre, load.metric.unit) if load.centre is not None else "–"
        note = text_line(f"% of the baseline ({usual}), lower is slower; from left to right: nights", "dim")
        drawn = [_colour_plot_row(row, roles) for row in rows]
        return frame_rows(load_name(load), drawn, width, height, note=note)

    def on_picker_chosen(self) -> None:
        self.action_report()

    def action_report(self) -> None:
        """All of it, as `hostdx history` prints it."""
        argv = ["history", "--format", "document", "--", *self._of]
        self.shell.show_report(argv, f"{clean_text(self._history.host)}-nights", "report")


def _colour_plot_row(row: str, roles: dict[str, str]) -> Line:
    """Splits at the markers; everything before the axis is dim."""
    edge = max((row.find(c) for c in "┤│└"), default=-1)
    head, body = row[: edge + 1], row[edge + 1 :]
    line: Line = [(head, "dim")]
    axis = edge < 0 or "└" in head
    grid = head.endswith("┤")  # a faint line where the axis has a figure
    for sign in body:
        if axis or sign != " " or not grid:
            line.append((sign, "dim" if axis else roles.get(sign, "dim")))
        else:
            line.append(("·", "rule"))
    return merge_spans(line)
