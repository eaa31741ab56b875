"""A host's nights: the line of each load over them, where it turned, and what had changed on the host by then."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import partial

import msgspec
from textual.binding import Binding
from textual.widget import Widget

from app.glyphs import SIGNS, clean, spark
from app.lines import BLANK, Line, crop, framed, pad, split, text, wrapped
from app.report.figures.plot import plot
from app.report.results.nights import headline, line_order, night_ratios, share_of_line
from app.tui.children.command import Outcome, hostdx
from app.tui.screens.base import Base, TopBar
from app.tui.screens.report import ReportScreen
from app.tui.widgets.measuring.block_plot import coloured
from app.tui.widgets.panel import Panel
from app.tui.widgets.picker import Picker, PickerRow
from probes import units
from probes.units import counted, percent
from scenarios.compare.effects import of_metric
from scenarios.nights.findings import changed, named, sized, suspects
from scenarios.nights.history import History, LoadNights, Slowdown, Turn
from scenarios.results.document import Axis, ChartSeries, ReportDocument

_CHANGED = "↓"
_TAIL = 30  # cells right of the lines
_LEAST_LINE = 10
MOST_ABOUT = 8  # lines
LEAST_COURSE = 8
STEP = 5  # per cent, of the limits of its axis


def ask(asking: Base, of: Sequence[str]) -> None:
    """Opens the nights of `of`, as `hostdx history` takes it; where there are none, why is said."""

    def show(outcome: Outcome) -> None:
        if outcome.error:
            asking.shell.say(clean(outcome.error.removeprefix("history: ")))
        elif asking.in_use:
            found = msgspec.json.decode(outcome.output, type=History)
            asking.app.push_screen(HistoryScreen(of, found))

    hostdx(asking, ["history", "--format", "json", "--", *of], show)


class Lead(Panel):
    DEFAULT_CSS = "Lead { height: auto; max-height: 3; }"

    def __init__(self, found: History) -> None:
        super().__init__(id="lead")
        self._words = "".join(one if isinstance(one, str) else one.text for one in headline(found))

    def draw(self, width: int, height: int) -> list[Line]:
        return wrapped(clean(self._words), width, "strong")[:3]


class LoadList(Picker):
    """A load a line, those that became slower first; above them where something was changed on the host."""

    def __init__(self, found: History) -> None:
        super().__init__(
            id="loads", title="EACH LOAD OVER THE NIGHTS", empty="no load is in two nights and a baseline"
        )
        self.found = found
        self.loads = line_order(found)
        self._nights = [seen.night for seen in found.nights if seen.state == "measured"]
        self._rows = [
            PickerRow(str(number), partial(self._line, load), named(load))
            for number, load in enumerate(self.loads)
        ]
        self.note = [(f"{counted(found.measured, 'night')}, {_CHANGED} something was changed", "dim")]

    def columns(self, width: int) -> list[Line]:
        name, room = self._widths(width - 2)
        changes = {dated.night for dated in self.found.changes}
        marks = "".join(_CHANGED if changes & set(part) else " " for part in self._parts(room))
        return [[(" " * (name + 3), "text"), (marks, "accent")]] if marks.strip() else []

    def _widths(self, width: int) -> tuple[int, int]:
        name = max(16, min(34, (width - _TAIL) // 2))
        return name, max(_LEAST_LINE, width - name - _TAIL - 2)

    def _parts(self, room: int) -> list[list[int]]:
        """The nights of each cell: one, or several where there are more nights than cells."""
        each = -(-len(self._nights) // room) or 1
        return [self._nights[n : n + each] for n in range(0, len(self._nights), each)]

    def _line(self, load: LoadNights, width: int) -> Line:
        name, room = self._widths(width)
        values = dict(night_ratios(load))
        drawn = ""
        for part in self._parts(room):
            there = [values[night] for night in part if night in values]
            drawn += spark(share_of_line(sum(there) / len(there)) if there else None)
        role = "critical" if load.slow else "text"
        left: Line = [*pad(text(clean(named(load)), role), name), (" ", "text"), (drawn, role)]
        return split(left, self._standing(load), width)

    def _standing(self, load: LoadNights) -> Line:
        turn = next((turn for event, turn in self.turns(load) if turn.lasting), None)
        if turn is not None:
            since = self.since(turn)[:10]
            return [(f"{SIGNS['warning']} {of_metric(turn.ratio, turn.metric)} since {since}", "warning")]
        last = night_ratios(load)[-1][1] - 1
        return [(f"last night {'+' if last >= 0 else '−'}{percent(abs(last))}", "dim")]

    def turns(self, load: LoadNights) -> list[tuple[Slowdown, Turn]]:
        return [(event, turn) for event in self.found.events for turn in event.turns if turn.key == load.key]

    def since(self, turn: Turn) -> str:
        return next((seen.wall for seen in self.found.nights if seen.night == turn.since), "")


class SlowdownDetails(Panel):
    """Of the load under the cursor: each time it became slower, how much, and the suspects."""

    DEFAULT_CSS = "SlowdownDetails { height: auto; margin: 1 0 0 0; }"

    def draw(self, width: int, height: int) -> list[Line]:
        loads = self.screen.query_one(LoadList)
        if not loads.selected:
            return [BLANK]
        load = loads.loads[int(loads.selected)]
        out = wrapped(clean(named(load)), width, "strong")
        for event, turn in reversed(loads.turns(load)):
            state = "" if turn.lasting else "; over, or part of a newer baseline"
            out += wrapped(clean(f"since {loads.since(turn)[:10]} {sized(turn)}{state}"), width)
            out += wrapped(clean(f"suspect: {suspects(event)}"), width, "accent", hang=2)
        if len(out) == 1:
            last = loads.found.changes[-1:]
            words = f"last change: {changed(last[0])}" if last else "no recorded fact changed"
            out += wrapped(clean(f"never slower than its baseline; {words}"), width, "dim")
        return [*out[: MOST_ABOUT - 1], crop(out[MOST_ABOUT - 1], width)] if len(out) > MOST_ABOUT else out


class LoadCourse(Panel):
    """The load under the cursor night by night, in per cent of its baseline; `▲` since it is slower."""

    DEFAULT_CSS = "LoadCourse { height: 1fr; }"

    def draw(self, width: int, height: int) -> list[Line]:
        loads = self.screen.query_one(LoadList)
        if not loads.selected or height < LEAST_COURSE:
            return []
        load = loads.loads[int(loads.selected)]
        slow = min((turn.since for _, turn in loads.turns(load) if turn.lasting), default=None)
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
        rows = plot(series, width - 4, height - 2, Axis(0.0, last - first + 1.0), y)
        roles = {"●": "a", "▲": "warning"}
        usual = units.amount(load.centre, load.metric.unit) if load.centre is not None else "–"
        note = text(f"% of the baseline ({usual}), down is slower; across: nights", "dim")
        name = text(clean(named(load)), "title")
        return framed(name, note, [coloured(row, roles) for row in rows], width, height)


class HistoryScreen(Base):
    """`of`: what the nights are of, as the command was asked."""

    DEFAULT_CSS = "HistoryScreen Picker { height: auto; max-height: 60%; }"
    BINDINGS = [
        Binding("o", "report", "report"),
        Binding("slash", "filter", "filter", priority=True),
    ]
    title_words = "nights"

    def __init__(self, of: Sequence[str], found: History) -> None:
        super().__init__()
        self._of, self._found = of, found

    def head(self) -> Iterable[Widget]:
        yield TopBar(about=clean(self._found.host))

    def body(self) -> Iterable[Widget]:
        yield Lead(self._found)
        yield LoadList(self._found)
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

        def show(outcome: Outcome) -> None:
            if outcome.error:
                self.shell.say(clean(outcome.error))
            elif self.in_use:
                document = msgspec.json.decode(outcome.output, type=ReportDocument)
                self.app.push_screen(ReportScreen(f"{clean(self._found.host)}-nights", document))

        hostdx(self, ["history", "--format", "document", "--", *self._of], show)
