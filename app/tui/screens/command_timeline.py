"""Inside the runs of a command: one curve at a time, live and in the replay."""

from __future__ import annotations

from collections.abc import Iterable

from textual.binding import Binding
from textual.widget import Widget

from hostdx.app.recordings.session import RunSession
from hostdx.app.report.forms.cells import table_lines
from hostdx.app.report.results import command_timeline as timeline
from hostdx.app.terminal.lines import BLANK, Line, split_line, text_line
from hostdx.app.tui.screens.run import RunPartScreen
from hostdx.app.tui.widgets.measuring.graphs import CPUS, MIN_GRAPH_LINES, Graph, draw_graphs
from hostdx.app.tui.widgets.measuring.transport import Transport
from hostdx.app.tui.widgets.measuring.variants import variant_label, variant_marks
from hostdx.app.tui.widgets.panel import DrawnPanel

_NOTHING = "no samples inside the runs: a run is sampled once a second, and has to take 3 s at least"


class InsideScreen(RunPartScreen):
    BINDINGS = [
        Binding("j,down", "step_curve(1)", "next curve"),
        Binding("k,up", "step_curve(-1)", "previous curve", show=False),
        Binding("q", "back", "back"),
    ]
    title_words = "inside a run"
    step_words = "inside a run"

    def __init__(self) -> None:
        super().__init__()
        self.at = 0

    def compose_body(self) -> Iterable[Widget]:
        yield DrawnPanel(
            lambda w, h: command_timeline_lines(self.current_session(), self.at, w, h), id="curve"
        )
        yield Transport(lambda: self.run_feed)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return action != "inside" and super().check_action(action, parameters)

    def action_step_curve(self, by: int) -> None:
        self.at += by
        self.show()


def command_timeline_lines(session: RunSession, at: int, width: int, height: int) -> list[Line]:
    """The field with that number, counted round. Fewer figures on a low screen, the plot first."""
    field = timeline.FIELDS[at % len(timeline.FIELDS)]
    runs_by_variant = timeline.collect_curves(session, field)
    if not runs_by_variant:
        return [text_line(_NOTHING if not session.inside else f"{field.title}: could not be read", "dim")]
    marks = variant_marks(session)
    shown = {v: mark for v, mark in marks.items() if v in runs_by_variant}
    unit = CPUS if field.key == "CPU" else field.unit
    graphs = [
        Graph(
            variant_label(session, v), role, unit, timeline.median_points(runs_by_variant[v]), field.key, True
        )
        for v, (_, role) in shown.items()
    ]
    last_s = max(points[-1][0] for runs in runs_by_variant.values() for points in runs)
    quarters = timeline.quarter_table({field: runs_by_variant}).only_columns(range(1, 8))
    below = table_lines(quarters, width)
    room = max(MIN_GRAPH_LINES + 1, height - len(below) - 2)
    title: Line = [(field.title, "strong"), (", median over the runs", "dim")]
    return [
        split_line(title, text_line("seconds since the command's start", "dim"), width),
        *draw_graphs(graphs, last_s, width, room),
        BLANK,
        *below,
    ]
