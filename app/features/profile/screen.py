"""Call paths of a command on the screen."""

from __future__ import annotations

from collections.abc import Iterable

from textual.binding import Binding
from textual.widget import Widget

from app.features.profile.icicle import Icicle
from app.tui.screens.run import RunScreen
from scenarios.analysis.profile.results import CallPaths


class CallPathsScreen(RunScreen):
    """Of a command under two variants, to zoom and to search: what the page has as a flame graph."""

    BINDINGS = [Binding("slash", "filter", "search", priority=True), Binding("q", "back", "back")]
    title_words = "call paths"
    step_words = "call paths"

    def compose_body(self) -> Iterable[Widget]:
        paths_result = self.current_session().find_result(CallPaths)
        yield Icicle(paths_result.value if paths_result is not None else ())

    def action_back(self) -> None:
        self.shell.show_run()

    def action_clear(self) -> None:
        self.action_back()
