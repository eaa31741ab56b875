"""Who else could rename what lies on the way to a directory: root that works below it is led elsewhere.

The rule is sshd's StrictModes, but for sticky directories: in `/tmp` nobody renames what is another's (inode(7)).
"""

import os
import pwd
import stat
from collections.abc import Iterator

MOST_LINKS = 40  # path_resolution(7)


def exposure(directory: str) -> str:
    """One sentence for root; empty for others, whose own rights are all that could be abused, and where nobody can."""
    who = ruled_by_others(directory)
    if not who:
        return ""
    return (
        f"{who}, who can rename what lies below it while root works there: "
        "hostdx holds its own directory open and follows no name, a command of yours may"
    )


def ruled_by_others(directory: str) -> str:
    """For root, who else rules a directory on the way: "/home/alice belongs to alice (uid 1000)"; else empty."""
    if os.geteuid() != 0:
        return ""
    try:
        return next((f"{path} {who}" for path, found in _on_the_way(directory) if (who := _who(found))), "")
    except OSError:
        return ""  # what is not there is refused for that


def _who(found: os.stat_result) -> str:
    if found.st_uid != 0:
        return f"belongs to {_name(found.st_uid)}"
    if found.st_mode & stat.S_ISVTX:
        return ""
    if found.st_mode & stat.S_IWOTH:
        return "is not sticky and may be written to by everybody"
    if found.st_mode & stat.S_IWGRP and found.st_gid != 0:
        return f"may be written to by group {found.st_gid}"
    return ""


def _name(uid: int) -> str:
    try:
        return f"{pwd.getpwuid(uid).pw_name} (uid {uid})"
    except KeyError:
        return f"uid {uid}"


def _on_the_way(directory: str) -> Iterator[tuple[str, os.stat_result]]:
    """Every directory that is passed on the way to it, over its links, and itself."""
    at, links = "/", 0
    todo = directory.split("/")[::-1]
    yield at, os.lstat(at)
    while todo:
        part = todo.pop()
        if part in ("", "."):
            continue
        path = os.path.dirname(at) if part == ".." else os.path.join(at, part)  # noqa: PTH118, PTH120
        found = os.lstat(path)
        if stat.S_ISLNK(found.st_mode) and (links := links + 1) <= MOST_LINKS:
            target = os.readlink(path)  # noqa: PTH115
            at = "/" if target.startswith("/") else at
            todo += target.split("/")[::-1]
            continue
        at = path
        yield at, found
