"""`--events FILE|-`: the same lines once more. A slow or closed reader never holds up the run."""

import errno
import os
import queue
import threading
from collections.abc import Callable

from hostdx.app.recordings.writer import encode_event
from hostdx.app.terminal import output
from hostdx.app.terminal.output_file import open_output
from hostdx.scenarios.contract import events as ev

HURRY_S = 0.5
PATIENCE_S = 10.0  # at the end of a run, for a reader that takes nothing at all in that time
WAITING_LIMIT = 64 << 20  # bytes kept for a reader that pauses


class EventsOutput:
    """Writes in a thread of its own: a pipe whose reader pauses would otherwise stop the measurement."""

    def __init__(self, target: str, complain: Callable[[str], None]) -> None:
        """Raises Failure where it cannot be written to."""
        self._target = target
        self._complain = complain
        self._descriptor = -1 if target == "-" else open_output("--events", target, 0o600)
        self._put = self._written = 0  # bytes
        self._over = False
        self._lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._write_queued_lines, name="events", daemon=True)
        self._thread.start()

    def write(self, event: ev.AnyEvent) -> None:
        if self._over:
            return
        line = encode_event(event)
        self._put += len(line)
        self._lines.put(line)
        if self._put - self._written > WAITING_LIMIT:
            self._end_output_and_complain("its reader pauses")

    def close(self, *, hurry: bool) -> None:
        """Waits for a reader that goes on reading; `hurry` (we were told to stop) only for a moment."""
        self._lines.put(None)
        before = -1
        while self._thread.is_alive() and self._written != before:
            before = self._written
            self._thread.join(HURRY_S if hurry else PATIENCE_S)
            if hurry:
                return
        if self._thread.is_alive() and not self._over:
            self._end_output_and_complain("its reader pauses")

    def _end_output_and_complain(self, why: str) -> None:
        self._over = True
        self._complain(f"--events {self._target}: ends here: {why}; the recording has all of it")

    def _write_queued_lines(self) -> None:
        while (line := self._lines.get()) is not None and not self._over:
            if self._descriptor < 0:
                if not output.print_raw(line):
                    break
            else:
                try:
                    view = memoryview(line)
                    while view:
                        view = view[os.write(self._descriptor, view) :]
                except OSError as error:
                    if error.errno != errno.EPIPE:  # a reader that has enough is no trouble
                        self._end_output_and_complain(str(error.strerror))
                    break
            self._written += len(line)
        self._over = True
        while self._lines.get_nowait() if not self._lines.empty() else None:
            pass
