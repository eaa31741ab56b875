"""What a killed run left behind: to undo it now, or to forget it; and what was made to stay."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import msgspec
from textual.binding import Binding
from textual.widget import Widget

from hostdx.app.state import journal_dir
from hostdx.app.terminal.glyphs import clean_text
from hostdx.app.terminal.lines import BLANK, Line, text_line, wrap_text
from hostdx.app.tui.children.event_child import CommandOutcome, run_hostdx
from hostdx.app.tui.screens.ask import ChoiceScreen
from hostdx.app.tui.screens.base import Base
from hostdx.app.tui.widgets.reader import Reader
from hostdx.app.undo.change_report import ChangeReport, UndoneChange
from hostdx.probes import units

_JOURNAL_NAME = re.compile(r"(\d{8})T(\d\d)(\d\d)\d\dZ-([a-z]{1,20})-")
LOOK = ("undo", "--dry-run", "--json")


def parse_all_changes(outcome: CommandOutcome) -> tuple[UndoneChange, ...]:
    """Return all that `undo --json` tells; nothing where it could not be asked."""
    try:
        return msgspec.json.decode(outcome.output, type=ChangeReport).changes
    except msgspec.MsgspecError:
        return ()


def parse_undoable_changes(outcome: CommandOutcome) -> list[UndoneChange]:
    """Return what `undo --json` tells, without what stays on purpose; nothing where it could not be asked."""
    return [change for change in parse_all_changes(outcome) if not change.on_purpose]


def _killed_runs_text(runs: Sequence[str]) -> str:
    """`A run of box (begun 2026-11-29 10:54 UTC) was`: what the name of a journal says of its run."""
    name_matches = [match for run in runs if (match := _JOURNAL_NAME.match(run))]
    if len(name_matches) != 1 or len(runs) != 1:
        return "A run was" if len(runs) < 2 else f"{len(runs)} runs were"
    day, hour, minute, scenario = name_matches[0].groups()
    return f"A run of {scenario} (begun {day[:4]}-{day[4:6]}-{day[6:]} {hour}:{minute} UTC) was"


class UndoScreen(Base):
    BINDINGS = [
        Binding("y", "undo", "undo all of it now"),
        Binding("u", "name_keys", "which key undoes it", show=False),  # held down on home, it must not undo
        Binding("X", "forget", "forget it"),
        Binding("n", "later", "leave it for later"),
    ]
    title_words = "undo"

    def __init__(self, entries: Sequence[UndoneChange], lasting_changes: Sequence[UndoneChange] = ()) -> None:
        """`lasting_changes`: what was made to stay; it is listed, and nothing here touches it."""
        super().__init__()
        self._dicts_in, self._lasting_changes = entries, lasting_changes
        self._status_text = ""  # once it was asked for: how it stands
        self._done: list[UndoneChange] = []
        self._open = bool(entries)  # there is something to undo, and nobody is at it

    def compose_body(self) -> Iterable[Widget]:
        yield Reader(self._undo_lines)

    def _undo_lines(self, width: int) -> list[Line]:
        if self._done:
            return [*self._outcome_lines(width), *self._lasting_change_lines(width)]
        if not self._dicts_in:
            words = self._status_text or "Nothing is left to undo: no killed run has left a change."
            journal: list[Line] = [[("journal  ", "dim"), (clean_text(str(journal_dir())), "text")]]
            return [text_line(words, "ok"), BLANK, *journal, *self._lasting_change_lines(width)]
        out: list[Line] = [
            *wrap_text(
                f"{_killed_runs_text(self._run_ids)} killed before it could undo what it had changed.",
                width,
                "warning",
            ),
            text_line("hostdx can put this back:", "dim"),
            BLANK,
        ]
        for change in self._dicts_in:
            out += wrap_text(change.title, width, "strong", hang=2)
            out += wrap_text(change.would, width, indent=4, hang=2)
            out += wrap_text(change.id, width, "dim", indent=4, hang=2) if change.id else []
        out.append(BLANK)
        if self._status_text:
            return [*out, *wrap_text(self._status_text, width, "strong"), *self._lasting_change_lines(width)]
        keys: Line = [
            ("y", "key"),
            (" undoes it now   ", "text"),
            ("n", "key"),
            (" leaves it for later   ", "text"),
        ]
        if self._run_ids:
            keys += [("X", "key"), (" forgets it: the host stays changed", "text")]
        return [*out, keys, *self._lasting_change_lines(width)]

    def _lasting_change_lines(self, width: int) -> list[Line]:
        if not self._lasting_changes:
            return []
        out: list[Line] = [BLANK, text_line("Made to stay:", "dim")]
        for change in self._lasting_changes:
            out += wrap_text(f"{change.title}: {change.reason}", width, indent=2, hang=2)
        return out

    @property
    def _run_ids(self) -> tuple[str, ...]:
        """The runs that the changes are of, as `undo --forget` takes them."""
        return tuple(dict.fromkeys(change.id.partition("#")[0] for change in self._dicts_in if change.id))

    def _outcome_lines(self, width: int) -> list[Line]:
        out: list[Line] = [text_line("Changes of the run:", "dim"), BLANK]
        for change in self._done:
            sign, role = ("✓", "text") if change.state == "reverted" else ("▲", "warning")
            out += wrap_text(f"{sign} {change.change_line}", width, role, hang=2)
        return [*out, BLANK, *wrap_text(self._status_text, width, "strong")]

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "forget":
            return self._open and bool(self._run_ids)
        return self._open if action in ("undo", "later", "name_keys") else True

    def action_name_keys(self) -> None:
        self.shell.show_message("y undoes all of it now, n leaves it for later")

    def action_later(self) -> None:
        self.action_back()

    def action_forget(self) -> None:
        """Take them out of the journal as they are; asked once more, for nothing can undo them then."""
        runs = self._run_ids

        def take_choice(key: str | None) -> None:
            if key == "y":
                self._open, self._status_text = False, "forgetting"
                self.show()
                forget_next(runs)

        def forget_next(left: tuple[str, ...]) -> None:
            run_hostdx(
                self.app,
                ["undo", "--forget", left[0], "--yes"],
                lambda outcome: show_outcome(outcome, left[1:]),
            )

        def show_outcome(outcome: CommandOutcome, left: tuple[str, ...]) -> None:
            if outcome.error:
                self._status_text, self._open = outcome.error, True
            elif left:
                forget_next(left)
                return
            else:
                self._status_text = "Forgotten: what the run changed stays as it is now."
                self._dicts_in = self.shell.left = []
            self.show()

        count = units.count_noun(len(self._dicts_in), "change")
        question = f"Forget {count}? Nothing undoes them then."
        self.app.push_screen(ChoiceScreen(question, {"y": "forget"}, "Esc keeps them"), take_choice)

    def action_undo(self) -> None:
        def show_outcome(outcome: CommandOutcome) -> None:
            self._done = [change for change in parse_undoable_changes(outcome) if change.state != "failed"]
            self._status_text = outcome.error or "Nothing is left to undo."
            self._open = bool(outcome.error)
            # they stay in the journal
            failed = [change for change in parse_undoable_changes(outcome) if change.state == "failed"]
            self.shell.left = (failed or list(self._dicts_in)) if outcome.error else []
            if self.shell.triage is not None:  # home shows what it found before
                self.shell.read_host()
            self.show()

        self._status_text, self._open = "undoing", False
        self.show()
        run_hostdx(self.app, ["undo", "--json"], show_outcome)
