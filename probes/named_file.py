"""Opens to read what a person, a recording or a neighbour named: a regular file, and nothing else is touched.

Opening a FIFO waits, opening a tape or a watchdog does something. So it is looked at through a descriptor that reads
nothing (open(2), O_PATH), and the very file that was seen is opened by it (proc(5), /proc/self/fd).
"""

import errno
import os
import stat

from probes.path_walk import Misled, walked

_LOOK = os.O_PATH | os.O_CLOEXEC
# O_NONBLOCK: some regular files of procfs and tracefs wait for input (/proc/kmsg, trace_pipe)
_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_WHAT = {
    stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket", stat.S_IFBLK: "a block device", stat.S_IFCHR: "a device",
    stat.S_IFDIR: "a directory", stat.S_IFLNK: "a link",
}  # fmt: skip


def kind(mode: int) -> str:
    """What is no regular file, in words."""
    return _WHAT.get(stat.S_IFMT(mode), "something else")


def opened(path: str | os.PathLike[str]) -> int:
    """A descriptor to read, of a regular file. Raises OSError whose text says why not, ValueError.

    A link is followed where nobody but the caller or root could have put it there.
    """
    return opened_where(looked_at(path), os.fspath(path))


def looked_at(path: str | os.PathLike[str]) -> int:
    """An O_PATH descriptor of whatever it is. Raises OSError, ValueError."""
    try:
        return walked(os.fspath(path), _LOOK, 0)[0]
    except Misled as why:
        raise OSError(errno.EPERM, f"{why}; name what it leads to", os.fspath(path)) from None


def beside(name: str, folder: int) -> int:
    """As `looked_at`, of a name in an open folder; a link is what is looked at. Raises OSError."""
    return os.open(name, _LOOK | os.O_NOFOLLOW, dir_fd=folder)


def opened_where(looked: int, path: str) -> int:
    """The regular file that an O_PATH descriptor stands for, opened to read; `looked` is closed. Raises OSError."""
    try:
        mode = os.fstat(looked).st_mode
        if not stat.S_ISREG(mode):
            raise OSError(errno.EINVAL, f"{kind(mode)}, not a regular file", path)
        return os.open(f"/proc/self/fd/{looked}", _READ)
    finally:
        os.close(looked)
