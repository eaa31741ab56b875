"""Bounded reads of regular files and directories; nothing else is opened. Raises OSError, ValueError."""

# os functions on text: pathlib costs several times as much on thousands of files.
# ruff: noqa: PTH116

from __future__ import annotations

import errno
import os
import stat

MOST_ENTRIES = 200_000
CHUNK = 1 << 16


class TooLarge(OSError):
    """The file holds more than was asked for."""


def read_regular(path: str, limit_bytes: int, *, follow: bool = True) -> bytes:
    """The whole of a regular file, at most `limit_bytes`.

    A device node or a FIFO is refused before it is opened: opening a tape or a watchdog does something.
    O_NONBLOCK because some regular files of procfs and tracefs wait for input (/proc/kmsg, trace_pipe).
    """
    if not stat.S_ISREG(os.stat(path, follow_symlinks=follow).st_mode):
        raise OSError(errno.EINVAL, "not a regular file", path)
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC | (0 if follow else os.O_NOFOLLOW)
    fd = os.open(path, flags)
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise OSError(errno.EINVAL, "not a regular file", path)
        chunks: list[bytes] = []
        size = 0
        while data := os.read(fd, min(CHUNK, limit_bytes + 1 - size)):
            chunks.append(data)
            size += len(data)
            if size > limit_bytes:
                raise TooLarge(errno.EFBIG, f"larger than {limit_bytes} bytes", path)
        return b"".join(chunks)
    finally:
        os.close(fd)


def list_directory(path: str, *, folders: bool = False) -> list[str]:
    """The names in a directory, or of the folders in it alone, sorted, as text; at most MOST_ENTRIES."""
    names: list[str] = []
    with os.scandir(os.fsencode(path)) as entries:
        for entry in entries:
            if folders and not entry.is_dir(follow_symlinks=False):
                continue
            names.append(decode(entry.name))
            if len(names) >= MOST_ENTRIES:
                raise TooLarge(errno.EFBIG, f"more than {MOST_ENTRIES} entries", path)
    return sorted(names)


def decode(data: bytes) -> str:
    """Bytes from the host as text: what is not UTF-8 becomes `\\xNN`, so that it can be encoded again."""
    return data.decode("utf-8", "backslashreplace")
