"""What is running, what is left over, how much was recorded; on a high screen the newest with what they found."""

from hostdx.app.terminal.glyphs import SIGNS
from hostdx.app.terminal.lines import (
    Line,
    cell_width,
    crop_line,
    fit_line,
    frame_rows,
    line_with_key_names,
    text_line,
)
from hostdx.app.tui.commands import RecordedAnswer
from hostdx.app.tui.widgets.panel import Panel
from hostdx.probes.units import count_noun

MIN_RATIO, MAX_RATIO = 0.1, 10.0  # of the scale, one for all rows; what lies beyond ends in an arrow
BAR, _NAME = 25, 24
ENDS = f"{'◂ slower':<{BAR // 2}}1{'faster ▸':>{BAR // 2}}"


def interval_line(ratio: float | None, ci95: tuple[float, float] | None, role: str) -> Line:
    """On the scale of all rows; nothing where there is none."""
    if not ratio:
        return []
    from hostdx.app.report.figures.interval_chart import LogScale, bar_line  # not for the first screen

    return bar_line(ratio, ci95, BAR, LogScale(MIN_RATIO, MAX_RATIO), role=role)


def recording_line(example: RecordedAnswer, width: int) -> Line:
    """Name, what it found, and its interval on the scale of all rows."""
    drawn = interval_line(example.ratio, example.ci95, example.weight)
    room = width - BAR - 2 if drawn else width
    head: Line = [
        *fit_line(text_line(example.name, "strong"), _NAME),
        (f" {SIGNS.get(example.weight, '?')} ", example.weight),
    ]
    return [
        *fit_line([*head, *crop_line(text_line(example.result), room - cell_width(head))], room),
        ("  ", "text"),
        *drawn,
    ]


class RecordingsLine(Panel):
    DEFAULT_CSS = "RecordingsLine { height: auto; max-height: 6; }"

    def __init__(self) -> None:
        super().__init__(id="recordings-line")

    def draw(self, width: int, height: int) -> list[Line]:
        if not self.has_borders or height < 4 or not self.shell.recorded:  # nobody asked for the bundled ones
            return [[("RECORDINGS  ", "title"), *self._running_and_recorded()]]
        inner = width - 4
        shown = self.shell.earlier_results.examples[: height - 3]
        has_interval = any(example.ratio for example in shown)
        rows: list[Line] = [[(" " * (inner - BAR), "text"), (ENDS, "dim")]] if has_interval else []
        rows += [recording_line(example, inner) for example in shown]
        hidden = len(self.shell.earlier_results.examples) - len(shown)
        if hidden and len(shown) > 1:
            rows[-1] = line_with_key_names(f"{hidden + 1} more: [r]")
        return frame_rows("RECORDINGS", rows, width, height, note=self._running_and_recorded())

    def _running_and_recorded(self) -> Line:
        line: Line = []
        running = self.shell.running_words
        if running:
            line += [
                ("● ", "ok"),
                (running, "strong"),
                ("  ", "text"),
                *line_with_key_names("[a] follows it"),
                ("   ", "text"),
            ]
        if left := len(self.shell.left):
            line += [
                *line_with_key_names(
                    f"▲ {count_noun(left, 'change')} not undone, [u] shows them", "critical"
                ),
                ("   ", "text"),
            ]
        count, examples = self.shell.recorded, len(self.shell.earlier_results.examples)
        if self.shell.has_looked_for_runs:
            line.append((f"{count} earlier" if count else "none earlier" if running else "none yet", "dim"))
        many = f"{examples} bundled examples" if examples and not count else "them all"
        ways = f"[r] lists {many}, and leads to this host's history"
        return [*line, ("   ", "text"), *line_with_key_names(ways)]
