"""All of what a list says in one line: the item under the cursor of the list that has the focus."""

from hostdx.app.terminal.lines import BLANK, Line, crop_line, frame_rows, split_line, text_line
from hostdx.app.tui.widgets.panel import Panel
from hostdx.app.tui.widgets.picker import Picker

MIN_LINES, BOXED = 3, 3


def most_lines(height: int) -> int:
    """Of a screen of that height: on a low one the lists need the room."""
    return 2 if height < 24 else 4 if height < 32 else 6


class Whole(Panel):
    """As high as the longest item of `measure` needs, so that nothing moves while the cursor does.

    What is longer still ends in the way to the rest: Enter opens it, or says it on the last line.
    """

    def __init__(self, measure: type[Picker], title: str = "THE SELECTED LINE") -> None:
        super().__init__(id="whole")
        self._measure, self._title = measure, title

    def draw(self, width: int, height: int) -> list[Line]:
        if not self.has_borders:
            return self._item_lines(width, height)
        rows = self._item_lines(width - 4, BOXED)
        return frame_rows(self._title, rows, width, BOXED + 2)

    def _item_lines(self, width: int, height: int) -> list[Line]:
        measured = self.screen.query_one(self._measure)
        most = max((len(row.full_lines(width - 2)) for row in measured.build_rows()), default=0)
        room = min(height, most_lines(self.screen.size.height), max(MIN_LINES, most))
        picker = self.screen.focused if isinstance(self.screen.focused, Picker) else measured
        shown = picker.shown_rows
        lines = shown[picker.index].full_lines(width - 2) if shown else []
        if len(lines) > room:
            more = text_line("Enter: all of it", "dim")
            lines = [
                *lines[: room - 1],
                split_line(crop_line(lines[room - 1], width - 20), more, width - 2),
            ]
        marked = [[("▸ " if not n else "  ", "accent"), *line] for n, line in enumerate(lines)]
        return [*marked, *[BLANK] * (room - len(lines))]
