"""Call paths of two variants as an icicle: a row a depth, a box as wide as the larger side of its function.

Red and `+`: more in the variant, blue and `−`: less, grey: within its interval. What one side alone has is there too.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import zip_longest

from textual.binding import Binding
from textual.widget import Widget

from hostdx.app.features.profile.flame import (
    FlameBox,
    caller_path,
    describe_node,
    difference_share,
    lay_out_boxes,
    merge_unnamed_addresses,
)
from hostdx.app.terminal.glyphs import clean_text
from hostdx.app.terminal.lines import Line, crop_line, fit_line, split_line, text_line, wrap_text
from hostdx.app.tui.screens.run import RunPartScreen
from hostdx.app.tui.widgets.reader import Reader
from hostdx.probes.units import format_percent
from hostdx.scenarios.analysis.profile.results import CallPaths, PathTree

TOLD = 3  # lines about the box under the cursor
NAMES_CELLS, MIN_CELLS_WITH_NAMES = 40, 100  # of the list beside the picture, and of a panel that has one
MIN_NAMED_CELLS = 5  # cells of a box that has a part of its name
NONE = PathTree(baseline="", variant="", groups=0, kernel=False, waits=False, lost=0, nodes=())


class Icicle(Reader):
    BINDINGS = [
        Binding("left,h", "move_sideways(-1)", "to the left", show=False),
        Binding("right,l", "move_sideways(1)", "to the right", show=False),
        Binding("enter", "zoom", "zoom in"),
        Binding("backspace", "zoom_out", "zoom out"),
        Binding("right_square_bracket", "next_pair", "next pair", show=False),
    ]

    def __init__(self, trees: Sequence[PathTree]) -> None:
        super().__init__(lambda _: [])
        self._trees, self._number = tuple(map(merge_unnamed_addresses, trees)) or (NONE,), 0
        self._lay_out_below()

    @property
    def shown_tree(self) -> PathTree:
        return self._trees[self._number]

    def _lay_out_below(self, root: int = -1, at: int | None = None) -> None:
        """`root`: the function that fills the width, -1: all of them; `at`: the box under the cursor."""
        self.root = root
        self._boxes = {box.number: box for box in lay_out_boxes(self.shown_tree, root)}
        first = next(iter(sorted(self._boxes.values(), key=lambda box: (box.depth, -box.width))), None)
        self.at = at if at in self._boxes else first.number if first is not None else -1
        self.redraw()

    def draw(self, width: int, height: int) -> list[Line]:
        tree, chosen = self.shown_tree, self._boxes.get(self.at)
        pairs = f"  ({self._number + 1} of {len(self._trees)}, ] the next)" if len(self._trees) > 1 else ""
        head = text_line(f"{clean_text(tree.variant)} against {clean_text(tree.baseline)}{pairs}", "strong")
        inside = " > ".join(map(clean_text, caller_path(tree, self.root))) if self.root >= 0 else "all"
        out = [split_line(head, text_line("+ more  − less  grey: within its interval", "dim"), width)]
        out.append(crop_line(text_line(f"in {inside}", "dim"), width))
        if chosen is None:
            return [*out, text_line("no call paths", "dim")]
        room = max(1, height - len(out) - TOLD)
        top = max(0, chosen.depth - room + 1)
        names_cells = NAMES_CELLS if width >= MIN_CELLS_WITH_NAMES else 0
        rows = [
            self._depth_line(depth, width - names_cells)
            for depth in range(top, 1 + max(b.depth for b in self._boxes.values()))
        ]
        if names_cells:
            no_line: Line = []
            names = self._callee_lines(chosen, room, names_cells - 2)
            rows = [
                [*fit_line(row, width - names_cells), ("  ", "text"), *name]
                for row, name in zip_longest(rows[:room], names, fillvalue=no_line)
            ]
        details = wrap_text(describe_node(chosen.node, tree), width)[:TOLD]
        return [*out, *(row for row in rows[:room] if row), *([[]] * (room - len(rows))), *details]

    def _callee_lines(self, chosen: FlameBox, room: int, width: int) -> list[Line]:
        """Return what the box under the cursor calls, the widest first, each with its share of that box."""
        nodes = self.shown_tree.nodes
        below = [box for box in self._boxes.values() if nodes[box.number].up == chosen.number]
        head = text_line(f"calls of {clean_text(chosen.node.name)}" if below else "calls nothing", "dim")
        out = [crop_line(head, width)]
        for box in sorted(below, key=lambda b: -b.width)[: room - 1]:
            part = difference_share(box.node)
            role = "critical" if part > 0 else "notice" if part < 0 else "text"
            share = format_percent(box.width / chosen.width) if chosen.width else ""
            out.append(split_line(text_line(box.node.name, role), text_line(share, "dim"), width))
        return out

    def _depth_line(self, depth: int, width: int) -> Line:
        out: Line = []
        done = 0
        for box in sorted((b for b in self._boxes.values() if b.depth == depth), key=lambda b: b.left):
            start, end = max(done, round(box.left * width)), round((box.left + box.width) * width)
            if end > start:
                out.append((" " * (start - done), "text"))
                out += self._box_line(box, end - start)
                done = end
        return out

    def _box_line(self, box: FlameBox, width: int) -> Line:
        part = difference_share(box.node)
        role = "critical@critical" if part > 0 else "notice@notice" if part < 0 else "text@band"
        name = clean_text(box.node.name)
        if self.words and self.words.casefold() in name.casefold():
            role = "key@chip"
        edge = "▸" if box.number == self.at else "▏"
        sign = "+" if part > 0 else "−" if part < 0 else ""
        role += "!" if box.number == self.at else ""
        words_ = f"{edge}{sign}{name}" if width >= MIN_NAMED_CELLS else f"{edge}{sign}"[:width]
        return [(cell, role) for cell, _ in fit_line(text_line(words_), width)]

    def _move_cursor(self, at: int | None) -> None:
        if at is not None:
            self.at = at
            self.redraw()

    def action_scroll(self, by: int) -> None:
        """To what calls it, or to the largest that it calls."""
        for _ in range(min(abs(by), len(self._boxes))):
            below = [box for box in self._boxes.values() if self.shown_tree.nodes[box.number].up == self.at]
            up = self._boxes[self.at].node.up if self.at in self._boxes else -1
            next_ = max(below, key=lambda box: box.width).number if by > 0 and below else up if by < 0 else -1
            if next_ not in self._boxes:
                break
            self.at = next_
        self.redraw()

    def action_move_sideways(self, by: int) -> None:
        chosen = self._boxes.get(self.at)
        if chosen is not None:
            row = sorted((b for b in self._boxes.values() if b.depth == chosen.depth), key=lambda b: b.left)
            self._move_cursor(row[min(len(row) - 1, max(0, row.index(chosen) + by))].number)

    def action_zoom(self) -> None:
        """Into the box under the cursor; one that calls nothing would fill the screen alone."""
        if any(self.shown_tree.nodes[number].up == self.at for number in self._boxes):
            self._lay_out_below(self.at, self.at)

    def action_zoom_out(self) -> None:
        if self.root >= 0:
            up = self.shown_tree.nodes[self.root].up
            self._lay_out_below(up if up < self.root else -1, self.root)

    def action_next_pair(self) -> None:
        self._number = (self._number + 1) % len(self._trees)
        self._lay_out_below()

    def find(self, words: str) -> bool:
        """To the next function with these words, and round; outside of what is zoomed in to all is shown again."""
        self.words = words
        hits = [n for n, node in enumerate(self.shown_tree.nodes) if words.casefold() in node.name.casefold()]
        if hits:
            at = next((n for n in hits if n > self.at), hits[0])
            self._lay_out_below(self.root if at in self._boxes else -1, at)
        return bool(hits)


class CallPathsScreen(RunPartScreen):
    """Of a command under two variants, to zoom and to search: what the page has as a flame graph."""

    BINDINGS = [Binding("slash", "filter", "search", priority=True), Binding("q", "back", "back")]
    title_words = "call paths"
    step_words = "call paths"

    def compose_body(self) -> Iterable[Widget]:
        paths_result = self.current_session().find_result(CallPaths)
        yield Icicle(paths_result.value if paths_result is not None else ())
