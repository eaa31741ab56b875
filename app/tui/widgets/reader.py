"""Text longer than the screen: lines made for the width, scrolled by keys or the wheel."""

from collections.abc import Callable

from textual.binding import Binding

from hostdx.app.terminal.lines import Line, text_line
from hostdx.app.tui.widgets.panel import Panel


class Reader(Panel, can_focus=True):
    """`make(width)` gives all lines; resizing keeps the share of the text that was at the top."""

    DEFAULT_CSS = "Reader { height: 1fr; }"
    BINDINGS = [
        Binding("up,k", "scroll(-1)", "up", show=False),
        Binding("down,j", "scroll(1)", "down", show=False),
        Binding("pageup", "page(-1)", "page up", show=False),
        Binding("pagedown", "page(1)", "page down", show=False),
        Binding("home,g", "scroll(-100000)", "top", show=False),
        Binding("end,G", "scroll(100000)", "bottom", show=False),
    ]

    def __init__(self, make: Callable[[int], list[Line]]) -> None:
        super().__init__(id="reader")
        self.make = make
        self._top = 0
        self._total = 0
        self.words, self._hit = "", -1  # searched for last, and the line it was found in

    def draw(self, width: int, height: int) -> list[Line]:
        lines = self.make(width)
        if self._total and len(lines) != self._total:
            self._top = round(self._top * len(lines) / self._total)
        self._total = len(lines)
        if len(lines) <= height:
            self._top = 0
            return lines
        room = max(1, height - 1)
        self._top = max(0, min(self._top, len(lines) - room))
        last = self._top + room
        more = f"lines {self._top + 1} to {last} of {len(lines)}" + ("" if last >= len(lines) else "  ↓")
        return [*lines[self._top : last], text_line(more, "dim")]

    def action_scroll(self, by: int) -> None:
        self._top = max(0, self._top + by)
        self.redraw()

    def action_page(self, by: int) -> None:
        """By what is seen at once; its last line stays, as the line to go on from."""
        self.action_scroll(by * max(1, self.size.height - 2))

    def find(self, words: str) -> bool:
        """To the next line with these words after the last one that was found, and round; False without any."""
        self.words = words
        lines = ["".join(part for part, _ in line).casefold() for line in self.make(self.size.width)]
        hits = [n for n, line in enumerate(lines) if words.casefold() in line]
        if hits:
            self._top = self._hit = next((n for n in hits if n > self._hit), hits[0])
            self.redraw()
        return bool(hits)

    def to_top(self) -> None:
        """Before another text is shown in place of this one."""
        self._top = self._total = 0

    def on_mouse_scroll_down(self) -> None:
        self.action_scroll(3)

    def on_mouse_scroll_up(self) -> None:
        self.action_scroll(-3)
