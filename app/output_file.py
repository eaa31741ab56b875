"""A file that a person names for a result: never a device, and never one that nobody reads.

Root types `-o /dev/sdb` for `-o /tmp/sdb` once: what is there would be overwritten from its first byte on.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TypeAlias

from app.failure import Failure
from app.output import coloured as in_colour
from app.output import out, out_parts
from probes.path_walk import Misled, walked

Line: TypeAlias = tuple[str, str]  # text that may have several lines, and their role

_HARMLESS = frozenset({(1, 3), (1, 7)})  # null and full, Documentation/admin-guide/devices.txt
_TERMINALS = frozenset({4, 5, *range(136, 144)})


def opened(what: str, path: str, mode: int) -> int:
    """A descriptor to write to, of an empty file or of a pipe that somebody reads. Raises Failure.

    `what` begins the line, `mode` is for a file that is made.
    """
    # without O_TRUNC: first it is looked at; O_NONBLOCK: a FIFO without a reader would be waited for
    flags = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOCTTY | os.O_NONBLOCK
    try:
        _check(what, path, Path(path).stat())
    except FileNotFoundError:
        pass
    except OSError as error:
        raise _unwritable(what, path, error) from None
    try:
        if os.geteuid() == 0:
            descriptor, others = walked(path, flags, mode)
        else:
            descriptor, others = os.open(path, flags, mode), False
    except Misled as why:
        raise Failure(f"{what}: {path}: {why}; name a file in a folder that belongs to root") from None
    except (OSError, ValueError) as error:
        raise _unwritable(what, path, error) from None
    try:
        found = os.fstat(descriptor)
        _check(what, path, found)
        if others:
            _check_owner(what, path, found, private=not mode & 0o077)
        if stat.S_ISREG(found.st_mode):
            os.ftruncate(descriptor, 0)
        os.set_blocking(descriptor, True)
    except OSError as error:
        os.close(descriptor)
        raise _unwritable(what, path, error) from None
    except Failure:
        os.close(descriptor)
        raise
    return descriptor


def deliver(what: str, path: str | None, text: str, coloured: Iterable[Sequence[Line]] = ()) -> None:
    """A text result to the file that was named; to stdout where none was, or `-`.

    `coloured` are its blocks with roles, for a terminal that shows colours; without them it has none.
    """
    if path is None or path == "-":
        if not coloured or not in_colour():
            out(text.rstrip("\n"))
            return
        for number, block in enumerate(coloured):
            if number:
                out("")
            for lines, role in block:
                for line in lines.split("\n"):
                    out_parts([(line, role)])
        return
    write_bytes(what, path, 0o644, text.encode("utf-8", "backslashreplace"))


def write_bytes(what: str, path: str, mode: int, data: bytes) -> None:
    """All of it at once; what goes wrong while it is written is a Failure too."""
    descriptor = opened(what, path, mode)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
    except OSError as error:
        raise _unwritable(what, path, error) from None


def _check(what: str, path: str, found: os.stat_result) -> None:
    mode, device = found.st_mode, (os.major(found.st_rdev), os.minor(found.st_rdev))
    if stat.S_ISBLK(mode):
        raise Failure(
            f"{what}: {path}: is a block device: writing there would destroy what is on it; name a file"
        )
    if stat.S_ISCHR(mode) and device not in _HARMLESS and device[0] not in _TERMINALS:
        raise Failure(f"{what}: {path}: is a device, not a file; name a file")


def _check_owner(what: str, path: str, found: os.stat_result, *, private: bool) -> None:
    """In a folder where others make names: not a second name of a file elsewhere, nor a private one for its owner."""
    if stat.S_ISREG(found.st_mode) and found.st_nlink > 1:
        raise Failure(
            f"{what}: {path}: has {found.st_nlink} hard links, so another file would change too; "
            "name another file"
        )
    if private and found.st_uid != 0:
        raise Failure(
            f"{what}: {path}: exists already and belongs to uid {found.st_uid}, who could read it; name "
            "another file"
        )


def _unwritable(what: str, path: str, error: OSError | ValueError) -> Failure:
    if isinstance(error, ValueError):
        return Failure(f"{what}: {path!r} cannot be a path")
    if error.errno == errno.ENXIO:
        return Failure(f"{what}: {path}: no process reads this pipe; start its reader first")
    return Failure(f"{what}: {path}: cannot be written: {error.strerror}")
