"""Undoes at once what a killed runner left behind.

The runner starts it as `python -m hostdx.app.undo.supervisor JOURNAL`.
It has a session of its own, so neither a closed terminal nor a signal to the runner's group reaches it. It waits
without waking up (a pidfd, and a pipe that the runner holds) and so disturbs no measurement. A change that hangs on
a stuck device holds the journal's lock: it waits for that too, however long it takes, and undoes it then. Where the
child that hung could be ended, it tries again now and then, for some hours.
"""

import os
import select
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from time import sleep

from hostdx.app.terminal.failure import Failure
from hostdx.app.terminal.process import ProcessIdentity, is_living
from hostdx.app.undo import undo
from hostdx.app.undo.journal import Journal, peek_journal
from hostdx.probes.children.own_module import PIPE, start_module

ROUNDS = 1000  # each waits for what hung in the one before, or a while
AGAIN_S = 10.0
READY_S = 30.0  # an interpreter takes seconds to start where the load is 1000
GOODBYE = b"q"
POLL_S = 0.5  # only on kernels before 5.3, which have no pidfd


def main(argv: list[str]) -> int:
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM, signal.SIGQUIT, signal.SIGTSTP):
        signal.signal(number, signal.SIG_IGN)
    path = Path(argv[0])
    header, _ = peek_journal(path)
    os.write(1, b"r")
    null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    os.dup2(null, 1)
    if _wait_and_has_said_goodbye(header.who):
        return 0
    for _ in range(ROUNDS):
        journal = Journal.wait_for_lock(path)
        if journal is None:
            return 0
        try:
            done = undo.undo_entries(journal)
        finally:
            journal.close()
        # Half of this program's start, and a run waits for that. Few runs are killed; theirs is undone by now.
        from hostdx.app.undo import killed_ending

        with suppress(OSError, Failure):
            killed_ending.write_ending(header, done)
        stuck = [undone for undone in done if undone.outcome.stuck]
        if not stuck:
            break
        # nothing is left that holds the lock until it answers
        if not all(undone.outcome.writer for undone in stuck):
            sleep(AGAIN_S)
    # the journal stays for `hostdx undo`
    return 0 if all(undone.outcome.state != "failed" for undone in done) else 3


def _wait_and_has_said_goodbye(runner: ProcessIdentity) -> bool:
    """Waits until the runner says goodbye (True) or is dead (False)."""
    pidfd = _pidfd_or_none(runner)
    poll = select.poll()
    if pidfd is not None:
        poll.register(pidfd, select.POLLIN)
    poll.register(0, select.POLLIN)
    while is_living(runner):
        ready = poll.poll(None if pidfd is not None else POLL_S * 1000)
        for descriptor, _ in ready:
            if descriptor != 0:
                continue
            if os.read(0, 1) == GOODBYE:
                return True
            poll.unregister(0)  # closed without goodbye: the runner is dying; the pidfd says when it is dead
    return False


def _pidfd_or_none(runner: ProcessIdentity) -> int | None:
    try:
        return os.pidfd_open(runner.pid)
    except (OSError, AttributeError):
        return None


class SupervisorProcess:
    """A supervisor process in a session of its own. It acts when this process dies without saying goodbye."""

    def __init__(self, journal: Path) -> None:
        self.ready = False
        self._process: subprocess.Popen[bytes] | None = None
        try:
            self._process = start_module("hostdx.app.undo.supervisor", str(journal.absolute()), stdin=PIPE)
        except OSError:
            return
        assert self._process.stdout is not None
        answers, _, _ = select.select([self._process.stdout], [], [], READY_S)
        self.ready = bool(answers) and self._process.stdout.read(1) == b"r"
        self._process.stdout.close()

    def end_watch(self) -> None:
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

    def hand_over(self) -> None:
        """Something is left: it tries again as soon as we are gone and nothing hangs at it any more."""
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.close()


if __name__ == "__main__":
    with suppress(Failure):
        sys.exit(main(sys.argv[1:]))
    sys.exit(3)
