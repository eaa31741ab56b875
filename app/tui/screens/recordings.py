"""Recordings: the runs under way, the earlier ones, and the demos that come with hostdx."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import NamedTuple

from textual.binding import Binding
from textual.widget import Widget

from app.failure import Failure
from app.glyphs import SIGNS, clean
from app.lines import Line, cells, framed, pad, split, text, wrapped
from app.recording import store as recordings
from app.report.forms.cells import parts_lines
from app.report.headline import Answer, read_of
from app.report.next_steps import to_do
from app.report.validity import Sign, trust
from app.tui.details import next_lines, sign_lines
from app.tui.screens.ask import AskScreen, ChoiceScreen
from app.tui.screens.base import Base
from app.tui.widgets.home.findings_panel import severity_words
from app.tui.widgets.home.recordings_line import BAR, ENDS, interval
from app.tui.widgets.measuring.standing import margin_of
from app.tui.widgets.measuring.transport import clock
from app.tui.widgets.panel import Panel
from app.tui.widgets.picker import Picker, PickerRow
from app.tui.widgets.verdict_list import EffectRow, entries, table_of
from scenarios.card import card_of
from scenarios.finding import Finding, Remedy
from scenarios.results.document import Part

HEADLINES = 40  # of the newest: each is read whole for it
READ_EVERY_S = 0.04
_WIDE = 100  # cells from which on the year has room
EXAMPLE = "accent"
DRAWN_EVERY = 4  # headlines
_NOTHING = "no answer in it"

_SIGNS = {
    "running": ("● running", "ok"), "done": ("✓ done", "text"), "skipped": ("– skipped", "dim"),
    "failed": ("! failed", "critical"), "interrupted": ("▲ stopped", "warning"), "dead": ("▲ killed", "warning"),
    "unreadable": ("? unreadable", "unknown"),
}  # fmt: skip


class RecordingAnswer(NamedTuple):
    """What a recording found, once it was read."""

    answer: Answer | None = None
    table: tuple[EffectRow, ...] = ()
    margin: float = 0.0
    found: tuple[Finding, ...] = ()
    signs: tuple[Sign, ...] = ()
    steps: tuple[Remedy, ...] = ()
    tables: tuple[Part, ...] = ()  # of its results, as they stand on the first page


UNREAD = RecordingAnswer()


def _read(entry: recordings.Listed) -> RecordingAnswer:
    answer, session = read_of(entry)
    try:
        table, signs = tuple(entries(session)), tuple(trust(session))
    except (ArithmeticError, LookupError, TypeError, ValueError):  # foreign figures: the list goes on
        return RecordingAnswer(answer)
    said = answer.finding if answer is not None else None
    found = tuple(f for f in session.worst_first if f != said)
    steps = to_do(session, recordings.argument(entry.path)) if answer is not None else ()
    sections = filter(None, (result.on_top(session.time) for result in session.results.values()))
    tables = tuple(part for one in sections for part in one.parts)
    return RecordingAnswer(answer, table, margin_of(session), found, signs, steps, tables)


def _marked(marks: dict[str, str], key: str, draw: Callable[[int], Line], width: int) -> Line:
    """The row, with its side of the comparison before it while anything is marked."""
    if not marks:
        return draw(width)
    return [(f"{marks.get(key, ' ')} ", "accent"), *draw(width - 2)]


class Listing(NamedTuple):
    """One row; `sign` and `role` say how it stands."""

    entry: recordings.Listed
    name: str
    sign: str
    role: str

    @property
    def where(self) -> str:
        """The directories, else the host."""
        entry = self.entry
        return clean(" : ".join(entry.directories) or entry.host or entry.name)

    @property
    def host(self) -> str:
        return f"on {clean(self.entry.host)}" if self.entry.host and self.entry.directories else ""


def _line(one: Listing, read: dict[str, RecordingAnswer], width: int) -> Line:
    entry = one.entry
    answer = read.get(one.name, UNREAD).answer
    when = clean(entry.wall[:16].replace("T", " ")) or "?"
    wide = width >= _WIDE
    if not wide:
        when = when[5:] or "?"
    if one.role == EXAMPLE:  # by the name that the commands take
        left: Line = [(f"{one.name:<20} ", one.role), (f"{when}  ", "dim")]
    else:
        left = [
            (f"{one.sign:<10} ", one.role),
            (f"{when}  ", "dim"),
            (f"{clean(entry.scenario):<10} ", "strong"),
        ]
    if answer is not None:
        left.append((f"{SIGNS.get(answer.weight, '?')} ", answer.weight))
    if entry.label:
        left.append((f"{clean(entry.label)}  ", "accent"))
    if answer is not None:
        left.append((answer.sentence, "text"))
    else:
        left += [(one.where, "text"), (f"  {entry.reason or ''}", "dim")]
    timeless = entry.state == "unreadable" or card_of(entry.scenario).role == "import"
    took: Line = [("" if timeless else clock(entry.seconds), "dim")]
    if not wide:
        return split(left, took, width)
    verdict = answer.verdict if answer is not None else None
    drawn = interval(verdict.ratio, verdict.ci95, answer.weight) if verdict and answer else text("")
    return split(left, [*pad(drawn, BAR), ("  ", "text"), *pad(took, len("00:00"))], width)


class RecordingPicker(Picker):
    DEFAULT_CSS = "RecordingPicker { height: auto; max-height: 60%; }"

    def columns(self, width: int) -> list[Line]:
        """The scale of the intervals, where there is room for them."""
        if width - 2 < _WIDE or not self.rows():
            return []
        return [split([], text(f"{ENDS}  {'took':>5}", "dim"), width)]


class Preview(Panel):
    """Of the recording under the cursor: its headline whole, where and when, every effect, then what was found."""

    DEFAULT_CSS = "Preview { height: 1fr; min-height: 3; }"

    def draw(self, width: int, height: int) -> list[Line]:
        screen = self.screen
        assert isinstance(screen, RecordingsScreen)
        one = screen.under_cursor
        if not self.boxed:
            return screen.told_lines(one, width)[:height] if one is not None else []
        rows = screen.told_lines(one, width - 4) if one is not None else []
        if len(rows) > height - 2:
            rows = [*rows[: height - 3], text("Enter opens all of it", "dim")]
        name = text(clean(one.entry.label or one.name) if one is not None else "", "dim")
        return framed(text("WHAT IT FOUND", "title"), name, rows, width, height)


class RecordingsScreen(Base):
    BINDINGS = [
        Binding("c,C", "compare", "compare", show=False),  # in the footer once both sides are marked
        Binding("space", "mark", "mark"),
        Binding("delete,D", "delete", "delete"),
        Binding("0", "replay", "replay from the start"),
        Binding("o", "report", "report"),
        Binding("m", "save", "save report"),
        Binding("L", "label", "name it", priority=True),
        Binding("I", "import", "import a file"),
        Binding("F", "fleet", "many nodes", show=False),
        Binding("W", "nights", "nights of the host", show=False),
        Binding("slash", "filter", "filter", priority=True),
        Binding("R", "again", "read again", show=False),
    ]
    title_words = "recordings"

    def __init__(self) -> None:
        super().__init__()
        self._paths: dict[str, Path] = {}
        self._marks: dict[str, str] = {}  # "A" or "B", by row
        self._unread: list[tuple[str, recordings.Listed]] = []  # headlines still to be read, the newest first
        self._told: dict[str, RecordingAnswer] = {}
        self._listed: dict[str, Listing] = {}  # by row

    def body(self) -> Iterable[Widget]:
        yield RecordingPicker(
            id="recordings", title="RECORDINGS", empty="none yet: a scenario makes the first"
        )
        yield Preview(id="preview")

    def on_mount(self) -> None:
        self.query_one(Picker).focus()
        self.action_again()
        self.set_interval(READ_EVERY_S, self._read)

    def _read(self) -> None:
        """One headline at a time: a list of many must open at once, and keys come first."""
        if self._unread:
            name, entry = self._unread.pop(0)
            self._told[name] = _read(entry)
            if not self._unread or len(self._told) % DRAWN_EVERY == 0:
                self.show()

    def on_picker_moved(self) -> None:
        """What is older than the newest is read when somebody looks at it."""
        one = self.under_cursor
        if one is not None and one.name not in self._told:
            self._unread.insert(0, (one.name, one.entry))
        self.query_one(Preview).redraw()

    @property
    def under_cursor(self) -> Listing | None:
        return self._listed.get(self.query_one(Picker).selected)

    def told_lines(self, one: Listing, width: int) -> list[Line]:
        read = self._told.get(one.name, UNREAD)
        without = (
            "under way: Enter follows it" if one.entry.state == "running" else one.entry.reason or _NOTHING
        )
        words = clean(read.answer.sentence if read.answer is not None else without)
        about = ", ".join(filter(None, (f"of {one.where}", one.host, clean(one.name))))
        out = [*wrapped(words, width, "strong"), *wrapped(about, width, "dim")]
        out += table_of(list(read.table), read.margin, width)
        out += parts_lines(read.tables, width)
        out += sign_lines(read.signs, width)
        out += next_lines(read.steps, width, 6 * len(read.steps), digits=False)
        for finding in read.found:
            head = severity_words(finding)
            rows = wrapped(clean(finding.title), width - cells(head) - 2)
            out.append([*head, ("  ", "text"), *rows[0]])
            below = [
                *rows[1:],
                *(row for e in finding.evidence for row in wrapped(e.text, width - cells(head) - 2, "dim")),
            ]
            out += [[(" " * (cells(head) + 2), "text"), *row] for row in below]
        evidence = read.answer.finding.evidence if read.answer and read.answer.finding else ()
        return [*out, *(row for e in evidence for row in wrapped(e.text, width, "dim", hang=2))]

    def action_again(self) -> None:
        rows: list[PickerRow] = []
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

    def _row(self, key: str, one: Listing, words: str) -> PickerRow:
        self._paths[key], self._listed[key] = one.entry.path, one
        if one.name not in self._told and len(self._unread) < HEADLINES:
            self._unread.append((one.name, one.entry))
        return PickerRow(
            key,
            partial(_marked, self._marks, key, partial(_line, one, self._told)),
            f"{one.name} {one.entry.label} {words}",
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
        if action in ("delete", "label"):
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

    def action_label(self) -> None:
        """A short text: "before firmware"."""
        path, one = self.chosen, self.under_cursor
        if path is None or one is None:
            return

        def called(words: str | None) -> None:
            if words is None:
                return
            try:
                recordings.call(path, words)
            except Failure as why:
                self.shell.say(why.text)
                return
            self.action_again()

        hint = 'a short text, as "before firmware"; empty takes it away; Esc cancels'
        self.app.push_screen(AskScreen("name", one.entry.label, hint=hint), called)

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
        hint = "a result of fio, IO500, IOR, mdtest, HEPscore, prmon, sar, …; Enter imports it, Esc cancels"
        self.app.push_screen(AskScreen("import", hint=hint), self._import)

    def action_fleet(self) -> None:
        """A folder of many nodes' recordings or triages."""
        hint = "a folder of a fleet run, or of many nodes' recordings or triages; Esc cancels"
        self.app.push_screen(AskScreen("folder", hint=hint), self._fleet)

    def action_nights(self) -> None:
        """What `hostdx watch` recorded here, else the battery's recordings of the selected one's host."""
        from app.tui.screens.many.history import ask

        path = self.chosen
        own = os.uname().nodename
        host = own if path is None or self._bundled() else recordings.examined(path).host or own
        ask(self, [host])

    def _fleet(self, name: str | None) -> None:
        if name:
            self.shell.open_fleet(Path(name).expanduser())

    def _import(self, name: str | None) -> None:
        if name:
            self.shell.import_file(Path(name).expanduser(), self._imported)
