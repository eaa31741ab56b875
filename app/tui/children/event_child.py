"""hostdx as a child: its events read as they come (triage for the home screen, a plan for its step), or all it says."""

import asyncio
import contextlib
import os
import signal
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from functools import cache
from typing import NamedTuple

import msgspec
from textual.dom import DOMNode

from hostdx.app.recordings.limits import LINE_LIMIT
from hostdx.app.recordings.session import RunSession
from hostdx.app.run.launch import HOSTDX
from hostdx.probes.children.bounded_wait import wait_briefly, wait_briefly_async
from hostdx.probes.children.environment import hostdx_environment
from hostdx.probes.reading.lossless_json import Decoder
from hostdx.scenarios.contract import events as ev

TIMEOUT_S = 60.0  # of a command


@cache
def _make_decoder() -> Decoder:
    """Made when the first event comes: the first screen does not wait for it (4 ms)."""
    return Decoder(ev.Common)


class EventChild:
    """`poll` never blocks. `session` is what its events tell; `error` why it ended without being done."""

    def __init__(self, argv: Sequence[str]) -> None:
        self.session = RunSession()
        self.ended = False
        self.error = ""
        self.before_close: Callable[[], object] | None = None
        self._rest = b""
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115 (lives as long as the child)
        self._process = subprocess.Popen(
            list(argv),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=self._stderr,
            bufsize=0,
            env=hostdx_environment(),
        )
        assert self._process.stdout is not None
        self._fd = self._process.stdout.fileno()
        os.set_blocking(self._fd, False)

    def follow(self, take_change: Callable[[], object]) -> None:
        """Call `take_change` on the running loop whenever something has come, until the child ends or is closed."""
        loop, descriptor = asyncio.get_running_loop(), self._fd

        def read_events() -> None:
            if self.poll():
                take_change()

        # while it is still open: a closed descriptor cannot be removed any more
        self.before_close = lambda: loop.remove_reader(descriptor)
        loop.add_reader(descriptor, read_events)

    def poll(self) -> bool:
        """Takes in what has come; True where anything changed."""
        if self.ended:
            return False
        before = self.session.count
        while True:
            try:
                data = os.read(self._fd, 1 << 16)
            except BlockingIOError:
                break
            if not data:
                self._end_child_and_keep_error()
                return True
            self._apply_whole_lines(data)
            if len(self._rest) >= LINE_LIMIT:
                self.error = "it wrote a line longer than 1 MiB"
                self.close()
                return True
        return self.session.count != before

    def _apply_whole_lines(self, data: bytes) -> None:
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            try:
                self.session.apply(_make_decoder().decode(line))
            except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
                continue  # our own version wrote it: an unknown type only, and the others still count

    def _end_child_and_keep_error(self) -> None:
        self.ended = True
        try:
            status: int | None = self._process.wait(timeout=2)
        except subprocess.TimeoutExpired:
            self._process.kill()
            status = wait_briefly(self._process)
        ended = self.session.ended
        if ended is not None and ended.status != "done":
            self.error = ended.reason or ended.status
        elif status != 0:
            self._stderr.seek(0)
            words = self._stderr.read()[-4096:].decode("utf-8", "backslashreplace").strip().splitlines()
            self.error = (words[-1] if words else f"exit status {status}").removeprefix("hostdx: ")
        self._close_streams()

    def close(self) -> None:
        """Ends the child where it still runs (it only reads)."""
        if self.ended:
            return
        self.ended = True
        with contextlib.suppress(OSError):
            self._process.send_signal(signal.SIGKILL)
        wait_briefly(self._process)
        self._close_streams()

    def _close_streams(self) -> None:
        if self.before_close is not None:
            self.before_close()
            self.before_close = None
        if self._process.stdout is not None:
            self._process.stdout.close()
        self._stderr.close()


class CommandOutcome(NamedTuple):
    """`error` is empty where the command did what it should."""

    output: str
    error: str


async def run_command(argv: Sequence[str], timeout_s: float = TIMEOUT_S) -> CommandOutcome:
    child = await asyncio.create_subprocess_exec(
        *HOSTDX,
        *argv,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=hostdx_environment(),
    )
    try:
        out, err = await asyncio.wait_for(child.communicate(), timeout_s)
    except TimeoutError:
        child.kill()
        await wait_briefly_async(child)
        return CommandOutcome("", f"hostdx {argv[0]} gave no answer within {timeout_s:.0f} s")
    words = err.decode("utf-8", "backslashreplace").strip().splitlines()
    text = out.decode("utf-8", "backslashreplace")
    if child.returncode:
        last = words[-1].removeprefix("hostdx: ") if words else f"exit status {child.returncode}"
        return CommandOutcome(text, last)
    return CommandOutcome(text, "")


def run_hostdx(
    screen: DOMNode, argv: Sequence[str], then: Callable[[CommandOutcome], None], timeout_s: float = TIMEOUT_S
) -> None:
    """Run this command of hostdx in a child and call `then` on the screen's thread."""

    async def run_and_report() -> None:
        then(await run_command(argv, timeout_s))

    screen.run_worker(run_and_report(), exclusive=False, exit_on_error=True, name=argv[0])
