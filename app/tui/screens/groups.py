"""One comparison opened: its groups as they came, and all that is said of its verdict."""

from __future__ import annotations

from collections.abc import Iterable

from textual.binding import Binding
from textual.widget import Widget

from hostdx.app.recordings.session import RunSession
from hostdx.app.report.wording import verdict_sentence
from hostdx.app.terminal.lines import BLANK, Line, wrap_text
from hostdx.app.tui.screens.base import Base
from hostdx.app.tui.screens.load import LoadScreen
from hostdx.app.tui.widgets.measuring.group_plot import GroupPlot, PlotSubject
from hostdx.app.tui.widgets.measuring.standing import title_of
from hostdx.app.tui.widgets.panel import DrawnPanel
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.experiment.wording import explain_verdict


class GroupsScreen(Base):
    DEFAULT_CSS = "GroupsScreen #about { height: auto; margin: 1 0 0 0; }"
    BINDINGS = [
        Binding("w", "raw", "raw values"),
        Binding("enter", "open", "the whole load"),
        Binding("j,down", "step_comparison(1)", "next load"),
        Binding("k,up", "step_comparison(-1)", "previous load", show=False),
    ]
    title_words = "groups"

    def __init__(self, session: RunSession, verdicts: list[ev.RunVerdict], at: int) -> None:
        super().__init__()
        self.session, self._verdicts, self._at = session, verdicts, at

    @property
    def shown_verdict(self) -> ev.RunVerdict:
        return self._verdicts[self._at]

    @property
    def head_words(self) -> tuple[str, str, str]:
        about = title_of(self.session, self.shown_verdict.workload)
        return f"{self.session.scenario_name} › verdict", "", about

    def compose_body(self) -> Iterable[Widget]:
        yield GroupPlot(lambda: self.session, self._plot_subject)
        yield DrawnPanel(self._verdict_and_load_lines, id="about")

    def _verdict_and_load_lines(self, width: int, _height: int) -> list[Line]:
        """The effect, how it came about, what the load is and how it is measured elsewhere."""
        verdict = self.shown_verdict
        out = wrap_text(verdict_sentence(self.session, verdict), width, "strong")
        if why := explain_verdict(verdict):
            out += wrap_text(why, width)
        load = self.session.find_workload(verdict.workload)
        if load is not None and load.why:
            out += [BLANK, *wrap_text(load.why, width, "dim")]
        if load is not None and load.equivalent:
            out += wrap_text(f"the same with another tool: {load.equivalent}", width, "dim", hang=2)
        return out[: max(3, self.size.height // 3)]

    def _plot_subject(self) -> PlotSubject:
        v = self.shown_verdict
        return PlotSubject(v.workload, v.metric, (v.baseline, v.variant))

    def action_raw(self) -> None:
        self.shell.toggle_raw()

    def action_open(self) -> None:
        self.app.push_screen(LoadScreen(lambda: self.session, self.shown_verdict.workload))

    def action_step_comparison(self, by: int) -> None:
        """Show the groups of the comparison that is `by` places further in the run's list."""
        self._at = max(0, min(len(self._verdicts) - 1, self._at + by))
        self.show()
