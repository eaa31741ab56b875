"""A directory of our own, held by one descriptor: whatever becomes of its name, nothing is made or deleted elsewhere.

Who owns the folder above may rename it and put a link in its place: rename(2) asks for rights on that folder only. So
what lies below is reached through the descriptor alone, and the name is opened once, compared with what was made.
"""

from __future__ import annotations

import ctypes
import errno
import os
import stat
import struct
from collections.abc import Iterator

import msgspec

HOLD = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
DEPTH_LIMIT = 64
# linux/stat.h, linux/fcntl.h; struct statx: stx_mask at 0, stx_btime (s64 seconds, u32 nanoseconds) at 80
_STATX_BTIME, _AT_EMPTY_PATH, _STATX_BYTES, _BTIME_AT = 0x800, 0x1000, 256, 80


class Inode(msgspec.Struct, frozen=True):
    """Which one it is: name and owner are no proof. `born_ns` since 1970 (statx(2)); None where nothing tells it."""

    device: int
    number: int
    born_ns: int | None = None

    def is_same_inode(self, other: Inode, *, rebooted: bool = False) -> bool:
        """A device may have another number after a reboot: then only the birth time can vouch for it."""
        if (self.number, self.born_ns) != (other.number, other.born_ns):
            return False
        return self.device == other.device or (rebooted and self.born_ns is not None)


def inode_of(fd: int) -> Inode:
    status = os.fstat(fd)
    return Inode(status.st_dev, status.st_ino, _birth_time_ns(fd))


def _birth_time_ns(fd: int) -> int | None:
    call = getattr(ctypes.CDLL(None), "statx", None)  # glibc 2.28; an older C library has none
    answer = ctypes.create_string_buffer(_STATX_BYTES)
    if call is None or call(fd, b"", _AT_EMPTY_PATH, _STATX_BTIME, answer) != 0:
        return None
    (mask,) = struct.unpack_from("=I", answer, 0)
    seconds, nanoseconds = struct.unpack_from("=qI", answer, _BTIME_AT)
    return int(seconds * 10**9 + nanoseconds) if mask & _STATX_BTIME else None


def open_parent(path: str) -> int:
    """A descriptor of the folder that it lies in; it may lead there over links, what counts is what is found there."""
    return os.open(os.path.dirname(path) or "/", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)  # noqa: PTH120


def is_owned_by_caller(status: os.stat_result) -> bool:
    return status.st_uid == os.geteuid()


class PrivateDirectory:
    """`fd` is what is worked with; `path` is for messages and is never opened again."""

    def __init__(self, path: str, fd: int) -> None:
        self.path = path
        self.fd = fd

    @classmethod
    def open(cls, path: str, expected_inode: Inode) -> PrivateDirectory:
        """Raises OSError, ESTALE where something else has taken its name."""
        parent = open_parent(path)
        try:
            held = cls.open_last_part(parent, path)
        finally:
            os.close(parent)
        if not expected_inode.is_same_inode(inode_of(held.fd)):
            held.close()
            raise OSError(errno.ESTALE, "is not the directory that hostdx made: somebody renamed it", path)
        return held

    @classmethod
    def open_last_part(cls, parent: int, shown_path: str) -> PrivateDirectory:
        """Open the last part of `shown_path` in `parent`. OSError where it is not ours or others may write to it."""
        fd = os.open(os.path.basename(shown_path), HOLD, dir_fd=parent)  # noqa: PTH119
        status = os.fstat(fd)
        if not is_owned_by_caller(status) or status.st_mode & 0o022:
            os.close(fd)
            raise OSError(errno.EPERM, "is not a directory of hostdx's own (owner or mode)", shown_path)
        return cls(shown_path, fd)

    @property
    def proc_path(self) -> str:
        """A name that leads here and nowhere else, for other processes of this user while we live (proc_pid_fd(5))."""
        return f"/proc/{os.getpid()}/fd/{self.fd}"

    def is_empty(self) -> bool:
        with os.scandir(self.fd) as entries:
            return next(entries, None) is None

    def delete_contents(self) -> Iterator[int]:
        """Deletes all that is in it; bytes of each thing deleted. Follows no link and crosses no mount point."""
        yield from _delete_tree(self.fd, os.fstat(self.fd).st_dev, self.path, DEPTH_LIMIT)

    def close(self) -> None:
        """May be called twice."""
        fd, self.fd = self.fd, -1
        if fd >= 0:
            os.close(fd)


def _delete_tree(directory: int, device: int, shown_path: str, depth: int) -> Iterator[int]:
    if os.fstat(directory).st_dev != device:
        raise OSError(f"{shown_path}: something is mounted on it; `umount` it, then `hostdx undo`")
    if depth == 0:
        raise OSError(f"{shown_path}: nested deeper than anything hostdx makes; not touched")
    with os.scandir(directory) as entries:
        names = [entry.name for entry in entries]
    for name in names:
        try:
            status = os.stat(name, dir_fd=directory, follow_symlinks=False)
            if stat.S_ISDIR(status.st_mode):
                below = os.open(name, HOLD, dir_fd=directory)
                try:
                    yield from _delete_tree(below, device, f"{shown_path}/{name}", depth - 1)
                finally:
                    os.close(below)
                os.rmdir(name, dir_fd=directory)
            else:
                os.unlink(name, dir_fd=directory)
        except FileNotFoundError:
            continue  # a command's own child may be clearing up still
        yield 0 if stat.S_ISDIR(status.st_mode) else status.st_size
