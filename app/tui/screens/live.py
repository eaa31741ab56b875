"""Live: all loads at once, every effect so far in one chart, the host beside it with who disturbs."""

from __future__ import annotations

from collections.abc import Iterable

from textual.binding import Binding
from textual.widget import Widget

from hostdx.app.recordings.session import RunSession
from hostdx.app.terminal.lines import workload_link
from hostdx.app.tui.screens.run import RunScreen, actions_not_undone
from hostdx.app.tui.widgets.measuring.forest import MAX_ROWS, Forest
from hostdx.app.tui.widgets.measuring.host_panel import HostPanel
from hostdx.app.tui.widgets.measuring.levels import MAX_WAITING_VARIANTS
from hostdx.app.tui.widgets.measuring.loads_panel import LoadsPanel
from hostdx.app.tui.widgets.measuring.run_bar import RunBar
from hostdx.app.tui.widgets.measuring.standing import workloads_with_pairs
from hostdx.app.tui.widgets.measuring.transport import Transport
from hostdx.app.tui.widgets.panel import Box

MAX_REMARKS = 4  # lines of what disturbed, where nothing is compared


def chart_panel_height(session: RunSession, height: int) -> int:
    """Lines of the chart and the host's panel: all pairs that are planned have room, as long as the loads keep most."""
    several = len(session.planned_variants) - 1
    # of more nobody knows which a load will have
    several = several if 0 < several <= MAX_WAITING_VARIANTS else 1
    pairs = sum(
        max(len(load_pairs), 1 if load.id in session.blocks else several)
        for load, load_pairs in workloads_with_pairs(session)
    )
    if not has_comparison(session):  # the host alone stands there
        return 3 + min(MAX_REMARKS, len(session.guards) + len(session.notes))
    return max(6, min(pairs + 3, MAX_ROWS, height * 2 // 5))


def has_comparison(session: RunSession) -> bool:
    """Return whether there is anything to compare so far."""
    judges = session.scenario_card.role != "battery" and session.scenario_card.compares
    reads_only = session.samples and not session.blocks  # figures that no load makes
    return judges and bool(session.planned_workloads) and len(session.planned_variants) > 1 and not reads_only


class LiveScreen(RunScreen):
    DEFAULT_CSS = """
    LiveScreen #parts { layout: vertical; height: 4; }
    LiveScreen.-wide.-high RunBar { height: 4; }
    LiveScreen Forest { display: none; }
    LiveScreen HostPanel { height: 1fr; }
    LiveScreen.-wide #parts { layout: horizontal; }
    LiveScreen.-wide Forest { display: block; width: 64%; height: 1fr; }
    LiveScreen.-wide.-alone Forest { display: none; }
    """
    BINDINGS = [
        Binding("s", "stop", "stop and undo"),
        Binding("u", "undo", "put it back now"),
        Binding("enter", "open", "open the load"),
        Binding("v", "verdict", "verdict so far"),
        Binding("v", "final", "verdict"),  # once it has ended
        Binding("q", "leave", "leave it running"),
        Binding("q", "back", "back"),  # once it has ended
    ]
    VERTICAL_BREAKPOINTS = RunScreen.FINER_BREAKPOINTS
    title_words = "live"
    step_words = "live"
    AUTO_FOCUS = ""

    def compose_body(self) -> Iterable[Widget]:
        yield RunBar(self.current_session)
        yield LoadsPanel(self.current_session)
        with Box(id="parts") as parts:
            parts.styles.height = self._rows_below_loads()
            yield Forest(self.current_session)
            yield HostPanel(self.current_session)
        yield Transport(lambda: self.run_feed)

    def on_mount(self) -> None:
        self._make_room_for_chart()

    def show(self) -> None:
        self._make_room_for_chart()
        super().show()

    def _rows_below_loads(self) -> int:
        height = self.app.size.height
        return (
            chart_panel_height(self.current_session(), height)
            if self.app.size.width >= 110
            else 4
            if height < 32
            else 8
        )

    def _make_room_for_chart(self) -> None:
        """Room for the chart where there is anything to compare."""
        session = self.current_session()
        self.set_class(not has_comparison(session), "-alone")
        if not (matches := self.query("#parts")):
            return  # it is just coming
        parts = matches.first()
        if parts.size.height != (wanted := self._rows_below_loads()):
            parts.styles.height = wanted

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action in ("stop", "leave"):
            return self.run_feed.is_growing
        if action in ("verdict", "final"):
            return (self.current_session().ended is not None) == (action == "final")
        if action == "open":
            return bool(self.current_session().blocks)
        if action == "undo":
            return self.run_feed.dead and bool(actions_not_undone(self.current_session()))
        return super().check_action(action, parameters)

    def action_undo(self) -> None:
        self.shell.offer_undo(asked=True)

    def action_open(self) -> None:
        """The load under way, else the last one that was measured, whole; j and k go to the others."""
        session = self.current_session()
        measured = session.workload if session.workload in session.blocks else next(reversed(session.blocks))
        self.shell.open_link(workload_link(measured))

    def action_leave(self) -> None:
        self.action_back()

    def action_stop(self) -> None:
        self.shell.stop_run()

    def action_verdict(self) -> None:
        self.shell.show_run("verdict")

    def action_final(self) -> None:
        self.shell.show_run("verdict")
