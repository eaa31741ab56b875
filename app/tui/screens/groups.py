"""One comparison opened: its groups as they came, and all that is said of its verdict."""

from __future__ import annotations

from collections.abc import Iterable

from textual.binding import Binding
from textual.widget import Widget

from app.recordings.session import RunSession
from app.terminal.glyphs import clean_text
from app.terminal.lines import BLANK, Line, ground_line, split_line, text_line, wrap_text
from app.tui.screens.base import Base
from app.tui.screens.load import LoadScreen
from app.tui.widgets.measuring.group_plot import GroupPlot, PlotSubject
from app.tui.widgets.measuring.standing import title_of
from app.tui.widgets.panel import Panel
from scenarios.contract import events as ev
from scenarios.experiment.wording import effect_words, explain_verdict


class GroupsHead(Panel):
    DEFAULT_CSS = "GroupsHead { height: 1; }"

    def draw(self, width: int, height: int) -> list[Line]:
        screen = self.screen
        assert isinstance(screen, GroupsScreen)
        name = clean_text(screen.session.began.scenario) if screen.session.began else "run"
        left: Line = [(f" {name} › verdict › ", "dim"), ("groups", "title")]
        right = text_line(f"{title_of(screen.session, screen.shown_verdict.workload)} ", "strong")
        return [ground_line(split_line(left, right, width), width, "bar")]


class GroupsDetails(Panel):
    """The effect, how it came about, what the load is and how it is measured elsewhere."""

    DEFAULT_CSS = "GroupsDetails { height: auto; margin: 1 0 0 0; }"

    def draw(self, width: int, height: int) -> list[Line]:
        screen = self.screen
        assert isinstance(screen, GroupsScreen)
        verdict = screen.shown_verdict
        words = f"{verdict.variant} against {verdict.baseline}, {verdict.metric}: {effect_words(verdict)}"
        out = wrap_text(words, width, "strong")
        out += wrap_text(verdict.reason or "", width) if verdict.reason else []
        why = explain_verdict(verdict)
        out += wrap_text(why, width) if why else []
        load = screen.session.find_workload(verdict.workload)
        if load is not None and load.why:
            out += [BLANK, *wrap_text(load.why, width, "dim")]
        if load is not None and load.equivalent:
            out += wrap_text(f"the same with another tool: {load.equivalent}", width, "dim", hang=2)
        return out[: max(3, self.screen.size.height // 3)]


class GroupsScreen(Base):
    BINDINGS = [
        Binding("w", "raw", "raw values"),
        Binding("enter", "open", "the whole load"),
        Binding("j,down", "other(1)", "next load"),
        Binding("k,up", "other(-1)", "previous load", show=False),
    ]
    title_words = "groups"

    def __init__(self, session: RunSession, verdicts: list[ev.RunVerdict], at: int) -> None:
        super().__init__()
        self.session, self._verdicts, self._at = session, verdicts, at

    @property
    def shown_verdict(self) -> ev.RunVerdict:
        return self._verdicts[self._at]

    def compose_head(self) -> Iterable[Widget]:
        yield GroupsHead(id="head")

    def compose_body(self) -> Iterable[Widget]:
        yield GroupPlot(lambda: self.session, self._plot_subject)
        yield GroupsDetails(id="about")

    def _plot_subject(self) -> PlotSubject:
        v = self.shown_verdict
        return PlotSubject(v.workload, v.metric, (v.baseline, v.variant))

    def action_raw(self) -> None:
        self.shell.toggle_raw()

    def action_open(self) -> None:
        self.app.push_screen(LoadScreen(lambda: self.session, self.shown_verdict.workload))

    def action_other(self, by: int) -> None:
        self._at = max(0, min(len(self._verdicts) - 1, self._at + by))
        self.show()
