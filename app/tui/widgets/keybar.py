"""The last line: at most seven keys, made from the screen's bindings; or one message until the next key."""

from typing import Protocol, runtime_checkable

from textual.binding import Binding

from hostdx.app.terminal.lines import Line, cell_width, tinted_line, wrap_text
from hostdx.app.tui.widgets.panel import Panel

MAX_KEYS = 7
MAX_LINES_ABOVE_KEYS = 3
NAMES = {
    "enter": "Enter", "escape": "Esc", "question_mark": "?", "slash": "/", "space": "space", "plus": "+", "minus": "-",
    "tab": "Tab", "up": "↑", "down": "↓", "pageup": "PgUp", "pagedown": "PgDn", "home": "Home", "end": "End",
    "equals_sign": "=", "colon": ":", "shift+tab": "S-Tab",
}  # fmt: skip


_FIRST = ("stop", "undo", "compare")  # what undoes something is never the key that has no room
_LAST = {"escape": 97, "question_mark": 98, "q": 99}


def key_name(key: str) -> str:
    return NAMES.get(key, key.replace("ctrl+", "^"))


@runtime_checkable
class FooterScreen(Protocol):
    """A screen that says itself what a key does now."""

    def footer_words(self, binding: Binding) -> str: ...


class KeyBar(Panel):
    """Its parts can be clicked; nothing here needs the mouse."""

    DEFAULT_CSS = "KeyBar { dock: bottom; height: auto; max-height: 4; }"

    def __init__(self) -> None:
        super().__init__(id="keybar")
        self._spots: list[tuple[int, int, str]] = []  # first cell, end, key

    def draw(self, width: int, height: int) -> list[Line]:
        self._spots = []
        if self.shell.message:
            # a path is shown whole
            message_lines = wrap_text(self.shell.message, width - 1, "strong", indent=1)
            lines = [tinted_line(line, width, "bar") for line in message_lines]
            return (
                [*lines[:MAX_LINES_ABOVE_KEYS], *self._key_lines(width)] if self.shell.keeps_keys else lines
            )
        return self._key_lines(width)

    def _key_lines(self, width: int) -> list[Line]:
        active = [a.binding for a in self.screen.active_bindings.values() if a.enabled]
        shown = {b.action: b for b in reversed(active) if b.show}  # the first key of each
        shown = {b.action: b for b in active if shown.get(b.action) is b}
        is_added_to_footer = getattr(self.screen, "is_added_to_footer", None)
        for binding in active:
            if binding.action not in shown and is_added_to_footer and is_added_to_footer(binding.action):
                shown[binding.action] = binding
        late = getattr(self.screen, "late_in_footer", ())
        ranked = sorted(
            shown.values(),
            key=lambda b: -1 if b.action in _FIRST else 1 if b.action in late else _LAST.get(b.key, 0),
        )
        screen = self.screen
        words = {
            b: screen.footer_words(b) if isinstance(screen, FooterScreen) else b.description for b in ranked
        }
        while len(ranked) > 2 and (
            len(ranked) > MAX_KEYS
            or sum(len(key_name(b.key)) + len(words[b]) + 4 for b in ranked) - 2 > width
        ):
            del ranked[-3]  # help and the way out stay
        line: Line = [(" ", "text")]
        for binding in ranked:
            start = cell_width(line)
            name = key_name(binding.key)
            line += [(name, "key"), (" " + words[binding], "dim"), ("   ", "text")]
            self._spots.append((start, cell_width(line) - 3, binding.key))
        return [tinted_line(line[:-1], width, "bar")]

    def on_click(self, event: object) -> None:
        x = getattr(event, "x", -1)
        for start, end, key in self._spots:
            if start <= x < end and not self.screen.selections:  # not where a drag ends
                self.app.simulate_key(key)
