"""Reads in a child process that is abandoned when it hangs: a thread stuck in the kernel cannot."""

import contextlib
import errno
import json
import os
import selectors
import subprocess
import sys
import threading
import time
import weakref
from pathlib import Path

from hostdx.probes.children.own_module import PIPE, start_module

ABANDON_AFTER_S = 2.0
MAX_WORKING_S = 30.0  # of a child that is slow, not stuck: a starved host, an interpreter on a sick disk
MAX_REQUEST_BYTES = 32 << 10  # any path that the kernel takes; a pipe holds 64 KiB
RETRY_AFTER_S = 60.0  # a path that hung is not tried again before: each try costs a process and 2 s


class PathHangs(Exception):
    """The read did not come back in time; its process was abandoned."""


class ReaderNotStarted(Exception):
    """The reading process cannot be started; says why. It tells nothing of the path that was asked for."""


class GuardedReader:
    """One child process, started with the first read, reused, replaced when it hangs. Thread-safe.

    It hangs if it gives no answer and gets nowhere either: for `abandon_after_s` it had no CPU time and wanted none.
    """

    def __init__(self, abandon_after_s: float = ABANDON_AFTER_S) -> None:
        self.abandon_after_s = abandon_after_s
        self._child: subprocess.Popen[bytes] | None = None
        self._owner = 0
        self._hung: dict[str, float] = {}
        self._lock = threading.Lock()

    def ask_child(self, operation: str, path: str, *, root: str = "", limit_bytes: int = 0) -> object:
        """Return what `hang_safe.child.answer` gives for it. Raises OSError from the child, PathHangs,
        and ReaderNotStarted.
        """
        request = json.dumps([operation, path, root, limit_bytes]).encode() + b"\n"
        if len(request) > MAX_REQUEST_BYTES:
            raise OSError(errno.ENAMETOOLONG, os.strerror(errno.ENAMETOOLONG), path[:100])
        with self._lock:
            if time.monotonic() - self._hung.get(path, -RETRY_AFTER_S) < RETRY_AFTER_S:
                raise PathHangs(path)
            try:
                # A child that was killed from outside is replaced once; one that hangs is not.
                reply = self._exchange_line(request) or self._exchange_line(request)
            except TimeoutError:
                self._hung[path] = time.monotonic()
                raise PathHangs(path) from None
        if reply is None:
            raise OSError(errno.EIO, "the reading process ended", path)
        answer = json.loads(reply)
        if "errno" in answer:
            raise OSError(answer["errno"], answer["text"], path)
        return answer["value"]

    def start(self) -> None:
        """Start the child process before the first read asks for it: an interpreter needs 50 ms to be there."""
        with self._lock, contextlib.suppress(ReaderNotStarted):
            self._running_child()

    def close(self) -> None:
        if self._child is not None and self._owner == os.getpid():
            _kill_child(self._child)
        self._child = None

    def _exchange_line(self, request: bytes) -> bytes | None:
        """The answer's line; None when the child ended. A child that gave no answer is gone after this."""
        began = time.monotonic()
        deadline = began + self.abandon_after_s
        child = self._running_child()
        worked = _used_cpu_ns(child.pid)
        assert child.stdin is not None and child.stdout is not None
        reply = bytearray()
        try:
            os.write(child.stdin.fileno(), request)  # fits the empty pipe: never partial, never blocks
            with selectors.DefaultSelector() as ready:
                ready.register(child.stdout.fileno(), selectors.EVENT_READ)
                while not reply.endswith(b"\n"):
                    left = deadline - time.monotonic()
                    if left <= 0 or not ready.select(left):
                        before, worked = worked, _used_cpu_ns(child.pid)
                        if time.monotonic() - began > MAX_WORKING_S or not (
                            worked > before or _is_runnable(child.pid)
                        ):
                            raise TimeoutError
                        deadline = time.monotonic() + self.abandon_after_s
                        continue
                    data = os.read(child.stdout.fileno(), 1 << 16)
                    if not data:
                        raise BrokenPipeError
                    reply += data
        except TimeoutError:
            self.close()
            raise
        except OSError:
            self.close()
            return None
        return bytes(reply)

    def _running_child(self) -> subprocess.Popen[bytes]:
        # After a fork the pipes belong to the parent: answers would get mixed up.
        if self._child is None or self._owner != os.getpid() or self._child.poll() is not None:
            try:
                self._child = start_module("hostdx.probes.reading.hang_safe.child", stdin=PIPE)
            except OSError as error:
                why = os.strerror(error.errno or 0)
                raise ReaderNotStarted(
                    f"{sys.executable} -m hostdx.probes.reading.hang_safe.child: {why}"
                ) from error
            self._owner = os.getpid()
            weakref.finalize(self, _kill_child, self._child, os.getpid())
        return self._child


def _used_cpu_ns(pid: int) -> int:
    """Return what the process had of the CPUs (Documentation/scheduler/sched-stats.rst); 0 where nobody tells."""
    try:
        return int(Path(f"/proc/{pid}/schedstat").read_bytes().split()[0])
    except (OSError, IndexError, ValueError):
        return 0


def _is_runnable(pid: int) -> bool:
    """It waits for a CPU, not in the kernel (proc(5), state)."""
    try:
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[:1] == [b"R"]
    except OSError:
        return False


def _kill_child(child: subprocess.Popen[bytes], only_in_pid: int | None = None) -> None:
    if only_in_pid is not None and only_in_pid != os.getpid():
        return
    child.kill()
    for pipe in (child.stdin, child.stdout):
        if pipe is not None:
            pipe.close()
    try:
        child.wait(0.2)  # stuck in the kernel: left behind, reaped by a later Popen
    except subprocess.TimeoutExpired:
        pass
