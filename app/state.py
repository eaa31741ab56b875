"""Where hostdx keeps what it must not forget: recordings and journals; and where its locks lie."""

import os
import resource
import stat
from pathlib import Path

from hostdx.app.terminal.failure import Failure
from hostdx.probes.files.path_ownership import known_path_writers_text
from hostdx.probes.files.rights import advice_for_failed_write

ELSEWHERE = "name another place: XDG_STATE_HOME=/DIRECTORY hostdx …"
ROOTS_OWN = "as root set XDG_STATE_HOME to a directory that is root's all the way up (default: /var/lib)"
# a run over two directories has up to 290 files open, one with the most file sets about 450
MIN_DESCRIPTORS, USUAL_DESCRIPTORS = 512, 1024
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


def has_journals() -> bool:
    """Return whether a run may have left an undo journal; True as well where the folder cannot be read."""
    try:
        return any(path.suffix == ".jsonl" for path in journal_dir().iterdir())
    except FileNotFoundError:
        return False
    except OSError:
        return True


def runtime_dir() -> Path:
    """`$XDG_RUNTIME_DIR/hostdx`, for root else `/run/hostdx`, else `/tmp/hostdx-UID`.

    Not below another user's directory: `su` leaves root the variable of who called it.
    """
    base = os.environ.get("XDG_RUNTIME_DIR", "")
    if base.startswith("/") and not known_path_writers_text(base):
        return Path(base) / "hostdx"
    if os.geteuid() == 0:
        return Path("/run/hostdx")
    return Path(f"/tmp/hostdx-{os.geteuid()}")


def make_private_dir(directory: Path, mode: int = 0o700) -> Path:
    """Makes the directory for us alone and checks that it is ours: in `/tmp` anybody could have made it first.

    `mode` may let others read (who measures is no secret), never write. Root makes nothing where others rule a folder
    on the way: they could put a link to any place there.
    """
    if directory.parent.name == "hostdx" or state_dir() in directory.parents:
        make_private_dir(
            directory.parent
        )  # who may write there could put another directory in this one's place
    if owner_text := known_path_writers_text(str(nearest_existing_folder(directory.parent))):
        raise Failure(f"{directory}: {owner_text}; {ROOTS_OWN}")
    try:
        for parent in reversed(directory.parents):
            if not parent.exists():
                parent.mkdir(mode=0o755, exist_ok=True)  # whatever the umask is
        directory.mkdir(mode=mode, exist_ok=True)
        status = directory.lstat()
    except OSError as error:
        raise Failure(
            f"{directory}: cannot be made: {error.strerror}; {error_advice(error, _name_other_place_hint(directory))}"
        ) from None
    if not stat.S_ISDIR(status.st_mode):
        raise Failure(
            f"{directory}: is not a directory; remove it, or set XDG_STATE_HOME and XDG_RUNTIME_DIR"
        )
    if status.st_uid != os.geteuid():
        raise Failure(
            f"{directory}: belongs to uid {status.st_uid}, not to you; remove it, or set XDG_STATE_HOME"
        )
    if status.st_mode & 0o022:
        raise Failure(f"{directory}: others may write to it; `chmod go-w` it first")
    return directory


def raise_descriptor_limit() -> None:
    """Raise the soft limit of open files to what a run needs, as far as the hard limit allows. Raises Failure."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < USUAL_DESCRIPTORS and soft != resource.RLIM_INFINITY:
        soft = USUAL_DESCRIPTORS if hard == resource.RLIM_INFINITY else min(hard, USUAL_DESCRIPTORS)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    if soft != resource.RLIM_INFINITY and soft < MIN_DESCRIPTORS:
        raise Failure(
            f"a run needs up to {MIN_DESCRIPTORS} open files, and the hard limit here is {soft}; nothing was started; "
            f"raise it as root (ulimit -Hn {USUAL_DESCRIPTORS}; LimitNOFILE= of a unit)"
        )


def remove_leftovers_and_check_room() -> None:
    """Before a run begins: what it must not forget finds room, or it is refused in one line. Raises Failure."""
    import tempfile  # not for every command

    from hostdx.probes.reading.captured.temporary_folder import remove_leftovers

    raise_descriptor_limit()
    remove_leftovers()

    directory = make_private_dir(journal_dir())
    try:
        with tempfile.TemporaryFile(dir=directory, buffering=0) as file:
            view = memoryview(bytes(ROOM_BYTES))
            while view:
                view = view[file.write(view) or 0 :]
            os.fsync(file.fileno())
    except OSError as error:
        raise Failure(
            f"{directory}: the undo journal cannot be written: {error.strerror}; so nothing was started; "
            f"{error_advice(error)}"
        ) from None


def error_advice(error: OSError, elsewhere: str = ELSEWHERE) -> str:
    """Return what helps where something could not be kept."""
    return advice_for_failed_write(error.errno, elsewhere)


def nearest_existing_folder(directory: Path) -> Path:
    """It, or the nearest one above."""
    return next((path for path in (directory, *directory.parents) if os.path.lexists(path)), Path("/"))


def _name_other_place_hint(directory: Path) -> str:
    if directory.is_relative_to(runtime_dir()) and not directory.is_relative_to(state_dir()):
        return "name another place: XDG_RUNTIME_DIR=/DIRECTORY hostdx …"
    return ELSEWHERE
