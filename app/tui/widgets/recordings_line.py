"""What is running, what is left over, how much was recorded before; the bundled examples where nothing was yet."""

from __future__ import annotations

from app.tui.lines import Line, crop, text
from app.tui.widgets.panel import Panel
from probes.units import counted


class RecordingsLine(Panel):
    DEFAULT_CSS = "RecordingsLine { height: auto; max-height: 6; }"

    def __init__(self) -> None:
        super().__init__(id="recordings-line")

    def draw(self, width: int, height: int) -> list[Line]:
        line: Line = [("RECORDINGS  ", "title")]
        running = self.shell.running_words
        if running:
            line += [("● ", "ok"), (running, "strong"), ("  a follows it", "dim"), ("   ", "text")]
        if left := len(self.shell.left):
            line += [
                (f"▲ {counted(left, 'change')} not undone, u shows them", "critical"),
                ("   ", "text"),
            ]
        count = self.shell.recorded
        line.append((f"{count} earlier" if count else "none earlier" if running else "none yet", "dim"))
        if count or running:
            return [line]
        examples = self.shell.examples
        if height < 2 or not self.screen.has_class("-high"):
            first = f"EXAMPLES  {examples[0].name}: {examples[0].result}" if examples else ""
            return [[*line, ("   r lists the examples   ", "dim"), (first, "text")]]
        out = [line, text("EXAMPLES", "title")] if examples else [line]
        for one in examples[: max(0, height - 2)]:
            out.append(crop([(f"  {one.name:<16} ", "strong"), (one.result, "text")], width))
        return out
