"""Undoing what a dead run left behind, in reverse order, by its journal."""

import time
from pathlib import Path

import msgspec

from hostdx.app.state import journal_dir
from hostdx.app.terminal.failure import Failure
from hostdx.app.terminal.process import ProcessIdentity, boot_id, is_living
from hostdx.app.undo import effects
from hostdx.app.undo.change_report import UndoneChange
from hostdx.app.undo.journal import (
    Journal,
    JournalEntry,
    JournalHeader,
    JournalLocked,
    UndoOutcome,
    list_journals,
    peek_journal,
)

PATIENCE_S = 10.0


class UndoneEntry(msgspec.Struct, frozen=True):
    """One entry and how undoing it went (or would go)."""

    entry: JournalEntry
    outcome: UndoOutcome

    @property
    def change_report(self) -> UndoneChange:
        return UndoneChange(
            title=self.entry.action.title,
            state=self.outcome.state,
            reason=self.outcome.reason,
            id=self.entry.id,
        )


class Leftover(msgspec.Struct, frozen=True):
    """A journal that still has open entries. `living`: its runner is still there."""

    path: Path
    header: JournalHeader
    entries: tuple[JournalEntry, ...]
    living: bool

    @property
    def setting_entries(self) -> tuple[JournalEntry, ...]:
        """The entries that a measurement or another change would meet: everything but private directories."""
        return tuple(entry for entry in self.entries if entry.action.consent)

    @property
    def is_open(self) -> bool:
        """Something is left that is to be undone."""
        return bool(self.entries) and not self.header.kept


def find_leftovers() -> tuple[list[Leftover], list[str]]:
    """Every journal in the state directory, and a line for each that cannot be read."""
    journals_left: list[Leftover] = []
    troubles: list[str] = []
    try:
        paths = list_journals(journal_dir())
    except Failure as why:
        return [], [why.text]
    for path in paths:
        try:
            header, entries = peek_journal(path)
        except Failure as why:
            if path.exists():
                troubles.append(why.text)
            continue
        journals_left.append(Leftover(path, header, tuple(entries), is_living(header.who)))
    return journals_left, troubles


def remove_empty_journal(leftover: Leftover) -> None:
    """Removes the journal of a run that was killed before it changed anything."""
    if leftover.living or leftover.entries:
        return
    try:
        journal = lock_journal(leftover.path)
    except (JournalLocked, Failure):
        return
    if journal is not None:
        journal.close()


def undo_entry(journal: Journal, entry: JournalEntry) -> UndoOutcome:
    """Undoes it and strikes it out; what fails stays open, with the child that hangs at it."""
    outcome = effects.revert_entry(entry, (journal.descriptor,), journal)
    if outcome.state != "failed":
        journal.strike_out(entry.id, outcome)
    elif outcome.writer is not None:
        journal.record_hanging(entry.id, outcome.writer)
    return outcome


def lock_journal(path: Path, patience_s: float = 0.0) -> Journal | None:
    """The journal with its lock; None when it is gone meanwhile. Raises JournalLocked.

    A dying runner holds the lock for the moment in which its last thread goes, a child that was
    writing for it until that is done, its supervisor while it undoes.
    """
    deadline = time.monotonic() + patience_s
    while True:
        try:
            return Journal.lock_existing(path)
        except JournalLocked:
            if time.monotonic() >= deadline:
                raise
            time.sleep(0.05)


def undo_entries(journal: Journal, *, include_kept: bool = False) -> list[UndoneEntry]:
    """Undoes every open entry, last first, and strikes it out; what fails stays open.
    `include_kept`: those as well that stay on purpose."""
    if journal.header.kept and not include_kept:
        return []
    rebooted = is_from_earlier_boot(journal.header.who)
    done: list[UndoneEntry] = []
    for entry in reversed(journal.open_entries):
        outcome = _outcome_if_undone_by_reboot(entry) if rebooted else None
        if outcome is None:
            outcome = undo_entry(journal, entry)
        else:
            journal.strike_out(entry.id, outcome)
        done.append(UndoneEntry(entry, outcome))
    return done


def forget_entries(journal: Journal, identifier: str) -> list[UndoneEntry]:
    """Strikes out the run's open entries, or the one of that id, and leaves what they are about as it is."""
    done: list[UndoneEntry] = []
    for entry in reversed(journal.open_entries):
        if identifier in (journal.header.run, entry.id):
            outcome = UndoOutcome("kept", "forgotten on request: left as it is")
            journal.strike_out(entry.id, outcome)
            done.append(UndoneEntry(entry, outcome))
    return done


def is_from_earlier_boot(runner: ProcessIdentity) -> bool:
    return bool(runner.boot_id) and runner.boot_id != boot_id()


def hanging_child_pids(path: Path) -> list[int]:
    """The children that are still at a change on a device that does not answer."""
    try:
        _, entries = peek_journal(path)
    except Failure:
        return []
    return [writer.pid for entry in entries for writer in entry.writers if is_living(writer)]


def preview_undo(leftover: Leftover) -> list[UndoneChange]:
    """Return what `undo` would do, in its order, in words; changes nothing."""
    if until := leftover.header.kept:
        return [
            UndoneChange(
                title=entry.action.title,
                state="kept",
                reason=f"on purpose; `{until}` removes it",
                on_purpose=True,
                id=entry.id,
            )
            for entry in leftover.entries
        ]
    rebooted = is_from_earlier_boot(leftover.header.who)
    return [
        UndoneChange(
            title=entry.action.title, state="open", would=_planned_undo_text(entry, rebooted), id=entry.id
        )
        for entry in reversed(leftover.entries)
    ]


def _outcome_if_undone_by_reboot(entry: JournalEntry) -> UndoOutcome | None:
    if effects.survives_reboot(entry.action):
        return None
    return UndoOutcome("reverted", "the reboot has undone it")


def _planned_undo_text(entry: JournalEntry, rebooted: bool) -> str:
    if rebooted and _outcome_if_undone_by_reboot(entry) is not None:
        return "forget it: the reboot has undone it"
    action = entry.action
    if action.kind == "attribute":
        return f"write {entry.old!r} back to {action.target}, unless another program changed it meanwhile"
    if action.kind == "command":
        return f"run `{' '.join(action.undo)}`" if action.undo else "forget it: it cannot be undone"
    return f"remove the {action.resource} {entry.value}"
