"""Where a path of a captured host lies on this machine: no symlink leads out of the root."""

# os functions on text: pathlib costs several times as much on thousands of files.
# ruff: noqa: PTH115

import errno
import os
from collections import deque

MAX_LINKS = 40  # what the kernel follows as well (path_resolution(7))


def resolve_host_path(
    root: str, path: str, *, follow_last: bool = True, followed_links: dict[str, str] | None = None
) -> str:
    """The host path that `path` stands for, without symlinks and `..`; absolute targets start at the root.

    With `follow_last` false a symlink in the last place is not followed; `followed_links` takes up each one on the way.
    Raises OSError (ENOENT, ELOOP, ...) and ValueError (a NUL or an unencodable character in the path).
    """
    done: list[str] = []
    todo = deque(path.split("/"))
    links = 0
    while todo:
        name = todo.popleft()
        if name in ("", "."):
            continue
        if name == "..":
            if done:
                done.pop()
            continue
        done.append(name)
        if not follow_last and not any(part not in ("", ".") for part in todo):
            break
        try:
            target = os.readlink(to_local_path(root, "/" + "/".join(done)))
        except OSError as error:
            if error.errno == errno.EINVAL:  # there, and not a symlink
                continue
            raise
        if followed_links is not None:
            followed_links["/" + "/".join(done)] = target
        links += 1
        if links > MAX_LINKS:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
        done = [] if target.startswith("/") else done[:-1]
        todo.extendleft(reversed(target.split("/")))
    return "/" + "/".join(done)


def to_local_path(root: str, path: str) -> str:
    """The path on this machine of a host path that holds no symlink."""
    return root.rstrip("/") + path
