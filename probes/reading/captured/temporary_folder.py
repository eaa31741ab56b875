"""A temporary folder that a killed hostdx leaves to the next one: its name says which process made it."""

import os
import re
import shutil
import tempfile
from pathlib import Path

from hostdx.probes.files.path_ownership import known_path_writers_text
from hostdx.probes.number_text import parse_unsigned_list
from hostdx.probes.reading.process_stat import read_start_ticks

PREFIX = "hostdx-of-"
_NAME = re.compile(rf"{PREFIX}(\d{{1,10}})-(\d{{1,20}})-(\d{{1,20}})-")


def temporary_folder() -> "tempfile.TemporaryDirectory[str]":
    """Return a private folder in the temporary directory, after removing those that killed processes left there."""
    remove_leftovers()
    prefix = f"{PREFIX}{os.getpid()}-{read_start_ticks(os.getpid()) or 0}-{_pid_namespace_inode()}-"
    return tempfile.TemporaryDirectory(prefix=prefix, ignore_cleanup_errors=True)


def remove_leftovers() -> int:
    """Remove our user's folders whose process has ended; return how many. Raises nothing.

    Where others rule the temporary directory root removes nothing: a name there may be anybody's by then.
    """
    place = Path(tempfile.gettempdir())
    if known_path_writers_text(str(place)) or not shutil.rmtree.avoids_symlink_attacks:
        return 0
    removed = 0
    try:
        names = [name for name in os.listdir(place) if name.startswith(PREFIX)]  # noqa: PTH208
    except OSError:
        return 0
    for name in names:
        numbers = parse_unsigned_list(match.groups()) if (match := _NAME.match(name)) is not None else None
        if numbers and numbers[2] == _pid_namespace_inode() and read_start_ticks(numbers[0]) != numbers[1]:
            try:
                if (place / name).lstat().st_uid == os.geteuid():
                    shutil.rmtree(place / name)
                    removed += 1
            except OSError:
                continue
    return removed


def _pid_namespace_inode() -> int:
    """In another one the same number is another process."""
    try:
        return Path("/proc/self/ns/pid").stat().st_ino
    except OSError:
        return 0
