"""Where hostdx keeps what it must not forget: recordings and journals; and where its locks lie."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from app.failure import Failure

ELSEWHERE = "make room there, or name another place: XDG_STATE_HOME=/DIRECTORY hostdx …"
ROOM_BYTES = 16 << 10  # a journal's first entries and a recording's first lines


def state_dir() -> Path:
    """`$XDG_STATE_HOME/hostdx`, for root else `/var/lib/hostdx` (sudo changes HOME), else `~/.local/state/hostdx`."""
    home = os.environ.get("XDG_STATE_HOME", "")
    if home.startswith("/"):
        return Path(home) / "hostdx"
    if os.geteuid() == 0:
        return Path("/var/lib/hostdx")
    return Path(os.path.expanduser("~")) / ".local/state/hostdx"  # noqa: PTH111 (never raises)


def recordings_dir() -> Path:
    return state_dir() / "recordings"


def journal_dir() -> Path:
    return state_dir() / "journal"


def runtime_dir() -> Path:
    """`$XDG_RUNTIME_DIR/hostdx`, for root else `/run/hostdx`, else `/tmp/hostdx-UID`."""
    base = os.environ.get("XDG_RUNTIME_DIR", "")
    if base.startswith("/"):
        return Path(base) / "hostdx"
    if os.geteuid() == 0:
        return Path("/run/hostdx")
    return Path(f"/tmp/hostdx-{os.geteuid()}")


def private(directory: Path, mode: int = 0o700) -> Path:
    """Makes the directory for us alone and checks that it is ours: in `/tmp` anybody could have made it first.

    `mode` may let others read (who measures is no secret), never write.
    """
    if directory.parent.name == "hostdx":
        private(directory.parent)  # who may write there could put another directory in this one's place
    try:
        directory.mkdir(mode=mode, parents=True, exist_ok=True)
        found = directory.lstat()
    except OSError as error:
        raise Failure(f"{directory}: cannot be made: {error.strerror}; {_elsewhere(directory)}") from None
    if not stat.S_ISDIR(found.st_mode):
        raise Failure(
            f"{directory}: is not a directory; remove it, or set XDG_STATE_HOME and XDG_RUNTIME_DIR"
        )
    if found.st_uid != os.geteuid():
        raise Failure(
            f"{directory}: belongs to uid {found.st_uid}, not to you; remove it, or set XDG_STATE_HOME"
        )
    if found.st_mode & 0o022:
        raise Failure(f"{directory}: others may write to it; `chmod go-w` it first")
    return directory


def check_room() -> None:
    """Before a run begins: what it must not forget finds room, or it is refused in one line. Raises Failure."""
    import tempfile  # not for every command

    directory = private(journal_dir())
    try:
        with tempfile.TemporaryFile(dir=directory, buffering=0) as file:
            view = memoryview(bytes(ROOM_BYTES))
            while view:
                view = view[file.write(view) or 0 :]
            os.fsync(file.fileno())
    except OSError as error:
        raise Failure(
            f"{directory}: the undo journal cannot be written: {error.strerror}; so nothing was begun; {ELSEWHERE}"
        ) from None


def _elsewhere(directory: Path) -> str:
    if directory.is_relative_to(runtime_dir()) and not directory.is_relative_to(state_dir()):
        return "name another place: XDG_RUNTIME_DIR=/DIRECTORY hostdx …"
    return ELSEWHERE
