"""The end of a recording whose runner was killed: written by who undoes it, so that no viewer waits for ever."""

import os
import stat
from contextlib import suppress
from pathlib import Path

import msgspec

from hostdx.app.recordings.limits import LINE_LIMIT
from hostdx.app.recordings.writer import encode_event
from hostdx.app.undo.journal import JournalHeader
from hostdx.app.undo.undo import PATIENCE_S, UndoneEntry, lock_journal, undo_entries
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.ranges import Seconds

KILLED = "the runner was killed, or the power was cut"
ENDED = ev.RunEnded.__struct_config__.tag


class _LastEvent(msgspec.Struct):
    """What of a recording's last line is needed, whatever its type."""

    type: str
    t: Seconds


def undo_killed_run(path: Path) -> list[UndoneEntry]:
    """All that a dead run left in this journal, undone, and the end of its recording. Raises JournalLocked, Failure."""
    journal = lock_journal(path, PATIENCE_S)
    if journal is None:
        return []
    try:
        done = undo_entries(journal)
    finally:
        journal.close()
    with suppress(OSError):
        write_ending(journal.header, done)
    return done


def write_ending(header: JournalHeader, undone: list[UndoneEntry]) -> None:
    """Takes half a line back and appends what was undone, and the end, unless it has one. Raises OSError."""
    if not header.recording:
        return
    descriptor = os.open(header.recording, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid():
            return
        complete, last = _complete_length_and_last_event(descriptor, status.st_size)
        if last is None or last.type == ENDED:
            return
        os.ftruncate(descriptor, complete)
        os.lseek(descriptor, 0, os.SEEK_END)
        ending = _ending_events(last.t, undone)  # the run ended when it was killed, whenever it is undone
        os.write(descriptor, b"".join(encode_event(event) for event in ending))
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _complete_length_and_last_event(descriptor: int, size: int) -> tuple[int, _LastEvent | None]:
    """The length up to the last line end, and the last event."""
    start = max(0, size - 2 * LINE_LIMIT)
    tail = os.pread(descriptor, size - start, start)
    end = tail.rfind(b"\n") + 1
    try:
        last = msgspec.json.decode(tail[tail.rfind(b"\n", 0, max(0, end - 1)) + 1 : end], type=_LastEvent)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return start + end, None
    return start + end, last


def _ending_events(t: float, done: list[UndoneEntry]) -> list[ev.AnyEvent]:
    events: list[ev.AnyEvent] = [
        ev.ActionEvent(
            t=t, id=u.entry.id, action=u.entry.action, state=u.outcome.state, reason=u.outcome.reason
        )
        for u in done
    ]
    failed = sum(1 for u in done if u.outcome.state == "failed")
    rest = f"; {failed} could not be undone, run `hostdx undo`" if failed else "; everything was undone"
    events.append(ev.RunEnded(t=t, status="failed", reason=KILLED + rest, exit=137))
    return events
