"""Live: the steps, the blocks as they come, the estimate drawn, the host's pulse, the guards' remarks."""

from __future__ import annotations

from collections.abc import Iterable

from textual.binding import Binding
from textual.widget import Widget

from app.glyphs import clean
from app.lines import Line, crop, text
from app.recording.progress import share_done, time_left
from app.recording.session import Session
from app.report.wording import measured
from app.tui.screens.run import RunScreen, left_changed
from app.tui.widgets.home.findings_panel import Suspects
from app.tui.widgets.home.pulse_line import PulseLine
from app.tui.widgets.measuring.effects import Judged, RunningEffects
from app.tui.widgets.measuring.event_log import Remarks
from app.tui.widgets.measuring.group_plot import GroupPlot, under_way
from app.tui.widgets.measuring.stepper import step_rows
from app.tui.widgets.measuring.transport import Transport
from app.tui.widgets.panel import Box, Panel
from probes import units


class Stepper(Panel):
    DEFAULT_CSS = "Stepper { height: 2; }"

    def draw(self, width: int, height: int) -> list[Line]:
        return step_rows(self.shell.feed.session, width)


_EIGHTHS = " ▏▎▍▌▋▊▉"


def run_bar(session: Session, width: int) -> Line:
    """`████▌···  34 %  at most 77 s left`: the whole run, not the load under way."""
    share, left_s = share_done(session), time_left(session)
    if share is None or left_s is None or session.ended is not None:
        return []
    words = f"  {share * 100:.0f} %   at most {units.duration(left_s)} left"
    room = min(60, width - len(words))
    if room < 8:
        return text(words.strip(), "strong")
    full, part = divmod(int(share * room * 8), 8)
    drawn = "█" * full + (_EIGHTHS[part] if part else "")
    return [(drawn, "accent"), ("·" * (room - len(drawn)), "dim"), (words, "strong")]


class Course(Panel):
    """How far the whole run is, and what the load under way stands for."""

    DEFAULT_CSS = "Course { height: 2; }"

    def draw(self, width: int, height: int) -> list[Line]:
        session = self.shell.feed.session
        load = session.load(session.workload)
        why = f"{clean(load.title)}: {clean(load.why)}" if load is not None and load.why else ""
        rows = [
            line for line in (run_bar(session, width), crop(text(why, "dim"), width) if why else []) if line
        ]
        return rows or [text("")]


class LiveScreen(RunScreen):
    DEFAULT_CSS = """
    LiveScreen #parts { layout: vertical; height: auto; }
    LiveScreen #left, LiveScreen #right { height: auto; }
    LiveScreen RunningEffects { margin: 1 0 0 0; max-height: 7; }
    LiveScreen Remarks { height: 2; }
    LiveScreen Suspects, LiveScreen Judged { display: none; }
    LiveScreen.-high.-judged Judged { display: block; margin: 1 0 0 0; }
    LiveScreen.-high Remarks { height: 5; }
    LiveScreen.-tall Course, LiveScreen.-tall Remarks { height: 1; }
    LiveScreen.-tall RunningEffects { margin: 0; max-height: 4; }
    LiveScreen.-wide #parts { layout: horizontal; }
    LiveScreen.-wide #left { width: 58%; padding: 0 3 0 0; }
    LiveScreen.-wide #right { width: 42%; margin: 1 0 0 0; }
    LiveScreen.-wide.-alone #left { display: none; }
    LiveScreen.-wide.-alone #right { width: 100%; }
    LiveScreen.-wide PulseLine { height: 5; }
    LiveScreen.-wide.-alone PulseLine { height: 2; }
    LiveScreen.-wide.-high.-found Suspects { display: block; height: 5; margin: 1 0 0 0; }
    """
    BINDINGS = [
        Binding("s", "stop", "stop and undo"),
        Binding("u", "undo", "put it back now"),
        Binding("v", "verdict", "verdict so far"),
        Binding("q", "leave", "leave it running"),
        Binding("q", "back", "back"),  # once it has ended
    ]
    VERTICAL_BREAKPOINTS = RunScreen.FINER_BREAKPOINTS
    title_words = "live"
    step_words = "live"
    AUTO_FOCUS = ""  # its one list is hidden on small screens

    def body(self) -> Iterable[Widget]:
        yield Stepper(id="steps")
        yield Course(id="course")
        yield GroupPlot(self.session, lambda: under_way(self.session()))
        with Box(id="parts"):
            with Box(id="left"):
                yield RunningEffects(self.session)
                yield Judged(self.session)
                yield Suspects(self.session, id="found", title="FOUND SO FAR", empty="nothing yet")
            with Box(id="right"):
                yield PulseLine(self.session)
                yield Remarks(self.session)
        yield Transport(lambda: self.feed)

    def on_mount(self) -> None:
        self._arrange()

    def show(self) -> None:
        self._arrange()
        super().show()

    def _arrange(self) -> None:
        """Room only for what there is: the plot has the rest."""
        session = self.session()
        self.set_class(bool(session.findings), "-found")
        judged = any(map(measured, session.verdicts.values()))
        self.set_class(judged, "-judged")
        self.set_class(not (judged or session.estimates or session.findings), "-alone")

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action in ("stop", "leave"):
            return self.feed.growing
        if action == "undo":
            return self.feed.dead and bool(left_changed(self.session()))
        return super().check_action(action, parameters)

    def action_undo(self) -> None:
        self.shell.offer_undo(asked=True)

    def action_leave(self) -> None:
        self.action_back()

    def action_stop(self) -> None:
        self.shell.stop_run()

    def action_verdict(self) -> None:
        self.shell.show_run("verdict")
