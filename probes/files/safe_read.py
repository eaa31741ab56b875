"""Bounded reads of regular files and directories; nothing else is opened. Raises OSError, ValueError."""

import errno
import os
from pathlib import Path
from typing import TypeVar

from hostdx.probes.files.named_file import open_regular, reopen_regular

T = TypeVar("T")
MAX_ENTRIES = 200_000
CHUNK = 1 << 16


class TooLarge(OSError):
    """The file holds more than was asked for."""


def read_regular(path: str, limit_bytes: int, *, follow: bool = True) -> bytes:
    """The whole of a regular file, at most `limit_bytes`; nothing else is opened. `follow`: a link at its end too."""
    flags = os.O_PATH | os.O_CLOEXEC | (0 if follow else os.O_NOFOLLOW)
    return _read_descriptor(reopen_regular(os.open(path, flags), path), limit_bytes, path)


def read_named(path: str | os.PathLike[str], limit_bytes: int) -> bytes:
    """The whole of a file that a person named, by no link of another's; at most `limit_bytes`."""
    return _read_descriptor(open_regular(path), limit_bytes, os.fspath(path))


def _read_descriptor(fd: int, limit_bytes: int, path: str) -> bytes:
    try:
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
    """The names in a directory, or of the folders in it alone, sorted; at most MOST_ENTRIES.

    As every path: what is not UTF-8 is kept (PEP 383), so that what has the name can be opened by it.
    """
    names: list[str] = []
    with os.scandir(path) as entries:
        for entry in entries:
            if folders and not entry.is_dir(follow_symlinks=False):
                continue
            names.append(entry.name)
            if len(names) >= MAX_ENTRIES:
                raise TooLarge(errno.EFBIG, f"more than {MAX_ENTRIES} entries", path)
    return sorted(names)


def decode(data: bytes) -> str:
    """Bytes from the host as text: what is not UTF-8 becomes `\\xNN`, so that it can be encoded again."""
    return data.decode("utf-8", "backslashreplace")


def read_own_data(module: str, file: str, kind: type[T]) -> T:
    """A TOML file of ours beside the module whose `__file__` is given, as this type."""
    import tomllib  # neither of them is for every light child that reads by this module

    import msgspec

    return msgspec.convert(tomllib.loads(read_named(Path(module).with_name(file), 1 << 16).decode()), kind)


def read_own_words(module: str, file: str, key: str) -> list[str]:
    """The words of one text of such a file."""
    return read_own_data(module, file, dict[str, str])[key].split()
