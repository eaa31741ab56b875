"""Recordings: the runs under way, the earlier ones, and the demos that come with hostdx."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.widget import Widget

from app import recordings
from app.failure import Failure
from app.tui.glyphs import clean
from app.tui.lines import Line, split
from app.tui.screens.base import Base
from app.tui.widgets.picker import Picker, Row
from app.tui.widgets.transport import clock

_SIGNS = {
    "running": ("● running", "ok"), "done": ("✓ done", "text"), "skipped": ("– skipped", "dim"),
    "failed": ("! failed", "critical"), "interrupted": ("▲ stopped", "warning"), "dead": ("▲ killed", "warning"),
    "unreadable": ("? unreadable", "unknown"),
}  # fmt: skip


def _line(entry: recordings.Listed, width: int) -> Line:
    sign, role = _SIGNS[entry.state]
    when = clean(entry.wall[:16].replace("T", " ")) or "?"
    left: Line = [
        (f"{sign:<12} ", role),
        (f"{when:<16}  ", "text"),
        (f"{clean(entry.scenario):<10} ", "strong"),
    ]
    left.append((clean(entry.host or entry.name), "text"))
    if entry.reason:
        left.append((f"  {clean(entry.reason)}", "dim"))
    return split(left, [(clock(entry.seconds), "dim")], width)


def _demo_line(name: str, width: int) -> Line:
    return [("demo         ", "accent"), (clean(name), "strong"), ("  a recording of a real run", "dim")]


class RecordingsScreen(Base):
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("e", "replay", "replay from the start"),
        Binding("o", "report", "report"),
        Binding("m", "save", "save report"),
        Binding("slash", "filter", "filter", priority=True),
        Binding("R", "again", "look again", show=False),
    ]
    title_words = "recordings"

    def __init__(self) -> None:
        super().__init__()
        self._paths: dict[str, Path] = {}

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
            rows.append(Row(str(entry.path), partial(_line, entry), words))
        for name in recordings.demos():
            self._paths[name] = recordings.resolve(name)
            rows.append(Row(name, partial(_demo_line, name), f"{name} demo"))
        picker = self.query_one(Picker)
        picker._rows = rows
        self.show()

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
