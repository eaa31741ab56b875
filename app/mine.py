"""Removing what is ours: a directory or file that carries our mark, and nothing that a link or a mount leads to."""

from __future__ import annotations

import errno
import os
import stat
import time
from pathlib import Path

from app.journal import Outcome

MARK = ".hostdx-"
DEPTH_LIMIT = 64


def remove_file(path: Path) -> Outcome:
    try:
        found = path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return Outcome("reverted", f"{path} is gone: nothing left to undo")
    if (
        not any(part.startswith(MARK) for part in path.parts)
        or not _ours(found)
        or not stat.S_ISREG(found.st_mode)
    ):
        return Outcome("failed", f"{path}: is not the file that hostdx made; not touched")
    path.unlink()
    return Outcome("reverted")


def remove_tree(path: Path) -> Outcome:
    """Follows no symlink and crosses no mount point: everything is opened relative to its parent, on one device."""
    if not path.name.startswith(MARK):
        return Outcome("failed", f"{path}: its name does not carry hostdx's mark; not touched")
    try:
        parent = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return Outcome("reverted", f"{path} is gone: nothing left to undo")
    try:
        found = os.stat(path.name, dir_fd=parent, follow_symlinks=False)
        if not _ours(found) or not stat.S_ISDIR(found.st_mode):
            return Outcome("failed", f"{path}: is not the directory that hostdx made; not touched")
        if found.st_dev != os.fstat(parent).st_dev:
            return Outcome("failed", f"{path}: something is mounted on it; `umount` it, then `hostdx undo`")
        _remove(parent, path, found.st_dev)
    except FileNotFoundError:
        return Outcome("reverted", f"{path} is gone: nothing left to undo")
    finally:
        os.close(parent)
    return Outcome("reverted")


def _remove(parent: int, path: Path, device: int) -> None:
    for attempt in range(20):
        try:
            _empty(parent, path.name, device, str(path), DEPTH_LIMIT)
            os.rmdir(path.name, dir_fd=parent)
            return
        except OSError as error:
            if error.errno != errno.ENOTEMPTY or attempt == 19:
                raise
            time.sleep(0.1)  # a worker that was killed just now may have made another file before it died


def _empty(parent: int, name: str, device: int, shown: str, depth: int) -> None:
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    directory = os.open(name, flags, dir_fd=parent)
    try:
        if os.fstat(directory).st_dev != device:
            raise OSError(f"{shown}: something is mounted on it; `umount` it, then `hostdx undo`")
        if depth == 0:
            raise OSError(f"{shown}: nested deeper than anything hostdx makes; not touched")
        with os.scandir(directory) as entries:
            names = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries]
        for child, is_directory in names:
            if is_directory:
                _empty(directory, child, device, f"{shown}/{child}", depth - 1)
                os.rmdir(child, dir_fd=directory)
            else:
                os.unlink(child, dir_fd=directory)
    finally:
        os.close(directory)


def _ours(found: os.stat_result) -> bool:
    return found.st_uid == os.geteuid()
