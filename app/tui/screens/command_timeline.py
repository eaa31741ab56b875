"""Inside the runs of a command: one curve at a time, live and in the replay."""

from __future__ import annotations

from collections.abc import Iterable

from textual.binding import Binding
from textual.widget import Widget

from app.terminal.lines import Line
from app.tui.screens.run import RunScreen
from app.tui.widgets.measuring.inside_plot import inside_lines
from app.tui.widgets.measuring.transport import Transport
from app.tui.widgets.panel import Panel


class Curve(Panel):
    DEFAULT_CSS = "Curve { height: 1fr; }"

    def draw(self, width: int, height: int) -> list[Line]:
        screen = self.screen
        assert isinstance(screen, InsideScreen)
        return inside_lines(screen.current_session(), screen.at, width, height)


class InsideScreen(RunScreen):
    """In place of the live or the verdict screen, to which it goes back."""

    BINDINGS = [
        Binding("j,down", "other(1)", "next curve"),
        Binding("k,up", "other(-1)", "previous curve", show=False),
        Binding("q", "back", "back"),
    ]
    title_words = "inside a run"
    step_words = "inside a run"

    def __init__(self) -> None:
        super().__init__()
        self.at = 0

    def compose_body(self) -> Iterable[Widget]:
        yield Curve(id="curve")
        yield Transport(lambda: self.feed)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return action != "inside" and super().check_action(action, parameters)

    def action_other(self, by: int) -> None:
        self.at += by
        self.show()

    def action_back(self) -> None:
        self.shell.show_run()

    def action_clear(self) -> None:
        self.action_back()
