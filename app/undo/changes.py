"""A run's changes to the host: only with consent, locked, journalled before, undone after, watched by a supervisor."""

import threading
import time
from collections.abc import Callable
from fnmatch import fnmatchcase

from hostdx.app.locks import LockFile, lock_name
from hostdx.app.state import journal_dir, make_private_dir
from hostdx.app.terminal.failure import Failure, UndoIncomplete
from hostdx.app.terminal.process import is_living
from hostdx.app.undo import effects, undo
from hostdx.app.undo.journal import Journal, JournalEntry, JournalHeader, UndoOutcome
from hostdx.app.undo.supervisor import SupervisorProcess
from hostdx.scenarios.contract.action import Action
from hostdx.scenarios.contract.model import AppliedChange
from hostdx.scenarios.contract.plan import Plan

END_S = 5.0  # what a stuck device gets at the run's end before its undoing is left to the supervisor
LOOK_S = 0.05


class HostChanges:
    """Made for one run; safe to call from several threads. `apply_action` raises Failure and then
    nothing is changed.
    """

    def __init__(
        self,
        *,
        plan: Plan,
        consented: bool,
        header: JournalHeader,
        lies_on: Callable[[str], str],
        warn: Callable[[str], None],
    ) -> None:
        """`lies_on(target)`: why the journal must not be trusted with a change to that target; empty where it may."""
        self._plan = plan
        self._consented = consented
        self._header = header
        self._lies_on = lies_on
        self._warn = warn
        self._journal: Journal | None = None
        self._guardian: SupervisorProcess | None = None
        self._locks: dict[str, tuple[LockFile, int]] = {}
        self._mutex = threading.Lock()
        self._stop = threading.Event()
        self._count = 0

    def apply_action(self, action: Action) -> AppliedChange:
        with self._mutex:
            self._refuse_unagreed_change(action)
            journal = self._journal_with_supervisor()
            self._count += 1
            identifier = f"{self._header.run}#{self._count}"
            if action.consent:
                self._lock_target(action)
            try:
                entry = effects.prepare_entry(action, identifier)
                journal.record_intent(entry)
            except (effects.ChangeNotMade, Failure) as why:
                self._unlock_target(action)
                raise Failure(str(why)) from None
            return self._carry_out_or_undo(journal, entry)

    def break_off_command(self) -> None:
        """The run is stopped: a command under way that cannot be undone anyway is ended."""
        self._stop.set()

    def revert_action(self, identifier: str) -> UndoOutcome:
        with self._mutex:
            journal = self._journal_with_supervisor()
            entry = journal.find_entry(identifier)
            outcome = undo.undo_entry(journal, entry)
            if outcome.state != "failed":
                self._unlock_target(entry.action)
            return outcome

    def keep_all(self, until: str) -> None:
        """All that was made stays, on purpose: `undo` lists it and leaves it until the command `until`."""
        with self._mutex:
            if self._journal is not None:
                self._journal.mark_kept(until)

    def retry_open(self) -> list[undo.UndoneEntry]:
        """At the run's end: what is still open, once more, after a bounded wait for what hangs at it."""
        with self._mutex:
            journal = self._journal
            if journal is None or not journal.open_entries:
                return []
            until = time.monotonic() + END_S
            while time.monotonic() < until and any(
                is_living(w) for e in journal.open_entries for w in e.writers
            ):
                time.sleep(LOOK_S)
            return undo.undo_entries(journal)

    def close_journal(self) -> list[JournalEntry]:
        """Ends the journal; what is still open could not be undone."""
        with self._mutex:
            if self._journal is None:
                return []
            left = [] if self._journal.header.kept else self._journal.open_entries
            self._journal.close()
            if self._guardian is not None:
                if left:
                    self._guardian.hand_over()
                else:
                    self._guardian.end_watch()
            self._journal = None
            return left

    def _carry_out_or_undo(self, journal: Journal, entry: JournalEntry) -> AppliedChange:
        try:
            entry = effects.carry_out_entry(entry, (journal.descriptor,), self._stop)
        except effects.ChangeNotMade as why:
            if why.writer is not None:
                # What is there now may be changed by that child a moment later: this is known when it is gone.
                journal.record_hanging(entry.id, why.writer)
                raise UndoIncomplete(
                    f"{why}; it may still happen when the device answers", entry.id
                ) from None
            outcome = undo.undo_entry(journal, entry)
            if outcome.state == "failed":
                raise UndoIncomplete(
                    f"{why}; and it could not be undone: {outcome.reason}", entry.id
                ) from None
            self._unlock_target(entry.action)
            raise Failure(str(why)) from None
        journal.record_made(entry)
        return AppliedChange(id=entry.id, action=entry.action, value=entry.value, inode=entry.inode)

    def _refuse_unagreed_change(self, action: Action) -> None:
        if not action.needs_consent:
            return
        if not self._consented:
            effect_text = "changes a setting of this host" if action.consent else action.risk
            raise Failure(f"{action.title}: {effect_text} and was not confirmed; add --yes")
        if not any(_is_as_planned(planned, action) for planned in self._plan.actions):
            raise Failure(f"{action.title}: {action.target}: is not in the plan that was agreed to; not done")
        if action.kind == "attribute" and (why := self._lies_on(action.target)):
            raise Failure(why)

    def _journal_with_supervisor(self) -> Journal:
        if self._journal is None:
            path = make_private_dir(journal_dir()) / f"{self._header.run}.jsonl"
            self._journal = Journal.create_new(path, self._header)
            self._guardian = SupervisorProcess(path)
            if not self._guardian.ready:
                self._warn(f"{path}: no supervisor could be started; after a kill -9 run `hostdx undo`")
        return self._journal

    def _lock_target(self, action: Action) -> None:
        name = lock_name(action.target)
        if name in self._locks:
            lock, count = self._locks[name]
        else:
            subject = f"{action.target} is being changed"
            lock, count = LockFile(name, subject, self._plan.scenario, self._header.run), 0
        self._locks[name] = (lock, count + 1)

    def _unlock_target(self, action: Action) -> None:
        name = lock_name(action.target)
        if not action.consent or name not in self._locks:
            return
        lock, count = self._locks.pop(name)
        if count > 1:
            self._locks[name] = (lock, count - 1)
        else:
            lock.release_lock()


def _is_as_planned(planned: Action, action: Action) -> bool:
    """The planned action is what is about to be done: same kind and target, and nothing else written or run."""
    if planned.kind != action.kind or planned.resource != action.resource:
        return False
    if planned.target != action.target and not fnmatchcase(action.target, planned.target):
        return False
    return planned.new in (None, action.new) and planned.apply in ((), action.apply)
