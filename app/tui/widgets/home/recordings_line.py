"""What is running, what is left over, how much was recorded before; the bundled examples where nothing was yet."""

from __future__ import annotations

from app.lines import Line, crop, ruled, text
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
        if height < 4 or not self.screen.has_class("-high") or not examples:
            many = f"{len(examples)} bundled examples" if examples else "the bundled examples"
            return [[*line, ("   ", "text"), ("r", "key"), (f" lists {many}", "dim")]]
        note = text(f"{len(examples)} real runs to look at; r opens them", "dim")
        out = [line, ruled(text("EXAMPLES", "title"), note, width)]
        shown = examples if len(examples) <= height - 2 else examples[: height - 3]
        for one in shown:
            out.append(crop([(f"  {one.name:<16} ", "strong"), (one.result, "text")], width))
        if hidden := len(examples) - len(shown):
            out.append(text(f"  {hidden} more", "dim"))
        return out
