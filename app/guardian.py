"""The runner's side of the supervisor: starting it, and letting it go."""

from __future__ import annotations

import select
import subprocess
import sys
from pathlib import Path

READY_S = 30.0  # an interpreter takes seconds to start where the load is 1000
GOODBYE = b"q"


class Guardian:
    """A supervisor process in a session of its own. It acts when this process dies without saying goodbye."""

    def __init__(self, journal: Path) -> None:
        self.ready = False
        self._process: subprocess.Popen[bytes] | None = None
        argv = [sys.executable, "-P", "-m", "app.supervisor", str(journal.absolute())]
        try:
            self._process = subprocess.Popen(
                argv,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
                cwd="/",
            )
        except OSError:
            return
        assert self._process.stdout is not None
        answers, _, _ = select.select([self._process.stdout], [], [], READY_S)
        self.ready = bool(answers) and self._process.stdout.read(1) == b"r"
        self._process.stdout.close()

    @property
    def pid(self) -> int:
        return self._process.pid if self._process is not None else 0

    def dismiss(self) -> None:
        """Everything is undone: there is nothing left to watch."""
        if self._process is None or self._process.stdin is None:
            return
        try:
            self._process.stdin.write(GOODBYE)
            self._process.stdin.close()
        except OSError:
            pass
        try:
            self._process.wait(timeout=2.0)
        except subprocess.TimeoutExpired:
            self._process.kill()

    def bequeath(self) -> None:
        """Something is left: it tries again as soon as we are gone and nothing hangs at it any more."""
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.close()
