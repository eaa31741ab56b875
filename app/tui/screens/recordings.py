"""Recordings: the runs under way, the earlier ones, and the demos that come with hostdx."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import NamedTuple

from textual.binding import Binding
from textual.widget import Widget

from app.failure import Failure
from app.glyphs import SIGNS, clean
from app.lines import Line, crop, split, wrapped
from app.recording import store as recordings
from app.report.headline import Answer, headline_of
from app.tui.screens.ask import ChoiceScreen
from app.tui.screens.base import Base
from app.tui.widgets.measuring.transport import clock
from app.tui.widgets.picker import Picker, Row
from app.tui.widgets.selected_line import Whole
from scenarios.card import card_of

HEADLINES = 40  # of the newest: each is read whole for it
READ_EVERY_S = 0.04
_WIDE = 100  # cells from which on the year has room
EXAMPLE = "accent"
DRAWN_EVERY = 4  # headlines

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


class Listing(NamedTuple):
    """One row; `sign` and `role` say how it stands, `told` what it found once it was read."""

    entry: recordings.Listed
    name: str
    sign: str
    role: str


def _where(entry: recordings.Listed) -> str:
    """The directories, else the host."""
    return clean(" : ".join(entry.directories) or entry.host or entry.name)


def _line(one: Listing, told: dict[str, Answer | None], width: int) -> Line:
    entry = one.entry
    answer = told.get(one.name)
    when = clean(entry.wall[:16].replace("T", " ")) or "?"
    if width < _WIDE:
        when = when[5:] or "?"
    if one.role == EXAMPLE:  # by the name that the commands take
        left: Line = [(f"{one.name:<20} ", one.role), (f"{when}  ", "dim")]
    else:
        left = [
            (f"{one.sign:<10} ", one.role),
            (f"{when}  ", "dim"),
            (f"{clean(entry.scenario):<9} ", "strong"),
        ]
    if answer is not None:
        left.append((f"{SIGNS.get(answer.weight, '?')} ", answer.weight))
        left.append((answer.sentence, "text"))
    else:
        left += [(_where(entry), "text"), (f"  {entry.reason or ''}", "dim")]
    timeless = entry.state == "unreadable" or card_of(entry.scenario).role == "import"
    took = "" if timeless else clock(entry.seconds)
    return split(left, [(took, "dim")], width)


def _second(one: Listing, told: dict[str, Answer | None], width: int) -> Line:
    """Where it was measured, under what it found."""
    if told.get(one.name) is None:
        return []
    host = "" if not one.entry.directories else f"  on {clean(one.entry.host)}"
    return crop(
        [(" " * (39 if width >= _WIDE else 34), "text"), (f"{_where(one.entry)}{host}", "dim")], width
    )


def _whole(one: Listing, told: dict[str, Answer | None], width: int) -> list[Line]:
    """All of the headline, and where and on what host it was."""
    answer = told.get(one.name)
    words = clean(answer.sentence if answer is not None else one.entry.reason or "no answer in it")
    where = [f"of {_where(one.entry)}"] if one.entry.directories else []
    about = ", ".join(
        filter(None, [*where, f"on {clean(one.entry.host)}" * bool(one.entry.host), clean(one.name)])
    )
    return [*wrapped(words, width, "strong"), *wrapped(about, width, "dim")]


class RecordingsScreen(Base):
    DEFAULT_CSS = """
    RecordingsScreen Picker { height: 1fr; }
    RecordingsScreen.-high Picker { height: auto; max-height: 80%; }
    RecordingsScreen Whole { margin: 1 0 0 0; }
    """
    BINDINGS = [
        Binding("c,C", "compare", "compare", show=False),  # in the footer once both sides are marked
        Binding("space", "mark", "mark"),
        Binding("delete,D", "delete", "delete"),
        Binding("0", "replay", "replay from the start"),
        Binding("o", "report", "report"),
        Binding("m", "save", "save report"),
        Binding("I", "import", "import a file"),
        Binding("F", "fleet", "many nodes", show=False),
        Binding("slash", "filter", "filter", priority=True),
        Binding("R", "again", "read again", show=False),
    ]
    title_words = "recordings"

    def __init__(self) -> None:
        super().__init__()
        self._paths: dict[str, Path] = {}
        self._marks: dict[str, str] = {}  # "A" or "B", by row
        self._unread: list[tuple[str, recordings.Listed]] = []  # headlines still to be read, the newest first
        self._told: dict[str, Answer | None] = {}

    def body(self) -> Iterable[Widget]:
        yield Picker(id="recordings", title="RECORDINGS", empty="none yet: a scenario makes the first")
        yield Whole(Picker)

    def on_mount(self) -> None:
        self.query_one(Picker).focus()
        self.action_again()
        self.set_interval(READ_EVERY_S, self._read)

    def _read(self) -> None:
        """One headline at a time: a list of many must open at once, and keys come first."""
        if self._unread:
            name, entry = self._unread.pop(0)
            self._told[name] = headline_of(entry)
            if not self._unread or len(self._told) % DRAWN_EVERY == 0:
                self.show()

    def on_picker_moved(self) -> None:
        self.query_one(Whole).redraw()

    def action_again(self) -> None:
        rows: list[Row] = []
        self._paths.clear()
        self._unread.clear()
        for entry in recordings.listed():
            sign, role = _SIGNS[entry.state]
            words = f"{entry.state} {entry.scenario} {entry.host} {entry.wall} {' '.join(entry.directories)}"
            rows.append(self._row(str(entry.path), Listing(entry, entry.name, sign, role), words))
        for name in recordings.demos():
            entry = recordings.examined(recordings.resolve(name))
            rows.append(self._row(name, Listing(entry, name, "example", EXAMPLE), "demo"))
        picker = self.query_one(Picker)
        picker._rows = rows
        own = len(rows) - len(recordings.demos())
        picker.note = [(f"{own} recorded here, {len(rows) - own} examples", "dim")]
        self.show()

    def _row(self, key: str, one: Listing, words: str) -> Row:
        self._paths[key] = one.entry.path
        if one.name not in self._told and len(self._unread) < HEADLINES:
            self._unread.append((one.name, one.entry))
        return Row(
            key,
            partial(_marked, self._marks, key, partial(_line, one, self._told)),
            f"{one.name} {words}",
            partial(_second, one, self._told),
            partial(_whole, one, self._told),
        )

    def _imported(self) -> None:
        if self.in_use:
            self.action_again()

    def action_mark(self) -> None:
        """The first is side A, the next ones B; once more the other side, then none."""
        key = self.query_one(Picker).selected
        if key not in self._paths:
            return
        before = self._marks.pop(key, None)
        first = "B" if "A" in self._marks.values() else "A"
        other = {"A": "B", "B": "A"}
        following = first if before is None else other[before] if before == first else None
        if following is not None:
            self._marks[key] = following
        self.show()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "delete":
            return not (self.chosen is None or self._bundled())
        return True

    def footed(self, action: str) -> bool:
        return action == "compare" and {"A", "B"} <= set(self._marks.values())

    def _bundled(self) -> bool:
        return self.query_one(Picker).selected in recordings.demos()

    def action_delete(self) -> None:
        """Only a file of the list, and never one that is being written."""
        path = self.chosen
        if path is None:
            return
        if recordings.examined(path).state == "running":
            self.shell.say("it is being written: stop the run first")
            return

        def answered(key: str | None) -> None:
            if key != "y":
                return
            try:
                recordings.delete(path)
            except OSError as why:
                self.shell.say(f"not deleted: {path}: {why.strerror or str(why)}")
                return
            self._marks.pop(str(path), None)
            self.action_again()
            self.shell.say(f"deleted {path.name}")

        question = f"Delete {clean(path.name)} for good?"
        self.app.push_screen(ChoiceScreen(question, {"y": "delete it"}, "Esc keeps it"), answered)

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
            self.shell.open_recording(path)

    def action_replay(self) -> None:
        if self.chosen is not None:
            try:
                self.shell.replay(self.chosen)
            except Failure as why:
                self.shell.say(why.text)

    def action_report(self) -> None:
        if self.chosen is not None:
            self.shell.open_report(self.chosen)

    def action_save(self) -> None:
        if self.chosen is not None:
            self.shell.save_report(self.chosen)

    def action_import(self) -> None:
        """Another tool's result as one more recording."""
        from app.tui.screens.ask import AskScreen

        hint = "a result of fio, IO500, IOR, mdtest, HEPscore, prmon, sar, …; Enter imports it, Esc cancels"
        self.app.push_screen(AskScreen("import", hint=hint), self._import)

    def action_fleet(self) -> None:
        """A folder of many nodes' recordings or triages."""
        from app.tui.screens.ask import AskScreen

        hint = "a folder of a fleet run, or of many nodes' recordings or triages; Esc cancels"
        self.app.push_screen(AskScreen("folder", hint=hint), self._fleet)

    def _fleet(self, name: str | None) -> None:
        if name:
            self.shell.open_fleet(Path(name).expanduser())

    def _import(self, name: str | None) -> None:
        if name:
            self.shell.import_file(Path(name).expanduser(), self._imported)
