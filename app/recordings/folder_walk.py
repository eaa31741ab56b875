"""The files below a folder that holds many answers."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

from app.terminal.failure import USAGE, Failure

MAX_FILES = 100_000
MAX_DEPTH = 6  # folders below the one that was named


def files_below(
    subject: str,
    folder: Path,
    is_wanted: Callable[[str], bool],
    on_refused: Callable[[str, str], object] = lambda _name, _why: None,
) -> Iterator[Path]:
    """Yield the regular files whose names are wanted, in order of names, a folder's files before its folders.

    No link is followed, as who may write there must not name a file of ours. `on_refused` is called with the name of a
    wanted one that is no regular file, and why it is left out. Hidden folders are left out. `subject` begins the line
    of the Failure that this raises.
    """
    waiting, count = [(folder, 0)], 0
    while waiting:
        at, depth = waiting.pop()
        try:
            entries = sorted(os.scandir(at), key=lambda entry: entry.name)
        except OSError as why:
            raise Failure(f"{subject}: {at}: cannot be read: {why.strerror}", USAGE) from None
        below = []
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                if depth < MAX_DEPTH and not entry.name.startswith("."):
                    below.append((Path(entry.path), depth + 1))
            elif not is_wanted(entry.name):
                continue
            elif entry.is_symlink():
                on_refused(entry.name, "a link; links are not followed")
            elif not entry.is_file(follow_symlinks=False):
                on_refused(entry.name, "no regular file")
            else:
                count += 1
                if count > MAX_FILES:
                    raise Failure(f"{subject}: {folder}: more than {MAX_FILES} files; name fewer", USAGE)
                yield Path(entry.path)
        waiting += reversed(below)
