"""The end of a recording whose runner was killed: written by the supervisor, so that no viewer waits for ever."""

from __future__ import annotations

import os
import stat
import time

from app.journal import Header
from app.recorder import encoded
from app.undo import Undone
from scenarios import events as ev

KILLED = "the runner was killed"


def write(header: Header, done: list[Undone]) -> None:
    """Takes half a line back and appends what was undone, and the end. Raises OSError."""
    if not header.recording:
        return
    descriptor = os.open(header.recording, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid():
            return
        os.ftruncate(descriptor, _complete(descriptor, found.st_size))
        os.lseek(descriptor, 0, os.SEEK_END)
        os.write(descriptor, b"".join(encoded(event) for event in _events(header, done)))
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _complete(descriptor: int, size: int) -> int:
    """The length up to the last line end; lines are shorter than 1 MiB."""
    start = max(0, size - (1 << 20))
    tail = os.pread(descriptor, size - start, start)
    return start + tail.rfind(b"\n") + 1


def _events(header: Header, done: list[Undone]) -> list[ev.AnyEvent]:
    t = max(0.0, time.monotonic() - header.began_s)
    events: list[ev.AnyEvent] = [
        ev.ActionEvent(
            t=t, id=u.entry.id, action=u.entry.action, state=u.outcome.state, reason=u.outcome.reason
        )
        for u in done
    ]
    failed = sum(1 for u in done if u.outcome.state == "failed")
    rest = f"; {failed} could not be undone, run `hostdx undo`" if failed else "; everything was undone"
    events.append(ev.Ended(t=t, status="failed", reason=KILLED + rest, exit=137))
    return events
