"""Drops files from the page cache: `python -m hostdx.probes.engine.command.drop_cache PATH...`. Standard library only.

Folders with all that is below them, by descriptor, links not followed and nothing but regular files opened. Written
back first, for only clean pages are dropped (posix_fadvise(2)); what a program has mapped stays. On a file system that
does not answer this hangs, so it is a child of its own. Prints the number of files and their bytes.
"""

import os
import stat
import sys
from collections.abc import Iterator

from hostdx.probes.files.safe_read import open_path_in, open_path_only, reopen_regular

MAX_FILES = 1_000_000
MAX_DEPTH = 200


def open_files_below(path_fd: int, depth: int = MAX_DEPTH) -> Iterator[int]:
    """O_PATH descriptors of what is no folder, at it or below it; what goes meanwhile is passed over.

    Who takes one closes it.
    """
    if not stat.S_ISDIR(os.fstat(path_fd).st_mode):
        yield path_fd
        return
    try:
        names = os.listdir(f"/proc/self/fd/{path_fd}") if depth else []  # noqa: PTH208
        for name in names:
            try:
                below = open_path_in(name, path_fd)
            except OSError:
                continue
            yield from open_files_below(below, depth - 1)
    except OSError:
        return
    finally:
        os.close(path_fd)


def drop_file_cache_and_close(path_fd: int) -> int | None:
    """Its bytes; None where it is no regular file, or may not be read. Closes it."""
    try:
        descriptor = reopen_regular(path_fd, "")
    except OSError:
        return None
    try:
        os.fdatasync(descriptor)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        return os.fstat(descriptor).st_size
    finally:
        os.close(descriptor)


def main(paths: list[str]) -> None:
    count = total = 0
    for path in paths:
        try:
            for file in open_files_below(open_path_only(path)):
                size = drop_file_cache_and_close(file)
                if size is not None:
                    count, total = count + 1, total + size
                if count >= MAX_FILES:
                    break
        except OSError as why:
            sys.exit(f"{path}: {why.strerror}")
    os.write(1, f"{count} {total}\n".encode())


if __name__ == "__main__":
    main(sys.argv[1:])
