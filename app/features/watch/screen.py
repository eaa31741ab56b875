"""A host's nights: the line of each load over them, where it turned, and what had changed on the host by then."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import partial

import msgspec
from textual.binding import Binding
from textual.widget import Widget

from app.features.watch.report import headline_text, line_order, night_ratios, share_of_line
from app.report.figures.plot import draw_plot
from app.terminal.glyphs import SIGNS, clean_text, spark_cell
from app.terminal.lines import (
    BLANK,
    Line,
    crop_line,
    frame_rows,
    pad_line,
    split_line,
    text_line,
    wrap_text,
)
from app.tui.children.command import CommandOutcome, run_hostdx
from app.tui.screens.base import Base, TopBar
from app.tui.screens.recordings import RecordingsScreen
from app.tui.screens.report import ReportScreen
from app.tui.widgets.measuring.block_plot import colour_row
from app.tui.widgets.panel import Panel
from app.tui.widgets.picker import Picker, PickerRow
from probes import units
from probes.units import count_noun, format_percent
from scenarios.analysis.compare.effects import metric_ratio_text
from scenarios.analysis.nights.findings import (
    change_text,
    load_name,
    ratio_text_with_interval,
    suspects_text,
)
from scenarios.analysis.nights.history import HostHistory, LoadNights, Slowdown, Turn
from scenarios.contract.results.document import Axis, ChartSeries, ReportDocument

_CHANGED = "↓"
_TAIL = 30  # cells right of the lines
_MIN_LINE_CELLS = 10
MAX_ABOUT_LINES = 8  # lines
MIN_COURSE_LINES = 8
STEP = 5  # per cent, of the limits of its axis


def open_nights(asking: RecordingsScreen) -> None:
    """Open the nights of the selected recording's host: what `hostdx watch` recorded here, else the battery's
    recordings. Where there are none, why is said."""
    of = [asking.chosen_host]

    def show(outcome: CommandOutcome) -> None:
        if outcome.error:
            asking.shell.show_message(clean_text(outcome.error.removeprefix("history: ")))
        elif asking.in_use:
            history = msgspec.json.decode(outcome.output, type=HostHistory)
            asking.app.push_screen(HistoryScreen(of, history))

    run_hostdx(asking, ["history", "--format", "json", "--", *of], show)


def open_incidents(asking: RecordingsScreen) -> None:
    """Open what the incident book says. Where there is no book, how to get one is said."""

    def show(outcome: CommandOutcome) -> None:
        if outcome.error:
            asking.shell.show_message(clean_text(outcome.error.removeprefix("incident: ")))
        elif asking.in_use:
            document = msgspec.json.decode(outcome.output, type=ReportDocument)
            asking.app.push_screen(ReportScreen("incidents", document))

    run_hostdx(asking, ["incident", "--format", "document"], show)


class Lead(Panel):
    DEFAULT_CSS = "Lead { height: auto; max-height: 3; }"

    def __init__(self, history: HostHistory) -> None:
        super().__init__(id="lead")
        self._words = headline_text(history)

    def draw(self, width: int, height: int) -> list[Line]:
        return wrap_text(clean_text(self._words), width, "strong")[:3]


class LoadList(Picker):
    """A load a line, those that became slower first; above them where something was changed on the host."""

    def __init__(self, history: HostHistory) -> None:
        super().__init__(
            id="loads", title="EACH LOAD OVER THE NIGHTS", empty="no load is in two nights and a baseline"
        )
        self.history = history
        self.loads = line_order(history)
        self._nights = [host_night.night for host_night in history.nights if host_night.state == "measured"]
        self._rows = [
            PickerRow(str(number), partial(self._load_line, load), load_name(load))
            for number, load in enumerate(self.loads)
        ]
        self.note = [
            (
                f"{count_noun(history.measured_count, 'night')}, {_CHANGED} the host was changed in that night",
                "dim",
            )
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

    def _load_line(self, load: LoadNights, width: int) -> Line:
        name, room = self._name_and_line_widths(width)
        values = dict(night_ratios(load))
        drawn = ""
        for part in self._nights_by_cell(room):
            there = [values[night] for night in part if night in values]
            drawn += spark_cell(share_of_line(sum(there) / len(there)) if there else None)
        role = "critical" if load.slow else "text"
        left: Line = [
            *pad_line(text_line(clean_text(load_name(load)), role), name),
            (" ", "text"),
            (drawn, role),
        ]
        return split_line(left, self._standing_line(load), width)

    def _standing_line(self, load: LoadNights) -> Line:
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


class SlowdownDetails(Panel):
    """Of the load under the cursor: each time it became slower, how much, and the suspects."""

    DEFAULT_CSS = "SlowdownDetails { height: auto; margin: 1 0 0 0; }"

    def draw(self, width: int, height: int) -> list[Line]:
        loads = self.screen.query_one(LoadList)
        if not loads.selected_key:
            return [BLANK]
        load = loads.loads[int(loads.selected_key)]
        out = wrap_text(clean_text(load_name(load)), width, "strong")
        for event, turn in reversed(loads.turns_of(load)):
            state = "" if turn.lasting else "; over, or part of a newer baseline"
            out += wrap_text(
                clean_text(f"since {loads.start_date(turn)[:10]} {ratio_text_with_interval(turn)}{state}"),
                width,
            )
            out += wrap_text(clean_text(f"suspect: {suspects_text(event)}"), width, "accent", hang=2)
        if len(out) == 1:
            last = loads.history.changes[-1:]
            words = f"last change: {change_text(last[0])}" if last else "no recorded fact changed"
            out += wrap_text(clean_text(f"never slower than its baseline; {words}"), width, "dim")
        return (
            [*out[: MAX_ABOUT_LINES - 1], crop_line(out[MAX_ABOUT_LINES - 1], width)]
            if len(out) > MAX_ABOUT_LINES
            else out
        )


class LoadCourse(Panel):
    """The load under the cursor night by night, in per cent of its baseline; `▲` since it is slower."""

    DEFAULT_CSS = "LoadCourse { height: 1fr; }"

    def draw(self, width: int, height: int) -> list[Line]:
        loads = self.screen.query_one(LoadList)
        if not loads.selected_key or height < MIN_COURSE_LINES:
            return []
        load = loads.loads[int(loads.selected_key)]
        slow = min((turn.since for _, turn in loads.turns_of(load) if turn.lasting), default=None)
        ratios = night_ratios(load)
        first, last = ratios[0][0], ratios[-1][0]
        nights: dict[str, list[tuple[float, float]]] = {"●": [], "▲": []}
        for night, ratio in ratios:
            nights["▲" if slow is not None and night >= slow else "●"].append(
                (night - first + 1, 100 * ratio)
            )
        series = [ChartSeries(mark, tuple(points)) for mark, points in nights.items() if points]
        low, high = min(100 * ratio for _, ratio in ratios), max(100 * ratio for _, ratio in ratios)
        y = Axis(STEP * math.floor(min(low, 99) / STEP), STEP * math.ceil(max(high, 101) / STEP))
        rows = draw_plot(series, width - 4, height - 2, Axis(0.0, last - first + 1.0), y)
        roles = {"●": "a", "▲": "warning"}
        usual = units.metric_quantity(load.centre, load.metric.unit) if load.centre is not None else "–"
        note = text_line(f"% of the baseline ({usual}), lower is slower; from left to right: nights", "dim")
        name = text_line(clean_text(load_name(load)), "title")
        return frame_rows(name, note, [colour_row(row, roles) for row in rows], width, height)


class HistoryScreen(Base):
    """`of`: what the nights are of, as the command was asked."""

    DEFAULT_CSS = "HistoryScreen Picker { height: auto; max-height: 60%; }"
    BINDINGS = [
        Binding("o", "report", "report"),
        Binding("slash", "filter", "filter", priority=True),
    ]
    title_words = "history"

    def __init__(self, of: Sequence[str], history: HostHistory) -> None:
        super().__init__()
        self._of, self._history = of, history

    def compose_head(self) -> Iterable[Widget]:
        yield TopBar(about=clean_text(self._history.host))

    def compose_body(self) -> Iterable[Widget]:
        yield Lead(self._history)
        yield LoadList(self._history)
        yield LoadCourse(id="values")
        yield SlowdownDetails(id="about")

    def on_mount(self) -> None:
        self.query_one(LoadList).focus()

    def on_picker_moved(self) -> None:
        self.query_one(LoadCourse).redraw()
        self.query_one(SlowdownDetails).redraw()

    def on_picker_chosen(self) -> None:
        self.action_report()

    def action_report(self) -> None:
        """All of it, as `hostdx history` prints it."""

        def show(outcome: CommandOutcome) -> None:
            if outcome.error:
                self.shell.show_message(clean_text(outcome.error))
            elif self.in_use:
                document = msgspec.json.decode(outcome.output, type=ReportDocument)
                self.app.push_screen(ReportScreen(f"{clean_text(self._history.host)}-nights", document))

        run_hostdx(self, ["history", "--format", "document", "--", *self._of], show)
