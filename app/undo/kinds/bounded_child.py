"""A child process for what may hang, bounded in time: abandoned then, and known by its identity until it is gone.

A write to a scheduler or the removal of a directory waits on a stuck device in a state that nothing gets a process
out of: what the child had begun still happens when the device answers again, though it was killed long before.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from hostdx.probes.children.own_module import PIPE, start_module

if TYPE_CHECKING:
    import subprocess

    from hostdx.app.terminal.process import ProcessIdentity

START_S = 60.0
READY = b"\n"
GOING_ON = b" "  # blanks before the answer: JSON passes over them
DYING_S = 0.2


class StuckChild(Exception):
    """No answer in time. `writer` is the child, where it is still there: what it had begun may still happen."""

    def __init__(self, seconds: float, writer: ProcessIdentity | None) -> None:
        super().__init__(f"no answer within {seconds:.0f} s: the device is stuck")
        self.writer = writer


class DeadChild(Exception):
    """The child ended without an answer."""


def ask_child(
    module: str, request: object, *, timeout_s: float, fds: Sequence[int] = (), may_finish: bool = False
) -> Any:
    """Return what `python -m MODULE` answers. Raises Stuck, Died, OSError.

    `timeout_s` begins anew whenever the child says that it goes on. `fds` are descriptors that the child holds too:
    the journal's lock stays taken as long as anything is under way. `may_finish`: no answer in time, it goes on with
    what it was asked for as soon as it can; else it is killed and ends after the step that it is in.
    """
    # not in the child: whoever stops a run waits until it has started
    import subprocess

    from hostdx.app.terminal.process import is_living, process_identity

    child = start_module(module, stdin=PIPE, fds=fds)
    me = process_identity(child.pid)
    assert child.stdin is not None and child.stdout is not None
    try:
        # an interpreter takes seconds to start where the load is 1000: that is not the device's time
        if _read_some_within(child, START_S, len(READY)) != READY:
            raise DeadChild("the child that should do it did not start")
        child.stdin.write(json.dumps(request).encode())
        child.stdin.close()
        answer = b""
        while part := _read_some_within(child, timeout_s):
            answer += part
        child.wait(timeout_s)
        return json.loads(answer)
    except (TimeoutError, subprocess.TimeoutExpired):
        _kill_unless_it_may_finish(child, may_finish)
        raise StuckChild(timeout_s, me if is_living(me) else None) from None
    except (ValueError, BrokenPipeError):
        raise DeadChild("the child that should do it died") from None
    finally:
        if child.returncode is None:
            _kill_unless_it_may_finish(child, may_finish)
        for pipe in (child.stdin, child.stdout):
            with contextlib.suppress(OSError):
                pipe.close()


def serve_request(answer: Callable[[Any, Callable[[], None]], object]) -> None:
    """The child's side: `answer(request, going_on)`."""
    os.write(1, READY)
    request = json.loads(sys.stdin.buffer.read())
    os.write(1, json.dumps(answer(request, lambda: _write_to_parent(GOING_ON))).encode())


def _write_to_parent(word: bytes) -> None:
    try:
        os.write(1, word)
    except OSError:
        pass  # nobody waits any more: what was begun is finished all the same


def _read_some_within(child: subprocess.Popen[bytes], seconds: float, most: int = 1 << 16) -> bytes:
    assert child.stdout is not None
    ready, _, _ = select.select([child.stdout.fileno()], [], [], seconds)
    if not ready:
        raise TimeoutError
    return os.read(child.stdout.fileno(), most)


def _kill_unless_it_may_finish(child: subprocess.Popen[bytes], may_finish: bool) -> None:
    """A killed child in D state stays until the device answers; it is not waited for."""
    if may_finish:
        return
    import subprocess

    child.kill()
    try:
        child.wait(timeout=DYING_S)
    except subprocess.TimeoutExpired:
        pass
