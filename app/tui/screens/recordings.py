"""Recordings: the runs under way, the earlier ones, and the demos that come with hostdx."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.widget import Widget

from app.failure import Failure
from app.recording import store as recordings
from app.tui.glyphs import clean
from app.tui.lines import Line, split
from app.tui.screens.base import Base
from app.tui.widgets.picker import Picker, Row
from app.tui.widgets.transport import clock
from scenarios.imported import SCENARIO

_SIGNS = {
    "running": ("● running", "ok"), "done": ("✓ done", "text"), "skipped": ("– skipped", "dim"),
    "failed": ("! failed", "critical"), "interrupted": ("▲ stopped", "warning"), "dead": ("▲ killed", "warning"),
    "unreadable": ("? unreadable", "unknown"),
}  # fmt: skip


def _marked(marks: dict[str, str], key: str, draw: Callable[[int], Line], width: int) -> Line:
    """The row, with its side of the comparison before it while anything is marked."""
    if not marks:
        return draw(width)
    return [(f"{marks.get(key, ' ')} ", "accent"), *draw(width - 2)]


def _line(entry: recordings.Listed, width: int) -> Line:
    sign, role = _SIGNS[entry.state]
    when = clean(entry.wall[:16].replace("T", " ")) or "?"
    left: Line = [
        (f"{sign:<12} ", role),
        (f"{when:<16}  ", "text"),
        (f"{clean(entry.scenario):<10} ", "strong"),
    ]
    left.append((entry.host or entry.name, "text"))
    if entry.reason:
        left.append((f"  {entry.reason}", "dim"))
    return split(left, [(clock(entry.seconds), "dim")], width)


def _demo_line(name: str, about: str, width: int) -> Line:
    return [("demo         ", "accent"), (name, "strong"), (f"  {about}", "dim")]


class RecordingsScreen(Base):
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("e", "replay", "replay from the start"),
        Binding("o", "report", "report"),
        Binding("m", "save", "save report"),
        Binding("i", "import", "import a file"),
        Binding("space", "mark", "mark"),
        Binding("c", "compare", "compare"),
        Binding("slash", "filter", "filter", priority=True),
        Binding("R", "again", "look again", show=False),
    ]
    title_words = "recordings"

    def __init__(self) -> None:
        super().__init__()
        self._paths: dict[str, Path] = {}
        self._marks: dict[str, str] = {}  # "A" or "B", by row

    def body(self) -> Iterable[Widget]:
        yield Picker(id="recordings", title="RECORDINGS", empty="none yet: a scenario makes the first")

    def on_mount(self) -> None:
        self.query_one(Picker).focus()
        self.action_again()

    def action_again(self) -> None:
        rows: list[Row] = []
        self._paths.clear()
        for entry in recordings.listed():
            self._paths[str(entry.path)] = entry.path
            words = f"{entry.state} {entry.scenario} {entry.host} {entry.wall} {entry.name}"
            rows.append(self._row(str(entry.path), partial(_line, entry), words))
        for name in recordings.demos():
            self._paths[name] = recordings.resolve(name)
            imported = recordings.examined(self._paths[name]).scenario == SCENARIO
            about = "imported results of real runs" if imported else "a recording of a real run"
            rows.append(self._row(name, partial(_demo_line, name, about), f"{name} demo"))
        picker = self.query_one(Picker)
        picker._rows = rows
        self.show()

    def _row(self, key: str, draw: Callable[[int], Line], words: str) -> Row:
        return Row(key, partial(_marked, self._marks, key, draw), words)

    def action_mark(self) -> None:
        """Side A, side B, no side, in turn."""
        key = self.query_one(Picker).selected
        if key not in self._paths:
            return
        following = {None: "A", "A": "B", "B": None}[self._marks.pop(key, None)]
        if following is not None:
            self._marks[key] = following
        self.show()

    def action_compare(self) -> None:
        a, b = ([self._paths[k] for k, side in self._marks.items() if side == wanted] for wanted in "AB")
        if a and b:
            self.shell.open_comparison(a, b)
        else:
            self.shell.say("space marks a recording as A (before, baseline), again as B; then c compares")

    @property
    def chosen(self) -> Path | None:
        return self._paths.get(self.query_one(Picker).selected)

    def on_picker_chosen(self, event: Picker.Chosen) -> None:
        path = self._paths.get(event.key)
        if path is not None:
            self.shell.open_recording(path, live=True)

    def action_replay(self) -> None:
        if self.chosen is not None:
            try:
                self.shell.replay(self.chosen)
            except Failure as why:
                self.shell.say(clean(why.text))

    def action_report(self) -> None:
        if self.chosen is not None:
            self.shell.open_report(self.chosen)

    def action_save(self) -> None:
        if self.chosen is not None:
            self.shell.save_report(self.chosen)

    def action_import(self) -> None:
        """Another tool's result as one more recording."""
        from app.tui.screens.ask import AskScreen

        hint = "a result of fio, IO500, IOR, mdtest, HEPscore, prmon, sar, …; Enter imports it, Esc leaves it"
        self.app.push_screen(AskScreen("import", hint=hint), self._import)

    def _import(self, name: str | None) -> None:
        if name:
            self.shell.import_file(Path(name).expanduser(), self.action_again)
