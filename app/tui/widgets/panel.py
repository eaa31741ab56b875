"""The base of every panel: lines in, and only the cells that changed go out to the terminal.

One widget a panel (a widget a row costs 1.5 times a bare app's start; so does Textual's own markup), and
a line API with comparison: the same chart costs 80 kB/s when repainted whole and 6 kB/s this way.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar, cast

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Region, Size
from textual.reactive import Reactive
from textual.screen import Screen
from textual.selection import Selection
from textual.strip import Strip
from textual.widget import Widget

from hostdx.app.terminal.glyphs import ascii_text
from hostdx.app.terminal.lines import (
    DIGIT,
    HIGHLIGHT,
    TARGET,
    Line,
    cell_width,
    clean_line,
    fit_line,
    link_in_style,
    merge_spans,
)
from hostdx.app.tui.own_settings import KeysFromKeymap
from hostdx.app.tui.theme import role_style

if TYPE_CHECKING:
    from hostdx.app.recordings.session import RunSession
    from hostdx.app.tui.commands import ShellCommands

REDRAWN_S = 0.9
SELECTED = Style(reverse=True)
FRAME = " │"


def has_borders(screen: Screen[object]) -> bool:
    """Return whether a screen has room for borders; on a low or narrow one each of their rows would be one less
    to read.
    """
    return screen.has_class("-high") and screen.has_class("-wide")


class NonScrollingWidget(KeysFromKeymap, Widget):
    """Nothing scrolls here: what a new size moves the compositor paints, Textual would paint all of it once more."""

    virtual_size: Reactive[Size] = Reactive(Size(0, 0), repaint=False)


class Box(NonScrollingWidget):
    """Holds panels, one below the other unless a rule says beside."""

    DEFAULT_CSS = "Box { width: 1fr; height: 1fr; layout: vertical; overflow: hidden; }"


class Panel(NonScrollingWidget):
    """`draw` gives the lines for a size; `redraw` compares them with what is on the screen.

    What lines open (`link_line`) is opened by a click, and by Enter once Tab has brought the focus here.
    """

    DEFAULT_CSS = "Panel { width: 1fr; height: auto; }"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "link(-1)", "up", show=False),
        Binding("down,j", "link(1)", "down", show=False),
        Binding("enter", "follow", "open"),
    ]

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id, markup=False)
        self._raw: list[Line] = []  # as `draw` gave them
        self._drawn: list[Line] = []
        self._strips: list[Strip] = []
        self._theme = ""
        self._drawn_at = Size(0, 0)
        self._natural = 0  # lines that it would like to have, as the layout was last told
        self._target = ""  # what the cursor is on

    @property
    def shell(self) -> ShellCommands:
        return cast("ShellCommands", self.app)

    def draw(self, width: int, height: int) -> list[Line]:
        """The lines for that size; `height` is large while the natural height is asked for."""
        raise NotImplementedError

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        self._natural = max(1, len(self.draw(width, viewport.height)))
        return self._natural

    def on_resize(self) -> None:
        if self.size != self._drawn_at:  # the first paint comes before the first of these
            self.redraw()

    @property
    def targets(self) -> list[str]:
        """What the drawn lines open and no key of its own does, in the order of reading."""
        all_targets = dict.fromkeys(link_in_style(role) for line in self._raw for _, role in line)
        return [target for target in all_targets if target and not target.startswith(DIGIT)]

    @property
    def target(self) -> str:
        """The one under the cursor; it stays on it while others come."""
        targets = self.targets
        return self._target if self._target in targets else "".join(targets[:1])

    def allow_focus(self) -> bool:
        return self.can_focus or bool(self.targets)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return bool(self.targets) if action in ("link", "follow") else True

    def action_link(self, by: int) -> None:
        targets = self.targets
        self._target = targets[max(0, min(len(targets) - 1, targets.index(self.target) + by))]
        self.redraw()

    def action_follow(self) -> None:
        self.shell.open_link(self.target)

    def on_click(self, event: events.Click) -> None:
        """What lies under the pointer; right of a row's words, what the row opens if it is one thing alone."""
        if self.screen.selections:  # the end of a drag
            return
        line = self._drawn[event.y] if event.y < len(self._drawn) else []
        end = 0
        for part, role in line:
            end += cell_width([(part, role)])
            if end > event.x:
                row = {link_in_style(role) for _, role in line} - {""}
                self._target = link_in_style(role) or ("".join(row) if len(row) == 1 else "")
                if self._target:
                    event.stop()
                    self.shell.open_link(self._target)
                return

    def on_focus(self) -> None:
        self.call_later(self.redraw)  # Textual's own handler, which runs after this one, sets has_focus

    def on_blur(self) -> None:
        self.call_later(self.redraw)

    def redraw(self) -> None:
        """Draws again and repaints the spans that differ; a new natural height asks for a new layout."""
        width, height = self.size
        if not width or not height or not self.is_attached:
            return
        drawn = None
        if self.has_auto_height:
            drawn = self.draw(width, self.screen.size.height)
            wanted = max(1, len(drawn))
            if wanted != self._natural:  # not the height it got: a maximum may have cut it
                self._natural = wanted
                self.refresh(layout=True)
            if wanted != height or self.visible_rows(height) != height:
                drawn = None
        changed = self._take_lines(width, height, drawn)
        if changed is None:
            self.refresh()
        elif changed:
            self.refresh(*changed)

    @property
    def has_borders(self) -> bool:

        return has_borders(self.screen)

    @property
    def has_auto_height(self) -> bool:
        """As high as its lines; else it fills what it is given."""
        return self.styles.height is not None and self.styles.height.is_auto

    def visible_rows(self, height: int) -> int:
        """Of `height`, for a panel whose lower part may be cut off by what stands above it."""
        return height

    def _take_lines(self, width: int, height: int, drawn: list[Line] | None = None) -> list[Region] | None:
        """Takes in the new lines; the regions that differ, None for all of it."""
        raw = (self.draw(width, self.visible_rows(height)) if drawn is None else drawn)[:height]
        if self.has_focus and (at := self.target):
            raw = [
                [(part, role + HIGHLIGHT if link_in_style(role) == at else role) for part, role in line]
                for line in raw
            ]
        theme = self.app.theme
        needs_full = theme != self._theme or len(self._drawn) > len(raw)
        reusable_lines = 0 if needs_full or width != self._drawn_at.width else len(self._raw)
        lines: list[Line] = []
        changed: list[Region] = []
        for y, row in enumerate(raw):
            if y < reusable_lines and row == self._raw[y]:  # most of them, at most times
                lines.append(self._drawn[y])
                continue
            # the one way from text to cells: whatever a panel forgot to clean is cleaned here, before its width counts
            ready = clean_line(merge_spans(row))
            line = fit_line(_plus_minus_in_ascii(ready) if self.shell.ascii_only else ready, width)
            lines.append(line)
            old = self._drawn[y] if y < len(self._drawn) and not needs_full else None
            if old == line:
                continue
            start, end = (0, width) if old is None else _changed_cells(old, line)
            changed.append(Region(start, y, max(1, end - start), 1))
            strip = self._make_strip(line, theme)
            if y < len(self._strips):
                self._strips[y] = strip
            else:
                self._strips.append(strip)
        del self._strips[len(lines) :]
        self._raw, self._drawn, self._drawn_at, self._theme = raw, lines, Size(width, height), theme
        return None if needs_full else changed

    def _make_strip(self, line: Line, theme: str) -> Strip:
        ascii_only = self.shell.ascii_only
        spans = merge_spans((part, role.rpartition(TARGET)[2]) for part, role in line)
        return Strip(
            [
                Segment(ascii_text(part) if ascii_only else part, role_style(theme, role))
                for part, role in spans
            ]
        )

    def render_line(self, y: int) -> Strip:
        width, height = self.size
        if not self._drawn or self._theme != self.app.theme:
            self._take_lines(width, height)
        ground = role_style(self.app.theme, "text")
        if y >= len(self._strips):
            return Strip.blank(width, ground)
        strip = self._strips[y].adjust_cell_length(width, ground)
        if self.text_selection is None or (span := self.text_selection.get_span(y)) is None:
            return strip
        start, end = _cells_of_span(span, width)
        before, selected, after = strip.crop(0, start), strip.crop(start, end), strip.crop(end, width)
        return Strip([*before, *Segment.apply_style(selected, post_style=SELECTED), *after], width)

    def get_selection(self, selection: Selection) -> tuple[str, str]:
        """What the mouse has selected, without the frame and the blanks at the ends of lines."""
        spans = [(strip, selection.get_span(y)) for y, strip in enumerate(self._strips)]
        rows = [strip.crop(*_cells_of_span(span, strip.cell_length)).text for strip, span in spans if span]
        return "\n".join(row.strip(FRAME) if FRAME[-1] in row else row.rstrip() for row in rows), "\n"


def _cells_of_span(span: tuple[int, int], width: int) -> tuple[int, int]:
    start, end = span
    return start, width if end < 0 else end


class DrawnPanel(Panel):
    """A part of a screen that the screen draws itself: `draw_lines(width, height)`."""

    DEFAULT_CSS = "DrawnPanel { height: 1fr; }"

    def __init__(self, draw_lines: Callable[[int, int], list[Line]], *, id: str) -> None:
        super().__init__(id=id)
        self._draw_lines = draw_lines

    def draw(self, width: int, height: int) -> list[Line]:
        return self._draw_lines(width, height)


class SessionPanel(Panel):
    """Draws a session: each time the one that is followed then. A screen finds it by `ID`."""

    ID: ClassVar[str]

    def __init__(self, session: Callable[[], RunSession]) -> None:
        super().__init__(id=self.ID)
        self._session = session


class PacedPanel(SessionPanel):
    """While time goes by itself drawn at most about once a second: at 4 Hz a plot would cost 80 kB/s of the line."""

    _last: tuple[object, list[Line]] | None = None
    _at = 0.0

    def redraw_key(self, session: RunSession) -> object:
        """What, when it is another one, is drawn at once."""
        raise NotImplementedError

    def draw_session(self, session: RunSession, width: int, height: int) -> list[Line]:
        raise NotImplementedError

    def draw(self, width: int, height: int) -> list[Line]:
        session = self._session()
        key = (id(session), width, height, self.redraw_key(session))
        now = time.monotonic()
        recent = self.shell.is_feed_moving and now - self._at < REDRAWN_S
        if self._last is None or self._last[0] != key or not recent:
            self._last, self._at = (key, self.draw_session(session, width, height)), now
        return self._last[1]


def _plus_minus_in_ascii(line: Line) -> Line:
    """`±` takes two characters in ASCII; the next run of blanks or of a rule gives one up, after it or else before it,
    within the same frame, so that every edge stays where it is."""
    if not any("±" in part for part, _ in line):
        return line
    out = _split_characters(line)
    for at in [n for n, (char, _) in enumerate(out) if char == "±"][::-1]:
        run = _run_start(out, range(at + 2, len(out))) or _run_start(out, range(at - 1, 0, -1))
        out[at : at + 1] = [("+", out[at][1]), ("-", out[at][1])]
        if run:
            del out[run + (run > at)]
    return merge_spans(out)


def _run_start(line: Line, places: range) -> int:
    """The first of `places` whose character stands before it once more, a blank or a rule's; 0 up to an edge."""
    for n in places:
        if line[n][0] in "╭╮│":
            return 0
        if line[n][0] in " ─" and line[n][0] == line[n - 1][0]:
            return n
    return 0


def _changed_cells(old: Line, new: Line) -> tuple[int, int]:
    """The first and one past the last cell that differ, for lines of one width."""
    before, after = _split_characters(old), _split_characters(new)
    if len(before) != len(after):  # wide characters: cells and characters do not match
        return 0, max(len(before), len(after)) * 2
    if before == after:  # the same cells, cut into spans elsewhere
        return 0, 0
    first = next(i for i, (x, y) in enumerate(zip(before, after, strict=True)) if x != y)
    last = next(i for i in range(len(after) - 1, -1, -1) if before[i] != after[i])
    if not all(c.isascii() or ord(c) < 0x1100 or 0x2000 <= ord(c) < 0x2E80 for c, _ in after):
        return 0, len(after) * 2
    return first, last + 1


def _split_characters(line: Line) -> list[tuple[str, str]]:
    return [(char, role) for part, role in line for char in part]
