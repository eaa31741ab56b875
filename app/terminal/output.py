"""The two streams. stdout carries the result only; stderr everything else. A closed or broken pipe is quiet: nobody
reads there. A file that cannot take the result is not: who reads it later would take it for whole."""

import errno
import os
import select
import sys
from collections.abc import Sequence

from hostdx.app.terminal.printable import make_lines_printable, make_printable

_WAIT_S = 0.2  # once: a terminal that is paused (Ctrl-S) or a pipe that nobody empties must not hold up a run
_AT_ONCE = select.PIPE_BUF  # bytes that a pipe takes whole where poll(2) calls it writable
_paused = [False]
_FILE_TROUBLE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)  # EIO is what a closed terminal says
_lost: list[str] = []


def take_write_error() -> str:
    """Return why not all of the result could be written to the file that stdout is; once. Empty where it was."""
    why = _lost[0] if _lost else ""
    _lost.clear()
    return why


def print_result(text: str) -> None:
    """Writes the result and a line feed to stdout. Its line feeds stay: one that came from a host is the caller's."""
    _write_to_descriptor(1, (make_lines_printable(text) + "\n").encode())


# What a part of a line is for, and how a terminal shows it (ECMA-48, SGR); a role without one is plain text.
_SGR = {
    "strong": "1",
    "dim": "2",
    "critical": "1;31",
    "warning": "33",
    "ok": "32",
    "unknown": "36",
    "notice": "36",
}
_colour = ["auto"]


def set_colour(when: str) -> None:
    """`auto`, `always` or `never`, for what follows."""
    _colour[0] = when


def is_coloured() -> bool:
    """Asked for, or stdout is a terminal that can, and NO_COLOR is not set (no-color.org)."""
    if _colour[0] != "auto":
        return _colour[0] == "always"
    if os.environ.get("NO_COLOR") or os.environ.get("TERM", "") in ("", "dumb"):
        return False
    try:
        return sys.stdout is not None and sys.stdout.isatty()
    except ValueError:  # closed
        return False


def print_parts(parts: Sequence[tuple[str, str]]) -> None:
    """One line of (text, role) to stdout. The texts become printable, whatever they held; only we add colour."""
    shown = [(make_printable(text), _SGR.get(role, "") if is_coloured() else "") for text, role in parts]
    line = "".join(f"\x1b[{sgr}m{text}\x1b[0m" if sgr and text.strip() else text for text, sgr in shown)
    _write_to_descriptor(1, (line + "\n").encode("utf-8", "backslashreplace"))


def print_line(text: str) -> None:
    """One line of any text to stdout, made printable."""
    print_result(make_printable(text))


def print_raw(data: bytes) -> bool:
    """Writes the lines of events to stdout as they are; False when nobody reads any more."""
    return _write_to_descriptor(1, data)


def print_note(text: str) -> None:
    """One line on stderr; lost where nobody takes it."""
    _write_to_descriptor(2, (make_printable(text) + "\n").encode())


def draw_on_stderr(text: str) -> None:
    """Text of ours, escape sequences included, on the terminal that stderr is; lost while that is paused."""
    _write_to_descriptor(2, text.encode("utf-8", "backslashreplace"))


def print_problem(text: str) -> None:
    print_note(f"hostdx: {text}")


def drop_unwritten_output() -> None:
    """Before the end: what a stream still holds and nobody takes is dropped, else Python would exit with status 120."""
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC), stream.fileno())
        except ValueError:  # closed
            continue


def _write_to_descriptor(descriptor: int, data: bytes) -> bool:
    stream = sys.stdout if descriptor == 1 else sys.stderr
    if stream is None:  # started with the descriptor closed: the number may belong to another file by now
        return False
    try:
        if not _is_real_stream(stream, descriptor):
            stream.write(data.decode("utf-8"))
            stream.flush()
            return True
        view = memoryview(data)
        while view:
            if descriptor == 2 and not _is_stderr_ready():
                return False
            view = view[os.write(descriptor, view[:_AT_ONCE] if descriptor == 2 else view) :]
    except OSError as error:
        if descriptor == 1 and error.errno in _FILE_TROUBLE:
            _lost.append(str(error.strerror))
        return False
    return True


def _is_stderr_ready() -> bool:
    """Return whether stderr takes a line now, or within a moment; while it is paused it is not waited for again."""
    poll = select.poll()
    poll.register(2, select.POLLOUT)
    _paused[0] = not poll.poll(0 if _paused[0] else _WAIT_S * 1000)
    return not _paused[0]


def _is_real_stream(stream: object, descriptor: int) -> bool:
    """Tests and the completion machinery replace sys.stdout by a stream without this descriptor."""
    try:
        return bool(stream.fileno() == descriptor)  # type: ignore[attr-defined]
    except (AttributeError, OSError, ValueError):
        return False
