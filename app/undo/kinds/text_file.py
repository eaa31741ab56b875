"""A file of text among the system's own: a unit of a timer. Made only where none is, removed only as it was made."""

import os
import stat
from pathlib import Path

from hostdx.app.terminal.failure import ChangeNotMade
from hostdx.app.undo.journal import UndoOutcome
from hostdx.probes.files.path_ownership import find_root_objection
from hostdx.scenarios.contract.action import Action

MARK = "hostdx-"


def checked_target_path(action: Action) -> str:
    """The target itself. Raises ChangeNotMade for a name without our mark, and where others could put a link in its
    place.
    """
    path = Path(action.target)
    if not path.is_absolute() or not path.name.startswith(MARK):
        raise ChangeNotMade(f"{action.title}: {path}: its name does not carry hostdx's mark")
    if owner_text := find_root_objection(str(path.parent)):
        raise ChangeNotMade(f"{action.title}: {path}: {owner_text}")
    return str(path)


def make_file(path: str, text: str) -> None:
    """Readable by everybody, on the disk when it returns. Raises OSError, also where there is a file already."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
    try:
        os.fchmod(descriptor, 0o644)  # whatever the umask is
        view = memoryview(text.encode())
        while view:
            view = view[os.write(descriptor, view) :]
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def remove_file(path: str, text: str) -> UndoOutcome:
    """Never raises. What somebody changed meanwhile stays; half of what we wrote (a full disk) goes."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    except FileNotFoundError:
        return UndoOutcome("reverted", f"{path} is gone: nothing left to undo")
    except OSError as why:
        return UndoOutcome("failed", f"{path}: {why.strerror}")
    try:
        own_text = text.encode()
        plain = stat.S_ISREG(os.fstat(descriptor).st_mode)
        if not plain or not own_text.startswith(os.pread(descriptor, len(own_text) + 1, 0)):
            return UndoOutcome(
                "kept", f"{path}: somebody changed it since hostdx wrote it; remove it by hand"
            )
        Path(path).unlink()
    except OSError as why:
        return UndoOutcome("failed", f"{path}: {why.strerror}")
    finally:
        os.close(descriptor)
    return UndoOutcome("reverted")
