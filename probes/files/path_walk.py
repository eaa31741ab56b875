"""A path that a person typed, opened by a way that nobody else chose.

Who owns a folder on the way puts a link in the place of a name in it: root would write, or read to all, what the link
leads to. So each part is opened by descriptor (open(2), O_NOFOLLOW), and a link is followed only where the caller or
root alone could have made it.
"""

import os
import stat
from pathlib import Path
from typing import NamedTuple

from hostdx.probes.files.path_ownership import MAX_LINKS
from hostdx.probes.files.path_writers import other_writers


class UntrustedLink(Exception):
    """There is a link on the way that somebody else may have made; the text says where."""


class FolderAndName(NamedTuple):
    """The last name of a path. `folder` is an open descriptor, which the caller closes."""

    folder: int
    name: str
    others_may_write: bool  # whether others may make names in that folder
    is_open: bool = False  # no path, but what a process has open: /dev/stdout

    def open_name(self, flags: int, mode: int = 0) -> int:
        """Raises OSError: also where somebody has put a link there since."""
        follow = 0 if self.is_open else os.O_NOFOLLOW
        return os.open(self.name, flags | follow, mode, dir_fd=self.folder)


def open_trusted(path: str, flags: int, mode: int) -> tuple[int, bool]:
    """The descriptor, and whether others may make names in its folder. Raises UntrustedLink, OSError, ValueError.

    With O_PATH nothing is touched: a device or a FIFO may be named.
    """
    location = locate_name(path)
    try:
        return location.open_name(flags, mode), location.others_may_write
    finally:
        os.close(location.folder)


def locate_name(path: str) -> FolderAndName:
    """The folder of the last name, links followed; the name may be absent. Raises UntrustedLink,
    OSError, ValueError.
    """
    todo = path.split("/")[::-1]
    at = _open_folder_no_link("/" if path.startswith("/") else ".", None)
    links, devices = 0, set[int]()
    try:
        while True:
            part = todo.pop()
            last = not any(todo)
            if part in ("", ".") and not last:
                continue
            trusted = _only_caller_writes(at, devices)
            try:
                status = os.lstat(part, dir_fd=at) if part not in ("", ".", "..") else None
            except FileNotFoundError:
                status = None
            if status is not None and stat.S_ISLNK(status.st_mode):
                if not trusted and (os.geteuid() == 0 or status.st_uid not in (0, os.geteuid())):
                    raise UntrustedLink(f"{part} is a link in a folder that others may write to")
                if last and status.st_dev == Path("/proc").stat().st_dev:
                    return FolderAndName(os.dup(at), part, others_may_write=False, is_open=True)
                links += 1
                if links > MAX_LINKS:
                    raise UntrustedLink("too many links on the way")
                target = os.readlink(part, dir_fd=at)
                todo += target.split("/")[::-1]
                if target.startswith("/"):
                    at = _open_below_and_close(at, "/")
            elif last:
                return FolderAndName(os.dup(at), part or ".", others_may_write=not trusted)
            else:
                at = _open_below_and_close(at, part)
    finally:
        os.close(at)


def _only_caller_writes(folder: int, trusted_devices: set[int]) -> bool:
    """In a sticky folder others cannot rename what is the caller's, but they make names of their own. The mount table
    is read once for each file system on the way.
    """
    status = os.fstat(folder)
    is_new = status.st_dev not in trusted_devices
    trusted = not other_writers(status, f"/proc/self/fd/{folder}", file_system=is_new).objection
    if trusted:
        trusted_devices.add(status.st_dev)
    return trusted


def _open_below_and_close(at: int, part: str) -> int:
    below = _open_folder_no_link(part, at)
    os.close(at)
    return below


def _open_folder_no_link(part: str, at: int | None) -> int:
    return os.open(part, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=at)
