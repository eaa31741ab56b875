"""One load of a run opened whole: its time series, the times of its operations, its groups and its raw values."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from textual.binding import Binding
from textual.widget import Widget

from hostdx.app.recordings.session import RunSession
from hostdx.app.terminal.glyphs import clean_text
from hostdx.app.terminal.lines import BLANK, Line, crop_line, frame_rows, text_line
from hostdx.app.tui.screens.base import Base
from hostdx.app.tui.widgets.measuring.graphs import block_graph_lines, format_value
from hostdx.app.tui.widgets.measuring.group_plot import group_plot_lines, pair_ratios
from hostdx.app.tui.widgets.measuring.load_cards import load_state
from hostdx.app.tui.widgets.measuring.standing import list_standings, title_of, workloads_with_pairs
from hostdx.app.tui.widgets.measuring.times import Times
from hostdx.app.tui.widgets.measuring.variants import leading_metric_and_unit
from hostdx.app.tui.widgets.panel import PacedPanel

MAX_TIMES_ROWS, MIN_GROUP_LINES = 4, 7
MIN_SERIES_LINES = 5


def load_lines(session: RunSession, workload: str, width: int, height: int) -> list[Line]:
    """Return the whole of a load in at most `height` lines; the time series and the groups share what is left."""
    load = next((load for load, _ in workloads_with_pairs(session) if load.id == workload), None)
    if load is None or not session.blocks.get(workload):
        return [text_line("nothing is measured of it yet", "dim")]
    head: list[Line] = []
    for standing in list_standings(session, workload):
        words: Line = [
            (f"{standing.name}  " if standing.name else "", "text"),
            (standing.words, standing.role),
        ]
        figures = f"   95 % CI {standing.figures}" if standing.figures else ""
        head.append(crop_line([*words, (figures, "dim")], width))
    raw = raw_lines(session, workload, width)
    times = Times(session, load, width)
    deep = max(1, min(MAX_TIMES_ROWS, (height - len(head) - len(raw)) // (6 * max(1, times.sides))))
    histograms = times.draw_histograms(deep, axis=True)
    left = height - len(head) - len(raw) - len(histograms)
    metric, _ = leading_metric_and_unit(session, workload)
    pairs = pair_ratios(session, workload, metric)
    has_groups = any(len(pair.values) > 1 for pair in pairs) and left >= MIN_GROUP_LINES + MIN_SERIES_LINES
    groups = group_plot_lines(session, workload, pairs, metric, width, left // 2) if has_groups else []
    series = block_graph_lines(session, workload, width, left - len(groups))
    return [*head, *series, *histograms, *groups, *raw][:height]


def raw_lines(session: RunSession, workload: str, width: int) -> list[Line]:
    """Return a line a side: the newest values as they were measured, the newest first, and how many there are."""
    metric, unit = leading_metric_and_unit(session, workload)
    values: dict[str, list[float]] = {}
    for block in session.blocks.get(workload, ()):
        if metric in block.values:
            values.setdefault(block.variant, []).append(block.values[metric])
    return [
        crop_line(
            [
                (f"{clean_text(variant)}  {len(own)} values, newest first: ", "dim"),
                (", ".join(format_value(value, unit or metric) for value in own[: -width // 4 : -1]), "text"),
            ],
            width,
        )
        for variant, own in values.items()
    ]


class LoadPanel(PacedPanel):
    DEFAULT_CSS = "LoadPanel { height: 1fr; }"
    ID = "load"

    def redraw_key(self, session: RunSession) -> object:
        screen = self.screen
        assert isinstance(screen, LoadScreen)
        return screen.workload

    def draw_session(self, session: RunSession, width: int, height: int) -> list[Line]:
        screen = self.screen
        assert isinstance(screen, LoadScreen)
        workload = screen.workload
        if not self.has_borders:
            return load_lines(session, workload, width, height)
        pair = next((pair for pair in workloads_with_pairs(session) if pair[0].id == workload), None)
        state = load_state(session, *pair)[0] if pair is not None else BLANK
        rows = load_lines(session, workload, width - 4, height - 2)
        return frame_rows(title_of(session, workload), rows, width, height, note=state)


class LoadScreen(Base):
    """`session` gives the run as it is then: a run under way goes on below."""

    BINDINGS = [
        Binding("j,down", "step_load(1)", "next load"),
        Binding("k,up", "step_load(-1)", "previous load", show=False),
    ]
    title_words = "load"

    def __init__(self, session: Callable[[], RunSession], workload: str) -> None:
        super().__init__()
        self.session, self.workload = session, workload

    @property
    def head_words(self) -> tuple[str, str, str]:
        session = self.session()
        return session.scenario_name, "", title_of(session, self.workload)

    def compose_body(self) -> Iterable[Widget]:
        yield LoadPanel(self.session)

    def action_step_load(self, by: int) -> None:
        names = [load.id for load, _ in workloads_with_pairs(self.session())]
        if self.workload in names:
            at = names.index(self.workload) + by
            self.workload = names[max(0, min(len(names) - 1, at))]
        self.show()
