"""Many nodes: a strip a measure, the table of nodes, and from there each node's own recording."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import cast

import msgspec
from textual.app import App
from textual.binding import Binding
from textual.widget import Widget

from hostdx.app.features.fleet.report import lead_sentences
from hostdx.app.features.fleet.table import ORDERS, FleetView, MeasureStrips, NodePicker
from hostdx.app.terminal.glyphs import clean_text
from hostdx.app.terminal.lines import Line, crop_line, wrap_text
from hostdx.app.tui.commands import ShellCommands
from hostdx.app.tui.screens.ask import AskScreen
from hostdx.app.tui.screens.base import Base
from hostdx.app.tui.widgets.panel import DrawnPanel
from hostdx.app.tui.widgets.picker import Picker, Whole
from hostdx.scenarios.analysis.peers.judgement import FleetJudgement

MAX_LEAD_LINES = 3
READ_S = 600.0  # ten thousand recordings on a slow shared file system


class FleetScreen(Base):
    """`folder` is what was judged; the judgement is a child's (`hostdx fleet judge`)."""

    DEFAULT_CSS = """
    FleetScreen #lead { height: auto; max-height: 3; }
    FleetScreen Picker { height: 1fr; }
    """
    BINDINGS = [
        Binding("left,h", "select_measure(-1)", "previous load", show=False),
        Binding("right,l", "select_measure(1)", "next load"),
        Binding("S", "sort", "sort"),
        Binding("o", "report", "report"),
        Binding("slash", "filter", "filter", priority=True),
        Binding("R", "again", "read again", show=False),
    ]
    title_words = "fleet"
    filter_hint = "node[001-020],gpu3 or words; Enter keeps the filter, Esc clears it"

    def __init__(self, folder: Path, judgement: FleetJudgement) -> None:
        super().__init__()
        self.folder, self._view = folder, FleetView(judgement)

    def current_view(self) -> FleetView:
        return self._view

    @property
    def head_words(self) -> tuple[str, str, str]:
        return "hostdx", "", self.folder.name

    def compose_body(self) -> Iterable[Widget]:
        yield DrawnPanel(self._lead_lines, id="lead")
        yield MeasureStrips(self.current_view)
        yield NodePicker(self.current_view)
        yield Whole(NodePicker, "THIS NODE")

    def _lead_lines(self, width: int, _height: int) -> list[Line]:
        lines = wrap_text(" ".join(lead_sentences(self._view.judgement)), width, "strong")
        if len(lines) > MAX_LEAD_LINES:  # o has all of it
            lines[MAX_LEAD_LINES - 1] = [*crop_line(lines[MAX_LEAD_LINES - 1], width - 2), (" …", "strong")]
        return lines[:MAX_LEAD_LINES]

    def on_mount(self) -> None:
        self.query_one(NodePicker).sort_rows()
        self.show()

    def on_picker_chosen(self, event: Picker.Chosen) -> None:
        """The node's own recording, over this screen."""
        path = self._view.judgement.files.get(event.key)
        if path is None:
            self.shell.show_message(f"{clean_text(event.key)} gave no answer")
        elif path.endswith(".json"):
            self.shell.show_message(f"{clean_text(path)}: a triage, no recording; o shows what was found")
        else:
            self.shell.open_recording(Path(path), on_top=True)

    def action_select_measure(self, by: int) -> None:
        last = max(0, len(self._view.judgement.measures) - 1)
        self._view.at = max(0, min(last, self._view.at + by))
        self.query_one(NodePicker).sort_rows()
        self.show()

    def action_sort(self) -> None:
        self._view.order = ORDERS[(ORDERS.index(self._view.order) + 1) % len(ORDERS)]
        self.query_one(NodePicker).sort_rows()
        self.show()

    def action_report(self) -> None:
        argv = ["fleet", "judge", "--format", "document", str(self.folder)]
        self.shell.show_report(argv, self.folder.name, "report")

    def action_again(self) -> None:
        def read(judgement: FleetJudgement) -> None:
            if self.is_in_use:
                self._view = FleetView(judgement)
                self.query_one(NodePicker).sort_rows()
                self.show()

        judge_folder(self.shell, self.folder, read)


def ask_for_folder(asking: Base) -> None:
    """Ask for a folder of many nodes' recordings or triages, and open it."""

    def open_named(name: str | None) -> None:
        if name:
            show_fleet(asking.shell, Path(name).expanduser())

    hint = "a folder of a fleet run, or of many nodes' recordings or triages; Esc cancels"
    asking.app.push_screen(AskScreen("folder", hint=hint), open_named)


def show_fleet(shell: ShellCommands, folder: Path) -> None:
    def show(judgement: FleetJudgement) -> None:
        shell.show_message("")
        cast("App[int]", shell).push_screen(FleetScreen(folder, judgement))

    judge_folder(shell, folder, show)


def judge_folder(shell: ShellCommands, folder: Path, on_judged: Callable[[FleetJudgement], None]) -> None:
    """What a child judges of the folder; where it cannot, why is said."""

    def take_output(output: str) -> None:
        on_judged(msgspec.json.decode(output, type=FleetJudgement))

    shell.show_message(f"reading {folder}")
    shell.run_command_then(["fleet", "judge", "--json", "--", str(folder)], "not judged", take_output, READ_S)
