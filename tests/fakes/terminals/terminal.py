"""A pseudo-terminal with a screen behind it: starts a program, answers its queries, counts what it writes."""

import fcntl
import os
import pty
import select
import signal
import struct
import termios
import time
from collections.abc import Callable, Mapping, Sequence

import psutil
import pyte

from tests.app import forked


class Terminal:
    """Runs `argv` in a session of its own. `screen.display` is what a person sees.

    `may_fork`: hostdx need not be started, a fork of what has imported it will do (tests/app/forked.py).
    """

    def __init__(
        self,
        argv: Sequence[str],
        size: tuple[int, int] = (80, 24),
        env: Mapping[str, str] | None = None,
        *,
        may_fork: bool = False,
    ) -> None:
        self.width, self.height = size
        self.screen = pyte.Screen(*size)
        self.bytes = 0
        self.raw = bytearray()  # everything that it wrote
        self.began = time.perf_counter()
        self._stream = pyte.ByteStream(self.screen)
        variables = {**os.environ, "TERM": "xterm-256color", "LC_ALL": "C.UTF-8", **(env or {})}
        self.fd, child_end = pty.openpty()
        fcntl.ioctl(child_end, termios.TIOCSWINSZ, struct.pack("HHHH", self.height, self.width, 0, 0))
        if may_fork and not forked.must_start(argv, variables):
            self.pid = forked.fork_on_terminal(argv, variables, child_end)
        elif (pid := os.fork()) == 0:
            try:
                os.login_tty(child_end)
                os.execvpe(argv[0], list(argv), variables)
            finally:
                os._exit(127)
        else:
            self.pid = pid
        os.close(child_end)

    @property
    def content(self) -> str:
        return "\n".join(line.rstrip() for line in self.screen.display)

    def shows(self, words: str) -> bool:
        """Also where the terminal broke a line that is longer than its row, in the middle of a word."""
        return words in self.content or words in "".join(self.screen.display)

    @property
    def cells(self) -> list[list[pyte.screens.Char]]:
        """Every cell of the screen, row by row: its character, its colours and how it is drawn."""
        return [[self.screen.buffer[y][x] for x in range(self.width)] for y in range(self.height)]

    def pump(self, seconds: float) -> bool:
        """Reads for so long; False when the program is gone."""
        end = time.perf_counter() + seconds
        while (left := end - time.perf_counter()) > 0:
            readable, _, _ = select.select([self.fd], [], [], left)
            if not readable:
                return True
            try:
                data = os.read(self.fd, 65536)
            except OSError:
                return False
            if not data:
                return False
            self.bytes += len(data)
            self.raw += data
            if b"\x1b[c" in data:
                os.write(self.fd, b"\x1b[?62;22c")
            if b"\x1b[6n" in data:
                os.write(self.fd, b"\x1b[1;1R")
            self._feed(data)
        return True

    def _feed(self, data: bytes) -> None:
        try:
            self._stream.feed(data)
        except Exception:  # pyte does not know every private sequence
            self._stream = pyte.ByteStream(self.screen)

    def wait(self, words: str, timeout_s: float = 30.0) -> float:
        """Seconds from the start until `words` stand on the screen. Raises TimeoutError with the screen."""
        return self.expect(lambda: self.shows(words), words, timeout_s)

    def expect(self, done: Callable[[], bool], awaited: str, timeout_s: float = 30.0) -> float:
        end = time.perf_counter() + timeout_s
        while not done():
            if time.perf_counter() > end or not self.pump(0.02):
                if done():
                    break
                raise TimeoutError(f"{awaited!r} never came; the screen:\n{self.content}")
        return time.perf_counter() - self.began

    def press(self, keys: str) -> None:
        os.write(self.fd, keys.encode())

    def tree(self) -> list[psutil.Process]:
        """The processes of the terminal's session; what the program detached is not counted."""
        processes = []
        try:
            process = psutil.Process(self.pid)
            for member in (process, *process.children(recursive=True)):
                if os.getsid(member.pid) == self.pid:
                    processes.append(member)
        except (psutil.Error, OSError):
            pass
        return processes

    def cpu_s(self) -> float:
        total = 0.0
        for process in self.tree():
            try:
                times = process.cpu_times()
                total += times.user + times.system
            except psutil.Error:
                continue
        return total

    def close(self, *, hang_up: bool = False) -> int:
        """Ends the program (`hang_up`: as a closed window does) and gives its wait status."""
        if hang_up:
            os.close(self.fd)
        else:
            try:
                os.kill(self.pid, signal.SIGTERM)
            except ProcessLookupError:
                pass
        end = time.perf_counter() + 30  # a loaded machine takes its time; it ends at once when it is idle
        while time.perf_counter() < end:
            if not hang_up:
                self.pump(0.05)
            else:
                time.sleep(0.02)
            done, status = os.waitpid(self.pid, os.WNOHANG)
            if done:
                break
        else:
            os.kill(self.pid, signal.SIGKILL)
            _, status = os.waitpid(self.pid, 0)
        if not hang_up:
            os.close(self.fd)
        return status
