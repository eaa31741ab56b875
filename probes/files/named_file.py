"""Opens to read what a person, a recording or a neighbour named: a regular file, and nothing else is touched.

Opening a FIFO waits, opening a tape or a watchdog does something. So it is looked at through a descriptor that reads
nothing (open(2), O_PATH), and the very file that was seen is opened by it (proc(5), /proc/self/fd).
"""

import errno
import os
import stat

from hostdx.probes.files.path_walk import Misled, open_trusted

_LOOK = os.O_PATH | os.O_CLOEXEC
# O_NONBLOCK: some regular files of procfs and tracefs wait for input (/proc/kmsg, trace_pipe)
_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_KIND_WORDS = {
    stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket", stat.S_IFBLK: "a block device", stat.S_IFCHR: "a device",
    stat.S_IFDIR: "a directory", stat.S_IFLNK: "a link",
}  # fmt: skip


def describe_kind(mode: int) -> str:
    """Return what is no regular file, in words."""
    return _KIND_WORDS.get(stat.S_IFMT(mode), "something else")


def open_regular(path: str | os.PathLike[str]) -> int:
    """A descriptor to read, of a regular file. Raises OSError whose text says why not, ValueError.

    A link is followed where nobody but the caller or root could have put it there.
    """
    return reopen_regular(open_path_only(path), os.fspath(path))


def open_path_only(path: str | os.PathLike[str]) -> int:
    """An O_PATH descriptor of whatever it is. Raises OSError, ValueError."""
    try:
        return open_trusted(os.fspath(path), _LOOK, 0)[0]
    except Misled as why:
        raise OSError(errno.EPERM, f"{why}; name what it leads to", os.fspath(path)) from None


def open_path_in(name: str, folder: int) -> int:
    """As `open_path_only`, of a name in an open folder; a link is what is looked at. Raises OSError."""
    return os.open(name, _LOOK | os.O_NOFOLLOW, dir_fd=folder)


def reopen_regular(path_fd: int, path: str) -> int:
    """The regular file that an O_PATH descriptor stands for, opened to read; `path_fd` is closed. Raises OSError."""
    try:
        mode = os.fstat(path_fd).st_mode
        if not stat.S_ISREG(mode):
            raise OSError(errno.EINVAL, f"{describe_kind(mode)}, not a regular file", path)
        return os.open(f"/proc/self/fd/{path_fd}", _READ)
    finally:
        os.close(path_fd)
