"""The last line: at most seven keys, made from the screen's bindings; or one message until the next key."""

from __future__ import annotations

from app.tui.lines import Line, cells, text
from app.tui.widgets.panel import Panel

MOST = 7
NAMES = {
    "enter": "Enter", "escape": "Esc", "question_mark": "?", "slash": "/", "space": "space", "plus": "+", "minus": "-",
    "tab": "Tab", "up": "↑", "down": "↓", "pageup": "PgUp", "pagedown": "PgDn", "home": "Home", "end": "End",
    "ctrl+p": "^p", "ctrl+q": "^q", "ctrl+c": "^c", "equals_sign": "=", "shift+tab": "S-Tab",
}  # fmt: skip


def key_name(key: str) -> str:
    return NAMES.get(key, key)


class KeyBar(Panel):
    """Its parts can be clicked; nothing here needs the mouse."""

    DEFAULT_CSS = "KeyBar { dock: bottom; height: 1; }"

    def __init__(self) -> None:
        super().__init__(id="keybar")
        self._spots: list[tuple[int, int, str]] = []  # first cell, end, key

    def draw(self, width: int, height: int) -> list[Line]:
        self._spots = []
        if self.shell.message:
            return [text(" " + self.shell.message, "strong")]
        line: Line = [(" ", "text")]
        seen: set[str] = set()
        shown = [a.binding for a in self.screen.active_bindings.values() if a.binding.show and a.enabled]
        order = {"question_mark": 98, "q": 99, "escape": 97}  # the way out stands last
        ranked = sorted(shown, key=lambda b: order.get(b.key, 0))
        if len(ranked) > MOST:
            ranked = [*ranked[: MOST - 2], *ranked[-2:]]
        for binding in ranked:
            if binding.action in seen:
                continue
            seen.add(binding.action)
            name = key_name(binding.key)
            size = len(name) + len(binding.description) + 4
            if cells(line) + size - 3 > width:
                break
            start = cells(line)
            self._spots.append((start, start + size - 3, binding.key))
            line += [(name, "key"), (" " + binding.description + "   ", "dim")]
        return [line]

    def on_click(self, event: object) -> None:
        x = getattr(event, "x", -1)
        for start, end, key in self._spots:
            if start <= x < end:
                self.app.simulate_key(key)
