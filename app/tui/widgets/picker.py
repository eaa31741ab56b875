"""A list to choose from: one line an item, a cursor that stays on its item while others arrive, a filter."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from textual import events
from textual.binding import Binding
from textual.errors import NoWidget
from textual.message import Message

from hostdx.app.terminal.lines import (
    BLANK,
    Line,
    cell_width,
    crop_line,
    fit_line,
    frame_rows,
    highlight_line,
    line_with_key_names,
    ruled_head,
    split_line,
    text_line,
)
from hostdx.app.tui.widgets.panel import Panel

MAX_COPIED_CELLS = 400  # cells of a row


class PickerRow(NamedTuple):
    """`draw(width)` gives the line without the two columns of the cursor; `searched` is what the filter looks at.

    A row whose `name` has the filter's words stands before one that only its other words match.
    `second(width)` is a line more, drawn where there is room for everyone's. `whole(width)` is all that is to be
    said of it, for a panel beside the list (`Whole`): a list cuts what is longer than a line.
    """

    key: str
    draw: Callable[[int], Line]
    searched: str
    second: Callable[[int], Line] = lambda _width: []
    full_lines: Callable[[int], list[Line]] = lambda _width: []
    name: str = ""


class Picker(Panel, can_focus=True):
    """Posts `Chosen` on Enter, or a click on the item under the cursor. `title` and `note` stand above the items."""

    BINDINGS = [
        Binding("up,k", "move(-1)", "up", show=False),
        Binding("down,j", "move(1)", "down", show=False),
        Binding("pageup", "page(-1)", "page up", show=False),
        Binding("pagedown", "page(1)", "page down", show=False),
        Binding("home,g", "move(-100000)", "first", show=False),
        Binding("end,G", "move(100000)", "last", show=False),
        Binding("enter", "choose", "open"),
        Binding("y", "copy_row", "copy the row", show=False),
    ]

    class Moved(Message):
        """The cursor is on another item."""

    class Chosen(Message):
        def __init__(self, picker: Picker, key: str) -> None:
            super().__init__()
            self.picker = picker
            self.key = key

        @property
        def control(self) -> Picker:
            return self.picker

    def __init__(
        self,
        *,
        id: str,
        title: str = "",
        empty: str = "nothing here",
        list_rows: Callable[[], Sequence[PickerRow]] = list,
        draw_heads: Callable[[int], list[Line]] = lambda _width: [],
    ) -> None:
        """`list_rows` gives the items as they are now, all of them, in order; `draw_heads` what stands over them, under
        the title: the items begin two cells further right."""
        super().__init__(id=id)
        self._list_rows, self._draw_heads = list_rows, draw_heads
        self.title = title
        self.note: Line = []
        self.empty = empty
        self.filter = ""
        self._key = ""  # the item under the cursor; empty until somebody moved it: the first one then
        self._top = 0
        self.tall = False  # second lines are drawn
        self._visible_lines = 0  # lines of it, at the last layout
        self._items: list[int] = []  # which item each drawn line belongs to

    def on_mount(self) -> None:
        self.screen.screen_layout_refresh_signal.subscribe(self, self._redraw_if_height_changed)

    def _redraw_if_height_changed(self, _screen: object) -> None:
        """What its box shows of it changes with its neighbours, too, without a change of its own size."""
        visible_lines = self.visible_rows(self.size.height)
        if visible_lines != self._visible_lines:
            self._visible_lines = visible_lines
            self.redraw()

    def build_rows(self) -> Sequence[PickerRow]:
        return self._list_rows()

    def draw_column_heads(self, width: int) -> list[Line]:
        return self._draw_heads(width)

    @property
    def shown_rows(self) -> list[PickerRow]:
        wanted = self.filter.casefold().split()
        rows = [r for r in self.build_rows() if all(w in r.searched.casefold() for w in wanted)]
        return sorted(rows, key=lambda r: not all(w in r.name.casefold() for w in wanted)) if wanted else rows

    @property
    def index(self) -> int:
        """Where the cursor is among the shown items."""
        return next((i for i, row in enumerate(self.shown_rows) if row.key == self._key), 0)

    @property
    def selected_key(self) -> str:
        shown = self.shown_rows
        return shown[self.index].key if shown else ""

    def visible_rows(self, height: int) -> int:
        """The cursor is never below the edge of a box that has no room for the whole list."""
        try:
            visible_lines = self.screen.find_widget(self).visible_region.height
        except NoWidget:  # before the first layout
            return height
        return min(height, visible_lines) if visible_lines else height

    def draw(self, width: int, height: int) -> list[Line]:
        title: Line = [(self.title, "title")] if self.title else []
        if self.filter:
            title.append((f"  /{self.filter}", "accent"))
        if not self.has_borders or not self.title:
            head = [ruled_head(title, self.note, width)] if title else []
            return self._list_lines(width, height, head)
        rows = self._list_lines(width - 4, height - 2, [])
        self._items = [-1, *self._items]
        high = len(rows) + 2 if self.has_auto_height else height
        return frame_rows(
            title, rows, width, high, note=self.note, role="accent" if self.has_focus else "rule"
        )

    def _list_lines(self, width: int, height: int, head: list[Line]) -> list[Line]:
        """The columns' heads and the items, after `head`."""
        shown = self.shown_rows
        head = [*head, *self.draw_column_heads(width)]
        self._items = [-1] * len(head)
        room = max(1, height - len(head))
        if not shown:
            return [
                *head,
                text_line(
                    "  " + ("nothing matches" if self.filter and self.build_rows() else self.empty), "dim"
                ),
            ]
        index = self.index
        self.tall = sum(2 if row.second(width) else 1 for row in shown) <= room
        is_single = room == 1 < len(shown)  # then the count stands in the item's own line
        if len(shown) > room > 1:
            room -= 1  # the last line says how many are out of sight
        self._top = max(0, min(self._top, index, len(shown) - room))
        self._top = max(self._top, index - room + 1)
        out = head
        for number, row in enumerate(shown[self._top : self._top + room], self._top):
            line = row.draw(width - 2)
            if number == index and self.has_focus:
                out.append(highlight_line([("▸ ", "accent"), *line], width))
            else:
                out.append([("  ", "text"), *line])
            if self.tall and (second := row.second(width - 2)):
                out.append([("  ", "text"), *second])
            self._items += [number] * (len(out) - len(self._items))
        hidden = len(shown) - room
        if hidden > 0:
            above, below = self._top, len(shown) - self._top - room
            parts = [f"{above} above"] * (above > 0) + [f"{below} more below"] * (below > 0)
            count_line = text_line(f"  ({', '.join(parts)})", "dim")
            if is_single:
                out[-1] = [*fit_line(out[-1], width - cell_width(count_line)), *count_line]
            else:
                out.append(count_line)
        return out

    def action_move(self, by: int) -> None:
        wanted = self.index + by
        if abs(by) > 1 or 0 <= wanted < len(self.shown_rows) or not self._focus_neighbour(by):
            self.move_within(by)

    def action_page(self, by: int) -> None:
        """By what the list shows at once; never to another list."""
        self.move_within(by * max(2, len(set(self._items) - {-1}) - 1))

    def move_within(self, by: int) -> None:
        shown = self.shown_rows
        if shown:
            self._key = shown[min(len(shown) - 1, max(0, self.index + by))].key
            self.redraw()
            self.post_message(self.Moved())

    def _focus_neighbour(self, by: int) -> bool:
        """Over the edge of the list goes to the neighbouring one, where there is one that way."""
        pickers = [p for p in self.screen.query(Picker) if p.display and p.region.size]
        if self not in pickers:  # there is no room for it now
            return False
        place = pickers.index(self) + (1 if by > 0 else -1)
        if not 0 <= place < len(pickers):
            return False
        pickers[place].focus()
        return True

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return bool(self.selected_key) if action == "choose" else True

    def action_copy_row(self) -> None:
        shown = self.shown_rows
        if shown:
            line = shown[self.index].draw(MAX_COPIED_CELLS)
            self.shell.copy("".join(part for part, _ in line).strip(), "the row")

    def action_choose(self) -> None:
        if self.selected_key:
            self.post_message(self.Chosen(self, self.selected_key))

    def on_click(self, event: events.Click) -> None:
        index = self._items[event.y] if event.y < len(self._items) and not self.screen.selections else -1
        shown = self.shown_rows
        if 0 <= index < len(shown):
            chosen = self.has_focus and shown[index].key == self.selected_key
            self._key = shown[index].key
            self.redraw()
            if chosen or event.chain > 1:
                self.action_choose()
            else:
                self.post_message(self.Moved())

    def on_mouse_scroll_down(self) -> None:
        self.action_move(1)

    def on_mouse_scroll_up(self) -> None:
        self.action_move(-1)


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
            more = line_with_key_names("[Enter] shows all of it")
            lines = [
                *lines[: room - 1],
                split_line(crop_line(lines[room - 1], width - 26), more, width - 2),
            ]
        marked = [[("▸ " if not n else "  ", "accent"), *line] for n, line in enumerate(lines)]
        return [*marked, *[BLANK] * (room - len(lines))]
