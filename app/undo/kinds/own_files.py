"""Making and removing what is ours: the very directory that was made, and nothing that a link leads to.

On a file system that does not answer both hang, in a state that nothing gets a process out of: so a
child does them. Run as `python -m hostdx.app.undo.kinds.own_files` it is that child.
"""

import errno
import os
import stat
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from hostdx.app.terminal.failure import ChangeNotMade
from hostdx.app.terminal.process import boot_id
from hostdx.app.undo.journal import FileSystemId, UndoOutcome
from hostdx.app.undo.kinds import bounded_child
from hostdx.probes.files.private_directory import (
    Inode,
    PrivateDirectory,
    inode_of,
    is_owned_by_caller,
    open_parent,
)

MARK = ".hostdx-"
FORGET = "; look at it, then `hostdx undo --forget` removes it from the journal"
CLOCKS_DIFFER_NS = 10**9  # a file system stamps with a clock that ticks a hundred times a second
TIMEOUT_S = 5.0  # without anything being removed


def make_directory(path: str, *, fds: Sequence[int] = ()) -> Inode:
    """A directory: which one it is. Raises ChangeNotMade."""
    request = {"do": "make", "path": path}
    try:
        inode_or_error = bounded_child.ask_child(
            "hostdx.app.undo.kinds.own_files", request, timeout_s=TIMEOUT_S, fds=fds
        )
    except bounded_child.StuckChild as why:
        raise ChangeNotMade(f"{path}: {why}", why.writer) from None
    except bounded_child.DeadChild as why:
        raise ChangeNotMade(f"{path}: {why}") from None
    if isinstance(inode_or_error, str):
        raise ChangeNotMade(f"{path}: {inode_or_error}")
    return msgspec.convert(inode_or_error, Inode)


def remove_directory(
    path: str, made_on: FileSystemId | None, inode: Inode | None, *, fds: Sequence[int] = ()
) -> UndoOutcome:
    """Never raises. `made_on`: where it was made; `inode`: which one it was, None where the journal does not tell."""
    request = {
        "do": "remove",
        "path": path,
        "place": msgspec.to_builtins(made_on),
        "inode": msgspec.to_builtins(inode),
    }
    try:
        return msgspec.convert(
            bounded_child.ask_child("hostdx.app.undo.kinds.own_files", request, timeout_s=TIMEOUT_S, fds=fds),
            UndoOutcome,
        )
    except bounded_child.StuckChild as why:
        return UndoOutcome("failed", f"{path}: {why}", True, why.writer)
    except bounded_child.DeadChild as why:
        return UndoOutcome("failed", f"{path}: {why}")


def _carry_out_request(request: Any, going_on: Callable[[], None]) -> object:
    path = Path(request["path"])
    try:
        if request["do"] == "make":
            return msgspec.to_builtins(_make_private_directory(path))
        place = msgspec.convert(request["place"], FileSystemId | None)
        inode = msgspec.convert(request["inode"], Inode | None)
        return msgspec.to_builtins(remove_own_directory(path, place, inode, going_on))
    except OSError as why:
        from hostdx.probes.system.disk.failing import device_error_suffix

        text = (why.strerror or str(why)) + device_error_suffix(str(path), why.errno)
        return text if request["do"] == "make" else {"state": "failed", "reason": f"{path}: {text}"}


def _make_private_directory(path: Path) -> Inode:
    parent = open_parent(str(path))
    try:
        return _make_new_and_empty_in(parent, path)
    finally:
        os.close(parent)


def _make_new_and_empty_in(parent: int, path: Path) -> Inode:
    """mkdir(2) gives no descriptor: what is opened by that name must be as new and as empty as what was just made."""
    began_ns = time.time_ns()
    os.mkdir(path.name, 0o700, dir_fd=parent)
    new_directory = PrivateDirectory.open_last_part(parent, str(path))
    try:
        inode = inode_of(new_directory.fd)
        new = inode.born_ns is None or inode.born_ns > began_ns - CLOCKS_DIFFER_NS
        if inode.device != os.fstat(parent).st_dev or not new_directory.is_empty() or not new:
            raise OSError("another directory was put in its place while it was made")
        return inode
    finally:
        new_directory.close()


def _outcome_of_missing(path: Path, place: FileSystemId | None) -> UndoOutcome:
    """Gone only where it was: on another file system, mounted over or instead of its own, nothing can be said."""
    from hostdx.app.undo.kinds.file_system_identity import (  # a third of the child's start, and seldom needed
        is_device_gone,
        is_on_file_system,
    )

    if place is None or is_on_file_system(place, path):
        return UndoOutcome("reverted", f"{path} is gone: nothing left to undo")
    if place.in_memory:
        return UndoOutcome("reverted", f"{path} is gone with its file system, which was in memory")
    source_name = place.source or f"device {place.device}"
    if is_device_gone(place):
        return UndoOutcome(
            "kept", f"{source_name} is gone, and {path} on it; if it comes back, remove that by hand"
        )
    mountpoint_hint = f" on {place.mountpoint}" if place.mountpoint else ""
    return UndoOutcome(
        "failed",
        f"{path}: its file system is not mounted: mount {source_name}{mountpoint_hint} first, then `hostdx undo`",
    )


def remove_own_directory(
    path: Path,
    made_on: FileSystemId | None = None,
    inode: Inode | None = None,
    going_on: Callable[[], None] = lambda: None,
) -> UndoOutcome:
    """Empties the very directory that was made, by its descriptor. Another one, or one that the journal does not tell
    from others, goes only if it is empty: names and owners can be had by renaming.
    """
    if not path.name.startswith(MARK):
        return UndoOutcome("failed", f"{path}: its name does not carry hostdx's mark; not touched")
    try:
        parent = open_parent(str(path))
    except (FileNotFoundError, NotADirectoryError):
        return _outcome_of_missing(path, made_on)
    try:
        status = os.stat(path.name, dir_fd=parent, follow_symlinks=False)
        if not is_owned_by_caller(status) or not stat.S_ISDIR(status.st_mode):
            return UndoOutcome(
                "failed", f"{path}: is not the directory that hostdx made; not touched{FORGET}"
            )
        if status.st_dev != os.fstat(parent).st_dev:
            return UndoOutcome(
                "failed", f"{path}: something is mounted on it; `umount` it, then `hostdx undo`"
            )
        held = PrivateDirectory.open_last_part(parent, str(path))
        try:
            rebooted = made_on is not None and made_on.boot != boot_id()
            if inode is not None and inode.is_same_inode(inode_of(held.fd), rebooted=rebooted):
                _remove_held(parent, path, held, going_on)
            elif not held.is_empty():
                return _outcome_of_other_directory(path, inode)
            else:
                os.rmdir(path.name, dir_fd=parent)
        finally:
            held.close()
    except FileNotFoundError:
        return _outcome_of_missing(path, made_on)
    finally:
        os.close(parent)
    return UndoOutcome("reverted")


def _outcome_of_other_directory(path: Path, inode: Inode | None) -> UndoOutcome:
    if inode is None:
        why = "the journal does not tell which directory was made, and this one is not empty"
    else:
        why = "another directory than hostdx made, and not empty"
    return UndoOutcome("failed", f"{path}: {why}; not touched{FORGET}")


def _remove_held(parent: int, path: Path, directory: PrivateDirectory, going_on: Callable[[], None]) -> None:
    for attempt in range(20):
        try:
            for _ in directory.delete_contents():
                going_on()
            os.rmdir(path.name, dir_fd=parent)  # whatever has this name now: only an empty one goes
            return
        except OSError as error:
            if error.errno != errno.ENOTEMPTY or attempt == 19:
                raise
            time.sleep(0.1)  # a worker that was killed just now may have made another file before it died


if __name__ == "__main__":
    bounded_child.serve_request(_carry_out_request)
