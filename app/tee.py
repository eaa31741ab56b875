"""`--events FILE|-`: the same lines once more. A slow or closed reader never holds up the run."""

from __future__ import annotations

import errno
import os
import queue
import threading
from collections.abc import Callable

from app import output
from app.failure import Failure
from app.recorder import encoded
from scenarios import events as ev

HURRY_S = 0.5


class Tee:
    """Writes in a thread of its own: a pipe whose reader pauses would otherwise stop the measurement."""

    def __init__(self, where: str, complain: Callable[[str], None]) -> None:
        self._where = where
        self._complain = complain
        self._descriptor = -1
        if where != "-":
            try:
                flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC
                self._descriptor = os.open(where, flags, 0o600)
            except OSError as error:
                raise Failure(f"--events {where}: cannot be written: {error.strerror}") from None
        self._lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._drain, name="events", daemon=True)
        self._thread.start()

    def write(self, event: ev.AnyEvent) -> None:
        self._lines.put(encoded(event))

    def close(self, *, hurry: bool) -> None:
        """Waits for the reader; `hurry` (we were told to stop) only for a moment."""
        self._lines.put(None)
        self._thread.join(HURRY_S if hurry else None)

    def _drain(self) -> None:
        while (line := self._lines.get()) is not None:
            if self._descriptor < 0:
                if not output.raw(line):
                    break
                continue
            try:
                view = memoryview(line)
                while view:
                    view = view[os.write(self._descriptor, view) :]
            except OSError as error:
                if error.errno != errno.EPIPE:  # a reader that has enough is no trouble
                    self._complain(f"--events {self._where}: ends here: {error.strerror}; the run goes on")
                break
        while self._lines.get_nowait() if not self._lines.empty() else None:
            pass
