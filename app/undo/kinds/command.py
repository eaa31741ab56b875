"""Commands that change something: argument lists, bounded in time, in a session of their own."""

import os
import signal
import subprocess
import threading
import time
from collections.abc import Sequence

from hostdx.app.terminal.process import ProcessIdentity, is_living, process_identity
from hostdx.probes.children.command import ADMIN_PATH, find_tool

TIMEOUT_S = 30.0
LOOK_S = 0.2  # how often it is looked whether a command that may be broken off is to end


class ChangingCommandFailed(Exception):
    """One line: the command and what it said. `writer`: the command, where it could not be ended in time."""

    def __init__(self, text: str, writer: ProcessIdentity | None = None) -> None:
        super().__init__(text)
        self.writer = writer


def run_changing_command(
    argv: Sequence[str],
    *,
    fds: Sequence[int] = (),
    timeout_s: float = TIMEOUT_S,
    stop: threading.Event | None = None,
) -> str:
    """stdout. Raises ChangingCommandFailed. `fds`: descriptors that the command holds too (the journal's lock).

    `stop` ends it early where that is set: for commands that may be broken off in the middle.
    """
    shown = " ".join(argv)[:200]
    program = find_tool(argv[0])
    if program is None:
        raise ChangingCommandFailed(f"{argv[0]}: is not installed (`{shown}`)")
    try:
        child = subprocess.Popen(
            [program, *argv[1:]],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=os.environ | {"LC_ALL": "C", "PATH": ":".join(ADMIN_PATH)},
            start_new_session=True,
            cwd="/",
            pass_fds=tuple(fds),
        )
    except OSError as error:
        raise ChangingCommandFailed(f"{argv[0]}: {error.strerror} (`{shown}`)") from None
    me = process_identity(child.pid)
    try:
        answer, error_output = _communicate_until_stop(child, timeout_s, stop)
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)
        try:
            child.communicate(timeout=0.5)
        except subprocess.TimeoutExpired:
            pass  # in D state: it stays until the device answers
        writer = me if is_living(me) else None
        if stop is not None and stop.is_set():
            raise ChangingCommandFailed(f"`{shown}`: interrupted", writer) from None
        raise ChangingCommandFailed(f"`{shown}`: did not end within {timeout_s:.0f} s", writer) from None
    if child.returncode != 0:
        lines = error_output.decode("utf-8", "backslashreplace").split("\n")
        text = next((line.strip() for line in lines if line.strip()), f"exit status {child.returncode}")
        raise ChangingCommandFailed(f"`{shown}`: {text[:300]}")
    return answer.decode("utf-8", "backslashreplace")


def _communicate_until_stop(
    child: subprocess.Popen[bytes], timeout_s: float, stop: threading.Event | None
) -> tuple[bytes, bytes]:
    if stop is None:
        return child.communicate(timeout=timeout_s)
    until = time.monotonic() + timeout_s
    while True:
        try:
            return child.communicate(timeout=LOOK_S)
        except subprocess.TimeoutExpired:
            if stop.is_set() or time.monotonic() >= until:
                raise
