"""Reading and writing sysfs and procfs attributes in a child process, bounded in time.

A scheduler write waits for what is in flight and can hang on a stuck device, and nothing gets a process out of that
state: so a child does it, which can be abandoned. Run as `python -P -m app.attribute` it is that child.
"""

from __future__ import annotations

import errno
import json
import os
import select
import stat
import subprocess
import sys
from collections.abc import Mapping, Sequence

TIMEOUT_S = 5.0
START_S = 60.0
READY = b"\n"
LIMIT = 1 << 16  # bytes of an attribute


class AttributeTrouble(OSError):
    """One line in `strerror`; `errno` as the kernel gave it, ETIMEDOUT where the child was abandoned."""


def read(paths: Sequence[str], keep: Sequence[int] = ()) -> dict[str, str | AttributeTrouble]:
    """Each path's text without its last line end, or why it could not be read."""
    return _ask({"read": list(paths)}, paths, keep)


def write(path: str, value: str, keep: Sequence[int] = ()) -> str:
    """Writes, reads back and gives what is there now. Raises AttributeTrouble.

    `keep` are descriptors that the child holds too: the journal's lock stays taken as long as a write is under way.
    """
    answer = _ask({"write": [[path, value]]}, (path,), keep)[path]
    if isinstance(answer, AttributeTrouble):
        raise answer
    return answer


def selected(text: str) -> str:
    """The active one of `none [mq-deadline] kyber`; any other text as it is, without blanks around it."""
    for word in text.split():
        if len(word) > 2 and word.startswith("[") and word.endswith("]"):
            return word[1:-1]
    return text.strip()


def _ask(
    request: Mapping[str, object], paths: Sequence[str], keep: Sequence[int]
) -> dict[str, str | AttributeTrouble]:
    if not paths:
        return {}
    argv = [sys.executable, "-P", "-m", "app.attribute"]
    child = subprocess.Popen(
        argv,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # Ctrl-C goes to the whole foreground group: not to a write under way
        cwd="/",
        pass_fds=tuple(keep),
    )
    try:
        _await_start(child)
        answer, _ = child.communicate(json.dumps(request).encode(), timeout=TIMEOUT_S)
        found: dict[str, list[object]] = json.loads(answer)
    except subprocess.TimeoutExpired:
        child.kill()
        _abandon(child)
        text = f"no answer within {TIMEOUT_S:.0f} s: the device is stuck"
        return {path: AttributeTrouble(errno.ETIMEDOUT, text) for path in paths}
    except ValueError:
        return {path: AttributeTrouble(errno.EIO, "the child that should access it died") for path in paths}
    return {path: _answer(found.get(path)) for path in paths}


def _await_start(child: subprocess.Popen[bytes]) -> None:
    """An interpreter takes seconds to start where the load is 1000: that is not the device's time."""
    assert child.stdout is not None
    ready, _, _ = select.select([child.stdout.fileno()], [], [], START_S)
    if not ready or os.read(child.stdout.fileno(), 1) != READY:
        child.kill()
        raise ValueError("it did not start")


def _answer(found: list[object] | None) -> str | AttributeTrouble:
    if found is None:
        return AttributeTrouble(errno.EIO, "no answer")
    number, text = found
    return str(text) if number == 0 else AttributeTrouble(int(str(number)), str(text))


def _abandon(child: subprocess.Popen[bytes]) -> None:
    """A child in D state stays until the device answers; its pipes are closed and it is not waited for."""
    for pipe in (child.stdin, child.stdout):
        if pipe is not None:
            try:
                pipe.close()
            except OSError:
                pass
    try:
        child.wait(timeout=0.2)
    except subprocess.TimeoutExpired:
        pass


def _get(path: str) -> str:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "is not an attribute")
        return os.read(descriptor, LIMIT).decode("utf-8", "backslashreplace").rstrip("\n")
    finally:
        os.close(descriptor)


def _put(path: str, value: str) -> str:
    # never O_CREAT, and regular files only: neither a new file nor a block device node is ever written to
    descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "is not an attribute")
        os.ftruncate(descriptor, 0)
        os.write(descriptor, (value + "\n").encode())
    finally:
        os.close(descriptor)
    return _get(path)


def _main() -> None:
    os.write(1, READY)
    request = json.loads(sys.stdin.buffer.read())
    answers: dict[str, tuple[int, str]] = {}
    jobs = [(path, None) for path in request.get("read", [])] + [
        tuple(pair) for pair in request.get("write", [])
    ]
    for path, value in jobs:
        try:
            answers[path] = (0, _get(path) if value is None else _put(path, value))
        except OSError as error:
            answers[path] = (error.errno or errno.EIO, error.strerror or str(error))
    sys.stdout.buffer.write(json.dumps(answers).encode())


if __name__ == "__main__":
    _main()
