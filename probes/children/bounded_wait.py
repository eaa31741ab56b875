"""Wait for a killed child, for a while only: one that the kernel holds (state D) ends when its device answers."""

import asyncio
import contextlib
import os
import resource
import signal
import time
from collections.abc import Sequence
from typing import Protocol

END_S = 2.0  # a killed process is gone within milliseconds, unless the kernel holds it
_LOOK_S = 0.01


class WaitableChild(Protocol):
    """A subprocess.Popen, or what other libraries have in its place."""

    def poll(self) -> int | None: ...


def wait_briefly(child: WaitableChild, seconds: float = END_S) -> int | None:
    """Return the exit status, or None where the child lives on."""
    until = time.monotonic() + seconds
    while (status := child.poll()) is None and time.monotonic() < until:
        time.sleep(_LOOK_S)
    return status


async def wait_briefly_async(child: asyncio.subprocess.Process, seconds: float = END_S) -> int | None:
    """Return the exit status, or None where the child lives on."""
    with contextlib.suppress(TimeoutError):
        return await asyncio.wait_for(child.wait(), seconds)
    return None


def reap_briefly(pids: Sequence[int], seconds: float = END_S) -> list[int]:
    """Wait for forked children without Popen. Return those that live on."""
    left, until = list(pids), time.monotonic() + seconds
    while left:
        for pid in list(left):
            try:
                ended = os.waitpid(pid, os.WNOHANG)[0] != 0
            except ChildProcessError:
                ended = True
            if ended:
                left.remove(pid)
        if not left or time.monotonic() > until:
            break
        time.sleep(_LOOK_S)
    return left


def reap_or_kill(pid: int, seconds: float = END_S) -> "resource.struct_rusage | None":
    """Wait for a forked child and return what it used. Kill one that lives on, and return None."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        ended, _, usage = os.wait4(pid, os.WNOHANG)
        if ended:
            return usage
        time.sleep(_LOOK_S)
    os.kill(pid, signal.SIGKILL)
    reap_briefly([pid])
    return None
