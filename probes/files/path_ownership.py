"""Who else could rename what lies on the way to a path: root that works below it is led elsewhere.

The rule is sshd's StrictModes, but for sticky directories: in `/tmp` nobody renames what is another's (inode(7)).
"""

import os
import stat
from collections.abc import Iterator

from hostdx.probes.files.path_writers import PathWriters, other_writers

MAX_LINKS = 40  # path_resolution(7)


def describe_exposure_of_root(directory: str) -> str:
    """One sentence for root; empty for others, whose own rights are all that could be abused, and where nobody can."""
    ruler = known_path_writers_text(directory)
    if not ruler:
        return ""
    return (
        f"{ruler}, who can rename what lies below it while root works there: "
        "hostdx holds its own directory open and follows no name, a command of yours may"
    )


def find_path_writers(path: str) -> PathWriters:
    """For root, who else rules a part of the way or the path itself ("/home/alice belongs to alice (uid 1000)").

    Nobody for other users, and for a path that is not there: that is refused elsewhere.
    """
    if os.geteuid() != 0:
        return PathWriters()
    unknown = ""
    devices: set[int] = set()
    try:
        for place, status in _paths_and_status_on_way(path):
            writers = other_writers(
                status, place, renames_only=True, file_system=status.st_dev not in devices
            )
            devices.add(status.st_dev)
            if writers.others:
                return PathWriters(f"{place} {writers.others}")
            if writers.unknown:
                unknown = unknown or f"{place} {writers.unknown}"
    except OSError:
        return PathWriters()
    return PathWriters("", unknown)


def known_path_writers_text(path: str) -> str:
    """Return whom `find_path_writers` is sure of: what is kept or reported goes on where nobody can know."""
    return find_path_writers(path).others


def find_root_objection(path: str) -> str:
    """Return why root does not run what the path holds: others rule it, or nobody can know who does."""
    return find_path_writers(path).objection


def _paths_and_status_on_way(directory: str) -> Iterator[tuple[str, os.stat_result]]:
    """Every directory that is passed on the way to it, over its links, and itself."""
    at, links = "/", 0
    todo = directory.split("/")[::-1]
    yield at, os.lstat(at)
    while todo:
        part = todo.pop()
        if part in ("", "."):
            continue
        path = os.path.dirname(at) if part == ".." else os.path.join(at, part)  # noqa: PTH118, PTH120
        status = os.lstat(path)
        if stat.S_ISLNK(status.st_mode) and (links := links + 1) <= MAX_LINKS:
            target = os.readlink(path)  # noqa: PTH115
            at = "/" if target.startswith("/") else at
            todo += target.split("/")[::-1]
            continue
        at = path
        yield at, status
