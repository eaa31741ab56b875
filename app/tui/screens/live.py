"""Live: all loads at once, every effect so far in one chart, the host beside it with who disturbs."""

from __future__ import annotations

from collections.abc import Iterable

from textual.binding import Binding
from textual.widget import Widget

from app.recording.session import Session
from app.tui.screens.run import RunScreen, left_changed
from app.tui.widgets.measuring.forest import MOST_ROWS, Forest
from app.tui.widgets.measuring.host_panel import HostPanel
from app.tui.widgets.measuring.levels import MOST_WAITING
from app.tui.widgets.measuring.loads_panel import LoadsPanel
from app.tui.widgets.measuring.run_bar import RunBar
from app.tui.widgets.measuring.standing import pairs_of
from app.tui.widgets.measuring.transport import Transport
from app.tui.widgets.panel import Box

MOST_REMARKS = 4  # lines of what disturbed, where nothing is compared


def rows_below(session: Session, height: int) -> int:
    """Lines of the chart and the host's panel: all pairs that are planned have room, as long as the loads keep most."""
    several = len(session.variants) - 1
    several = several if 0 < several <= MOST_WAITING else 1  # of more nobody knows which a load will have
    pairs = sum(
        max(len(found), 1 if load.id in session.blocks else several) for load, found in pairs_of(session)
    )
    if not compares(session):  # the host alone stands there
        return 3 + min(MOST_REMARKS, len(session.guards) + len(session.notes))
    return max(6, min(pairs + 3, MOST_ROWS, height * 2 // 5))


def compares(session: Session) -> bool:
    """Whether there is anything to compare so far."""
    judges = session.card.role != "battery" and session.card.compares
    return judges and bool(session.workloads) and len(session.variants) > 1 and not waits(session)


def waits(session: Session) -> bool:
    """Before the plan, and while figures are read that no load makes."""
    return bool(session.samples and not session.blocks)


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
        Binding("v", "verdict", "verdict so far"),
        Binding("v", "final", "verdict"),  # once it has ended
        Binding("q", "leave", "leave it running"),
        Binding("q", "back", "back"),  # once it has ended
    ]
    VERTICAL_BREAKPOINTS = RunScreen.FINER_BREAKPOINTS
    title_words = "live"
    step_words = "live"
    AUTO_FOCUS = ""

    def body(self) -> Iterable[Widget]:
        yield RunBar(self.session)
        yield LoadsPanel(self.session)
        with Box(id="parts") as parts:
            parts.styles.height = self._below()
            yield Forest(self.session)
            yield HostPanel(self.session)
        yield Transport(lambda: self.feed)

    def on_mount(self) -> None:
        self._arrange()

    def show(self) -> None:
        self._arrange()
        super().show()

    def _below(self) -> int:
        height = self.app.size.height
        return rows_below(self.session(), height) if self.app.size.width >= 110 else 4 if height < 32 else 8

    def _arrange(self) -> None:
        """Room for the chart where there is anything to compare."""
        session = self.session()
        self.set_class(not compares(session), "-alone")
        if not (found := self.query("#parts")):
            return  # it is just coming
        parts = found.first()
        if parts.size.height != (wanted := self._below()):
            parts.styles.height = wanted

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action in ("stop", "leave"):
            return self.feed.growing
        if action in ("verdict", "final"):
            return (self.session().ended is not None) == (action == "final")
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

    def action_final(self) -> None:
        self.shell.show_run("verdict")
