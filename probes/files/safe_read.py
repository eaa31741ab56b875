"""Bounded reads of regular files and directories; nothing else is opened. Raises OSError, ValueError."""

import errno
import os
import stat
from pathlib import Path
from typing import TypeVar

from hostdx.probes.files.path_walk import UntrustedLink, open_trusted

# Opens to read what a person, a recording or a neighbour named: a regular file, and nothing else is touched.
#
# Opening a FIFO waits, opening a tape or a watchdog does something. So it is looked at through a descriptor that reads
# nothing (open(2), O_PATH), and the very file that was seen is opened by it (proc(5), /proc/self/fd).
_LOOK = os.O_PATH | os.O_CLOEXEC
# O_NONBLOCK: some regular files of procfs and tracefs wait for input (/proc/kmsg, trace_pipe)
_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_KIND_WORDS = {
    stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket", stat.S_IFBLK: "a block device", stat.S_IFCHR: "a device",
    stat.S_IFDIR: "a directory", stat.S_IFLNK: "a link",
}  # fmt: skip


def describe_file_kind(mode: int) -> str:
    """Return what is no regular file, in words."""
    return _KIND_WORDS.get(stat.S_IFMT(mode), "something else")


def open_trusted_regular(path: str | os.PathLike[str]) -> int:
    """A descriptor to read, of a regular file. Raises OSError whose text says why not, ValueError.

    A link is followed where nobody but the caller or root could have put it there.
    """
    return reopen_regular(open_path_only(path), os.fspath(path))


def open_path_only(path: str | os.PathLike[str]) -> int:
    """An O_PATH descriptor of whatever it is. Raises OSError, ValueError."""
    try:
        return open_trusted(os.fspath(path), _LOOK, 0)[0]
    except UntrustedLink as why:
        raise OSError(errno.EPERM, f"{why}; name what it leads to", os.fspath(path)) from None


def open_path_in(name: str, folder: int) -> int:
    """As `open_path_only`, of a name in an open folder; a link is what is looked at. Raises OSError."""
    return os.open(name, _LOOK | os.O_NOFOLLOW, dir_fd=folder)


def reopen_regular(path_fd: int, path: str) -> int:
    """The regular file that an O_PATH descriptor stands for, opened to read; `path_fd` is closed. Raises OSError."""
    try:
        mode = os.fstat(path_fd).st_mode
        if not stat.S_ISREG(mode):
            raise OSError(errno.EINVAL, f"{describe_file_kind(mode)}, not a regular file", path)
        return os.open(f"/proc/self/fd/{path_fd}", _READ)
    finally:
        os.close(path_fd)


T = TypeVar("T")
MAX_ENTRIES = 200_000
CHUNK = 1 << 16


class FileTooLarge(OSError):
    """The file holds more than was asked for."""


def read_regular(path: str, limit_bytes: int, *, follow: bool = True) -> bytes:
    """The whole of a regular file, at most `limit_bytes`; nothing else is opened. `follow`: a link at its end too."""
    flags = os.O_PATH | os.O_CLOEXEC | (0 if follow else os.O_NOFOLLOW)
    return _read_limited_and_close(reopen_regular(os.open(path, flags), path), limit_bytes, path)


def read_trusted_file(path: str | os.PathLike[str], limit_bytes: int) -> bytes:
    """The whole of a file that a person named, by no link of another's; at most `limit_bytes`."""
    return _read_limited_and_close(open_trusted_regular(path), limit_bytes, os.fspath(path))


def _read_limited_and_close(fd: int, limit_bytes: int, path: str) -> bytes:
    try:
        chunks: list[bytes] = []
        size = 0
        while data := os.read(fd, min(CHUNK, limit_bytes + 1 - size)):
            chunks.append(data)
            size += len(data)
            if size > limit_bytes:
                raise FileTooLarge(errno.EFBIG, f"larger than {limit_bytes} bytes", path)
        return b"".join(chunks)
    finally:
        os.close(fd)


def list_directory(path: str, *, folders_only: bool = False) -> list[str]:
    """The names in a directory, or of the folders in it alone, sorted; at most MOST_ENTRIES.

    As every path: what is not UTF-8 is kept (PEP 383), so that what has the name can be opened by it.
    """
    names: list[str] = []
    with os.scandir(path) as entries:
        for entry in entries:
            if folders_only and not entry.is_dir(follow_symlinks=False):
                continue
            names.append(entry.name)
            if len(names) >= MAX_ENTRIES:
                raise FileTooLarge(errno.EFBIG, f"more than {MAX_ENTRIES} entries", path)
    return sorted(names)


def decode_host_text(data: bytes) -> str:
    """Bytes from the host as text: what is not UTF-8 becomes `\\xNN`, so that it can be encoded again."""
    return data.decode("utf-8", "backslashreplace")


def read_shipped_toml(module: str, file: str, kind: type[T]) -> T:
    """A TOML file of ours beside the module whose `__file__` is given, as this type."""
    import tomllib  # neither of them is for every light child that reads by this module

    import msgspec

    return msgspec.convert(
        tomllib.loads(read_trusted_file(Path(module).with_name(file), 1 << 16).decode()), kind
    )


def read_shipped_words(module: str, file: str, key: str) -> list[str]:
    """The words of one text of such a file."""
    return read_shipped_toml(module, file, dict[str, str])[key].split()
