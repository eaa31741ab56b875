"""One line on the home screen: what is running, what is left over, how much was recorded before."""

from __future__ import annotations

from app.tui.lines import Line
from app.tui.widgets.panel import Panel


class RecordingsLine(Panel):
    DEFAULT_CSS = "RecordingsLine { height: 1; }"

    def __init__(self) -> None:
        super().__init__(id="recordings-line")

    def draw(self, width: int, height: int) -> list[Line]:
        line: Line = [("RECORDINGS  ", "title")]
        running = self.shell.running_words
        if running:
            line += [("● ", "ok"), (running, "strong"), ("  a follows it", "dim"), ("   ", "text")]
        if self.shell.left_over:
            entries = "change" if self.shell.left_over == 1 else "changes"
            line += [
                (f"▲ {self.shell.left_over} {entries} not undone, u shows them", "critical"),
                ("   ", "text"),
            ]
        count = self.shell.recorded
        line.append((f"{count} earlier" if count else "none earlier" if running else "none yet", "dim"))
        return [line]
