"""The two streams. stdout carries the result only; stderr everything else. A closed or broken pipe is quiet: nobody
reads there. A file that cannot take the result is not: who reads it later would take it for whole."""

from __future__ import annotations

import errno
import os
import sys

from app.printable import printable

_FILE_TROUBLE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)  # EIO is what a closed terminal says
_lost: list[str] = []


def lost() -> str:
    """Why not all of the result could be written to the file that stdout is; once. Empty where it was."""
    why = _lost[0] if _lost else ""
    _lost.clear()
    return why


def out(text: str) -> None:
    """Writes the result and a line feed to stdout; the caller has made it safe."""
    _write(1, (text + "\n").encode("utf-8", "backslashreplace"))


def raw(data: bytes) -> bool:
    """Writes bytes to stdout as they are; False when nobody reads any more."""
    return _write(1, data)


def say(text: str) -> None:
    """One line on stderr."""
    _write(2, (printable(text) + "\n").encode("utf-8", "backslashreplace"))


def complain(text: str) -> None:
    say(f"hostdx: {text}")


def _write(descriptor: int, data: bytes) -> bool:
    stream = sys.stdout if descriptor == 1 else sys.stderr
    if stream is None:  # started with the descriptor closed: the number may belong to another file by now
        return False
    try:
        if not _real(stream, descriptor):
            stream.write(data.decode("utf-8"))
            stream.flush()
            return True
        view = memoryview(data)
        while view:
            view = view[os.write(descriptor, view) :]
    except OSError as error:
        if descriptor == 1 and error.errno in _FILE_TROUBLE:
            _lost.append(str(error.strerror))
        return False
    return True


def _real(stream: object, descriptor: int) -> bool:
    """Tests and the completion machinery replace sys.stdout by a stream without this descriptor."""
    try:
        return bool(stream.fileno() == descriptor)  # type: ignore[attr-defined]
    except (AttributeError, OSError, ValueError):
        return False
