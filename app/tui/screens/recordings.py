"""Recordings: the runs under way, the earlier ones, and the demos that come with hostdx."""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import NamedTuple

from textual.binding import Binding
from textual.widget import Widget

from hostdx.app.feature import import_and_call, screens_at
from hostdx.app.recordings import store as recordings
from hostdx.app.report.forms.cells import parts_lines
from hostdx.app.report.headline import (
    STATE_WEIGHTS,
    HeadlineAnswer,
    read_recording_answer,
    recording_state_answer,
)
from hostdx.app.report.next_steps import list_remedies
from hostdx.app.report.validity import TrustSign, list_trust_signs
from hostdx.app.terminal.failure import Failure
from hostdx.app.terminal.glyphs import SIGNS, clean_text
from hostdx.app.terminal.lines import (
    Line,
    crop_line,
    fit_line,
    frame_rows,
    line_with_key_names,
    split_line,
    text_line,
    wrap_text,
)
from hostdx.app.tui.details import next_step_lines, sign_lines
from hostdx.app.tui.screens.ask import AskScreen, ChoiceScreen
from hostdx.app.tui.screens.base import SAVE_BINDINGS, Base
from hostdx.app.tui.widgets.home.findings_panel import full_finding_lines
from hostdx.app.tui.widgets.home.recordings_line import BAR, ENDS, interval_line
from hostdx.app.tui.widgets.measuring.standing import margin_of
from hostdx.app.tui.widgets.measuring.transport import format_clock
from hostdx.app.tui.widgets.panel import DrawnPanel, has_borders
from hostdx.app.tui.widgets.picker import Picker, PickerRow
from hostdx.app.tui.widgets.verdict_list import EffectRow, list_effects, table_of
from hostdx.scenarios.contract.card import card_of
from hostdx.scenarios.contract.finding import Finding, Remedy
from hostdx.scenarios.contract.results.document import Part

HEADLINES = 40  # of the newest: each is read whole for it
READ_EVERY_S = 0.04
_WIDE = 100  # cells from which on the year has room
_NAME = 20  # cells
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

    answer: HeadlineAnswer | None = None
    table: tuple[EffectRow, ...] = ()
    margin: float = 0.0
    other_findings: tuple[Finding, ...] = ()
    signs: tuple[TrustSign, ...] = ()
    steps: tuple[Remedy, ...] = ()
    tables: tuple[Part, ...] = ()  # of its results, as they stand on the first page


UNREAD = RecordingAnswer()


def _read_answer_and_effects(entry: recordings.ListedRecording) -> RecordingAnswer:
    answer, session = read_recording_answer(entry)
    try:
        table, signs = tuple(list_effects(session)), tuple(list_trust_signs(session))
    except (ArithmeticError, LookupError, TypeError, ValueError):  # foreign figures: the list goes on
        return RecordingAnswer(answer)
    answered_finding = answer.finding if answer is not None else None
    other_findings = tuple(f for f in session.worst_first if f != answered_finding)
    steps = list_remedies(session, recordings.shortest_name(entry.path)) if answer is not None else ()
    sections = filter(None, (result.section_on_top(session.time) for result in session.results.values()))
    tables = tuple(part for section in sections for part in section.parts)
    return RecordingAnswer(answer, table, margin_of(session), other_findings, signs, steps, tables)


class RecordingRow(NamedTuple):
    """One row; `sign` and `role` say how it stands."""

    entry: recordings.ListedRecording
    name: str
    sign: str
    role: str
    searched: str

    @property
    def measured_place(self) -> str:
        """The directories that were measured, else the host, else the recording's name."""
        entry = self.entry
        return " : ".join(entry.directories) or entry.host or entry.name

    @property
    def host_text(self) -> str:
        return f"on {self.entry.host}" if self.entry.host and self.entry.directories else ""

    @property
    def is_example(self) -> bool:
        return self.role == EXAMPLE


def _recording_line(listing: RecordingRow, answer: HeadlineAnswer | None, width: int) -> Line:
    entry = listing.entry
    when = clean_text(entry.wall[:16].replace("T", " ")) or "?"
    if width < _WIDE:
        when = when[5:] or "?"
    # an example by the name that the commands take
    name, role = (listing.name, EXAMPLE) if listing.is_example else (entry.scenario, "strong")
    left: Line = [*fit_line(crop_line(text_line(name, role), _NAME), _NAME + 1), (f"{when}  ", "dim")]
    how_it_ended = recording_state_answer(entry) if entry.state in STATE_WEIGHTS and answer is None else None
    if how_it_ended is not None:  # the run, and not the directory, failed
        left.append((f"{SIGNS.get(how_it_ended.weight, '?')} ", how_it_ended.weight))
    elif entry.state != "done" and not listing.is_example:
        # the answer says in words how it ended
        sign = listing.sign.partition(" ")[0] if answer is not None else listing.sign
        left.append((f"{sign} ", listing.role))
    elif answer is not None:
        left.append((f"{SIGNS.get(answer.weight, '?')} ", answer.weight))
    if entry.label:
        left.append((f"{entry.label}  ", "accent"))
    if answer is not None:
        left.append((answer.sentence, "text"))
    elif how_it_ended is not None:
        left += [(how_it_ended.sentence, "text"), (f"  {listing.measured_place}", "dim")]
    else:
        left.append((listing.measured_place, "text"))
    timeless = entry.state == "unreadable" or card_of(entry.scenario).role == "import"
    took: Line = fit_line(text_line("" if timeless else format_clock(entry.seconds), "dim"), len("00:00"))
    verdict = answer.verdict if answer is not None and width >= _WIDE else None
    if verdict is None or answer is None or not verdict.ratio:  # the sentence has the room of the interval
        return split_line(left, took, width)
    drawn = interval_line(verdict.ratio, verdict.ci95, answer.weight)
    return split_line(left, [*fit_line(drawn, BAR), ("  ", "text"), *took], width)


class RecordingsScreen(Base):
    DEFAULT_CSS = """
    RecordingsScreen Picker { height: auto; max-height: 60%; }
    RecordingsScreen #preview { height: 1fr; min-height: 3; }
    """
    BINDINGS = [
        Binding("c,C", "compare", "compare", show=False),  # in the footer once both sides are marked
        Binding("space", "mark", "mark to compare"),
        Binding("delete,D", "delete", "delete"),
        Binding("0", "replay", "replay from the start"),
        Binding("o", "report", "report"),
        *SAVE_BINDINGS,
        Binding("L", "label", "name it", priority=True),
        Binding("I", "import", "import a file"),
        *(
            Binding(screen.key, f"feature({screen.name!r})", screen.title, show=False)
            for screen in screens_at("recordings")
        ),
        Binding("slash", "filter", "filter", priority=True),
        Binding("R", "again", "read again", show=False),
    ]
    title_words = "recordings"
    late_in_footer = ("report", "replay", "delete", "label", "import")

    def __init__(self) -> None:
        super().__init__()
        self._listed: dict[str, RecordingRow] = {}  # by the row's key
        self._rows: list[PickerRow] = []  # of all that is listed
        self._marks: dict[str, str] = {}  # "A" or "B", by the row's key
        self._has_compared = False  # what is marked now
        self._unread: list[RecordingRow] = []  # headlines still to be read, the newest first
        self._answers: dict[str, RecordingAnswer] = {}

    def compose_body(self) -> Iterable[Widget]:
        yield Picker(
            id="recordings", title="RECORDINGS", empty="none yet: a scenario makes the first",
            list_rows=lambda: self._rows, draw_heads=self._column_heads_line,
        )  # fmt: skip
        yield DrawnPanel(self._preview_lines, id="preview")

    def on_mount(self) -> None:
        self.action_again()
        self.set_interval(READ_EVERY_S, self._read_next_answer)

    def _marked_line(self, key: str, listing: RecordingRow, width: int) -> Line:
        """The row, with its side of the comparison before it."""
        answer = self._answers.get(listing.name, UNREAD).answer
        return [(f"{self._marks.get(key, ' ')} ", "accent"), *_recording_line(listing, answer, width - 2)]

    def _column_heads_line(self, width: int) -> list[Line]:
        """The scale of the intervals, where there is room for them."""
        if width - 2 < _WIDE or not self._listed:
            return []
        heads = f"    {'recording':<{_NAME}} {'began (UTC)':<16}  answer"
        return [split_line(text_line(heads, "dim"), text_line(f"{ENDS}  {'took':>5}", "dim"), width)]

    def _preview_lines(self, width: int, height: int) -> list[Line]:
        """Of the recording under the cursor: its headline whole, where and when, every effect, then what was found."""
        listing = self.under_cursor
        if not has_borders(self):
            return self._preview_content(listing, width)[:height] if listing is not None else []
        rows = self._preview_content(listing, width - 4) if listing is not None else []
        if len(rows) > height - 2:
            rows = [*rows[: height - 3], self._open_answer_hint]
        name = text_line(listing.entry.label or listing.name if listing is not None else "", "dim")
        return frame_rows("WHAT IT FOUND", rows, width, height, note=name)

    def _preview_content(self, listing: RecordingRow, width: int) -> list[Line]:
        read, entry = self._answers.get(listing.name, UNREAD), listing.entry
        if read.answer is None and entry.state == "running":
            out = [line_with_key_names("under way: [Enter] follows it", "strong")]
        else:
            sentence = read.answer.sentence if read.answer is not None else entry.reason or _NOTHING
            out = wrap_text(sentence, width, "strong")
        about = ", ".join(filter(None, (listing.measured_place, listing.host_text, listing.name)))
        out += wrap_text(about, width, "dim")
        out += table_of(list(read.table), read.margin, width)
        out += parts_lines(read.tables, width)
        out += sign_lines(read.signs, width)
        out += next_step_lines(read.steps, width, 6 * len(read.steps), digits=False)
        for finding in read.other_findings:
            out += full_finding_lines(finding, {}, width)
        evidence = read.answer.finding.evidence if read.answer and read.answer.finding else ()
        return [*out, *(row for e in evidence for row in wrap_text(e.text, width, "dim", hang=2))]

    def _read_next_answer(self) -> None:
        """One headline at a time: a list of many must open at once, and keys come first."""
        if self._unread:
            listing = self._unread.pop(0)
            self._answers[listing.name] = _read_answer_and_effects(listing.entry)
            if not self._unread or len(self._answers) % DRAWN_EVERY == 0:
                self._rebuild_rows()
                self.show()

    def on_picker_moved(self) -> None:
        """What is older than the newest is read when somebody looks at it."""
        listing = self.under_cursor
        if listing is not None and listing.name not in self._answers:
            self._unread.insert(0, listing)

    @property
    def under_cursor(self) -> RecordingRow | None:
        return self._listed.get(self.query_one(Picker).selected_key)

    def action_again(self) -> None:
        self._listed.clear()
        for entry in recordings.list_recordings():
            words = f"{entry.state} {entry.scenario} {entry.host} {entry.wall} {' '.join(entry.directories)}"
            searched = f"{entry.name} {entry.label} {words}"
            self._listed[str(entry.path)] = RecordingRow(entry, entry.name, *_SIGNS[entry.state], searched)
        for name in recordings.list_demo_arguments():
            entry = recordings.examine_recording(recordings.resolve_recording(name))
            self._listed[name] = RecordingRow(entry, name, "example", EXAMPLE, f"{name} {entry.label} demo")
        self._rebuild_rows()
        self._unread = [row for row in self._listed.values() if row.name not in self._answers][:HEADLINES]
        self.show()

    def _rebuild_rows(self) -> None:
        """A row a recording; the filter knows its headline as soon as that has been read."""
        self._rows = []
        for key, listing in self._listed.items():
            answer = self._answers.get(listing.name, UNREAD).answer
            searched = f"{listing.searched} {answer.sentence}" if answer is not None else listing.searched
            self._rows.append(PickerRow(key, partial(self._marked_line, key, listing), searched))

    def _reread_if_in_use(self) -> None:
        if self.is_in_use:
            self.action_again()

    def action_mark(self) -> None:
        """The first is side A, the next ones B; once more the other side, then none. Of one each the older is A."""
        key = self.query_one(Picker).selected_key
        if key not in self._listed:
            return
        before = self._marks.pop(key, None)
        first = "B" if "A" in self._marks.values() else "A"
        other = {"A": "B", "B": "A"}
        following = first if before is None else other[before] if before == first else None
        if following is not None:
            self._marks[key] = following
        if before is None and sorted(self._marks.values()) == ["A", "B"]:
            older, newer = sorted(self._marks, key=lambda name: self._listed[name].entry.wall)
            self._marks = {older: "A", newer: "B"}
        self.show()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action in ("delete", "label"):
            listing = self.under_cursor
            return listing is not None and not listing.is_example
        return True

    def is_added_to_footer(self, action: str) -> bool:
        return action == "compare" and self.has_both_sides

    def footer_words(self, binding: Binding) -> str:
        is_choice = binding.action == "choose" and self.has_both_sides
        return "compare them" if is_choice else binding.description

    @property
    def has_both_sides(self) -> bool:
        return {"A", "B"} <= set(self._marks.values())

    @property
    def _open_answer_hint(self) -> Line:
        return line_with_key_names(f"[{'o' if self.has_both_sides else 'Enter'}] opens the whole answer")

    def _marks_or_counts_line(self) -> Line:
        """Return what is listed, or what the marks are good for."""
        if self.has_both_sides:
            return line_with_key_names("A is the baseline: [Enter] or [c] compares B with it", "accent")
        if self._marks:
            marked, other = "AB" if "A" in self._marks.values() else "BA"
            if marked == "A" and list(self._marks.values()) == ["A"]:
                return line_with_key_names(
                    "marked: [space] marks another; the earlier run becomes A", "accent"
                )
            return line_with_key_names(f"{marked} is marked: [space] on another row marks {other}", "accent")
        own = sum(not row.is_example for row in self._listed.values())
        return [(f"{own} recorded here, {len(self._listed) - own} examples", "dim")]

    def show(self) -> None:
        self.query_one(Picker).note = self._marks_or_counts_line()
        super().show()

    def action_delete(self) -> None:
        """Only a file of the list, and never one that is being written."""
        path = self.recording_of_report
        if path is None:
            return
        if recordings.examine_recording(path).state == "running":
            self.shell.show_message("it is being written: stop the run first")
            return

        def delete_confirmed(key: str | None) -> None:
            if key != "y":
                return
            try:
                recordings.delete_recording_and_parts(path)
            except OSError as why:
                self.shell.show_message(f"not deleted: {path}: {why.strerror or str(why)}")
                return
            self._marks.pop(str(path), None)
            self.action_again()
            self.shell.show_message(f"deleted {path.name}")

        question = f"Delete {clean_text(path.name)} for good?"
        self.app.push_screen(ChoiceScreen(question, {"y": "delete it"}, "Esc keeps it"), delete_confirmed)

    def action_label(self) -> None:
        """A short text: "before firmware"."""
        listing = self.under_cursor
        if listing is None:
            return
        entry = listing.entry

        def set_label(words: str | None) -> None:
            if words is None:
                return
            try:
                recordings.set_label(entry.path, words)
            except Failure as why:
                self.shell.show_message(why.text)
                return
            self.action_again()

        hint = 'a short text, as "before firmware"; empty takes it away; Esc cancels'
        self.app.push_screen(AskScreen("name", entry.label, hint=hint), set_label)

    def action_compare(self) -> None:
        a, b = (
            [self._listed[key].entry.path for key, side in self._marks.items() if side == wanted]
            for wanted in "AB"
        )
        if a and b:
            self._has_compared = True
            self.shell.open_comparison(a, b)
        else:
            self.shell.show_message(
                "mark two recordings with space: the older one is A (before, baseline), the newer one B"
            )

    def on_screen_resume(self) -> None:
        """Back from a comparison, the next one begins without marks."""
        if self._has_compared:
            self._marks.clear()
            self._has_compared = False
            self.show()

    @property
    def recording_of_report(self) -> Path | None:
        listing = self.under_cursor
        return listing.entry.path if listing is not None else None

    def on_picker_chosen(self) -> None:
        """Enter takes what is marked, as in the list of directories; without both marks it opens the row."""
        if self.has_both_sides:
            self.action_compare()
        elif self.recording_of_report is not None:
            self.shell.open_recording(self.recording_of_report)

    def action_replay(self) -> None:
        if self.recording_of_report is not None:
            self.shell.open_recording(self.recording_of_report, plays=True)

    def action_import(self) -> None:
        """Another tool's result as one more recording."""
        hint = "a result of fio, IO500, IOR, mdtest, HEPscore, prmon, sar, …; Enter imports it, Esc cancels"
        self.app.push_screen(AskScreen("import", hint=hint), self._import_file)

    def _import_file(self, name: str | None) -> None:
        if name:
            self.shell.import_file(Path(name).expanduser(), self._reread_if_in_use)

    def action_feature(self, name: str) -> None:
        """Open the screen of a feature."""
        screen = next(screen for screen in screens_at("recordings") if screen.name == name)
        import_and_call(screen.target, self)

    @property
    def chosen_host(self) -> str:
        """The host of the selected recording; this host for an example or none."""
        listing, own = self.under_cursor, os.uname().nodename
        return own if listing is None or listing.is_example else listing.entry.host or own
