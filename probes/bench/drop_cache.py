"""Drops files from the page cache: `python -P -m probes.bench.drop_cache PATH...`. Standard library only.

Folders with all that is below them, links not followed. Written back first, for only clean pages are dropped
(posix_fadvise(2)); what a program has mapped stays. On a file system that does not answer this hangs, so it is a
child of its own. Prints the number of files and their bytes.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

MOST_FILES = 1_000_000


def files(path: str) -> Iterator[str]:
    """Raises OSError where there is no such path."""
    if not stat.S_ISDIR(Path(path).stat().st_mode):
        yield path
        return
    for folder, _, names in os.walk(path):
        for name in names:
            yield f"{folder}/{name}"


def drop(path: str) -> int | None:
    """Its bytes; None where it is no file, or may not be read."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            return None
        os.fdatasync(descriptor)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        return status.st_size
    finally:
        os.close(descriptor)


def main(paths: list[str]) -> None:
    count = total = 0
    for path in paths:
        try:
            for found in files(os.path.realpath(path)):
                size = drop(found)
                if size is not None:
                    count, total = count + 1, total + size
                if count >= MOST_FILES:
                    break
        except OSError as why:
            sys.exit(f"{path}: {why.strerror}")
    os.write(1, f"{count} {total}\n".encode())


if __name__ == "__main__":
    main(sys.argv[1:])
