"""Making and removing what is ours: a directory or file that carries our mark, and nothing that a link leads to.

On a file system that does not answer both hang, in a state that nothing gets a process out of: so a child does them.
Run as `python -P -m app.mine` it is that child.
"""

from __future__ import annotations

import errno
import os
import stat
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from app import bounded
from app.failure import NotDone
from app.journal import Outcome, Place
from app.place import is_there, lost

MARK = ".hostdx-"
DEPTH_LIMIT = 64
TIMEOUT_S = 5.0  # without anything being removed


def make(path: str, kind: str, text: str = "", size: int | None = None, *, keep: Sequence[int] = ()) -> None:
    """A directory, or a file with that text and of that size. Raises NotDone."""
    request = {"do": "make", "kind": kind, "path": path, "text": text, "size": size}
    try:
        trouble = bounded.ask("app.mine", request, timeout_s=TIMEOUT_S, keep=keep)
    except bounded.Stuck as why:
        raise NotDone(f"{path}: {why}", why.writer) from None
    except bounded.Died as why:
        raise NotDone(f"{path}: {why}") from None
    if trouble:
        raise NotDone(f"{path}: {trouble}")


def remove(path: str, kind: str, place: Place | None, *, keep: Sequence[int] = ()) -> Outcome:
    """Never raises. `place`: where it was made."""
    request = {"do": "remove", "kind": kind, "path": path, "place": msgspec.to_builtins(place)}
    try:
        return msgspec.convert(bounded.ask("app.mine", request, timeout_s=TIMEOUT_S, keep=keep), Outcome)
    except bounded.Stuck as why:
        return Outcome("failed", f"{path}: {why}", True, why.writer)
    except bounded.Died as why:
        return Outcome("failed", f"{path}: {why}")


def _carried_out(request: Any, going_on: Callable[[], None]) -> object:
    path = Path(request["path"])
    try:
        if request["do"] == "make":
            return _make(path, request)
        place = msgspec.convert(request["place"], Place | None)
        if request["kind"] == "directory":
            return msgspec.to_builtins(remove_tree(path, place, going_on))
        return msgspec.to_builtins(remove_file(path, place))
    except OSError as why:
        text = why.strerror or str(why)
        return text if request["do"] == "make" else {"state": "failed", "reason": f"{path}: {text}"}


def _make(path: Path, request: Any) -> str:
    if request["kind"] == "directory":
        path.mkdir(mode=0o700)
        return ""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        os.write(descriptor, request["text"].encode())
        if request["size"] is not None:
            os.ftruncate(descriptor, request["size"])
    finally:
        os.close(descriptor)
    return ""


def _missing(path: Path, place: Place | None) -> Outcome:
    """Gone only where it was: on another file system, mounted over or instead of its own, nothing can be said."""
    if place is None or is_there(place, path):
        return Outcome("reverted", f"{path} is gone: nothing left to undo")
    if place.in_memory:
        return Outcome("reverted", f"{path} is gone with its file system, which was in memory")
    what = place.source or f"device {place.device}"
    if lost(place):
        return Outcome("kept", f"{what} is gone, and {path} on it; if it comes back, remove that by hand")
    where = f" on {place.mountpoint}" if place.mountpoint else ""
    return Outcome(
        "failed", f"{path}: its file system is not mounted: mount {what}{where} first, then `hostdx undo`"
    )


def remove_file(path: Path, place: Place | None = None) -> Outcome:
    try:
        found = path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return _missing(path, place)
    if (
        not any(part.startswith(MARK) for part in path.parts)
        or not _ours(found)
        or not stat.S_ISREG(found.st_mode)
    ):
        return Outcome("failed", f"{path}: is not the file that hostdx made; not touched")
    path.unlink()
    return Outcome("reverted")


def remove_tree(
    path: Path, place: Place | None = None, going_on: Callable[[], None] = lambda: None
) -> Outcome:
    """Follows no symlink and crosses no mount point: everything is opened relative to its parent, on one device."""
    if not path.name.startswith(MARK):
        return Outcome("failed", f"{path}: its name does not carry hostdx's mark; not touched")
    try:
        parent = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return _missing(path, place)
    try:
        found = os.stat(path.name, dir_fd=parent, follow_symlinks=False)
        if not _ours(found) or not stat.S_ISDIR(found.st_mode):
            return Outcome("failed", f"{path}: is not the directory that hostdx made; not touched")
        if found.st_dev != os.fstat(parent).st_dev:
            return Outcome("failed", f"{path}: something is mounted on it; `umount` it, then `hostdx undo`")
        _remove(parent, path, found.st_dev, going_on)
    except FileNotFoundError:
        return _missing(path, place)
    finally:
        os.close(parent)
    return Outcome("reverted")


def _remove(parent: int, path: Path, device: int, going_on: Callable[[], None]) -> None:
    for attempt in range(20):
        try:
            _empty(parent, path.name, device, str(path), DEPTH_LIMIT, going_on)
            os.rmdir(path.name, dir_fd=parent)
            return
        except OSError as error:
            if error.errno != errno.ENOTEMPTY or attempt == 19:
                raise
            time.sleep(0.1)  # a worker that was killed just now may have made another file before it died


def _empty(parent: int, name: str, device: int, shown: str, depth: int, going_on: Callable[[], None]) -> None:
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
                _empty(directory, child, device, f"{shown}/{child}", depth - 1, going_on)
                os.rmdir(child, dir_fd=directory)
            else:
                os.unlink(child, dir_fd=directory)
            going_on()
    finally:
        os.close(directory)


def _ours(found: os.stat_result) -> bool:
    return found.st_uid == os.geteuid()


if __name__ == "__main__":
    bounded.serve(_carried_out)
