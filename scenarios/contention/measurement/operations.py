"""The loads of the scaling probe, one operation at a time. Standard library only.

Modelled on FxMark (Min et al., "Understanding Manycore Scalability of File Systems", USENIX ATC 2016): in each of them
the program itself shares nothing, so what does not scale waits in the kernel. All names lie below one directory.
"""

import mmap
import os
import socket
from collections.abc import Callable
from typing import NamedTuple

WRITE_BYTES = 512
PRIVATE_BYTES = 10 << 20  # a private file is truncated then
MAX_SIDE_BYTES = 160 << 20  # of all files of a side
NAMES = 64  # that a worker makes, over and over
MAP_BYTES = 64 * mmap.PAGESIZE  # below a huge page, so that each page is a fault
_SPACING = 4096  # between the blocks that the workers overwrite in one file
_DATA = b"\x5a" * WRITE_BYTES
_FLAGS = os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
_HOLD = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Operation(NamedTuple):
    """`once` does `each` operations; the clock is read after `batch` calls of it. `finish` after the last one."""

    run_once: Callable[[], object]
    each: int = 1
    batch: int = 16
    limit: Callable[[], None] | None = None  # after each batch: keeps the bytes bounded
    finish: Callable[[], None] | None = None


def make_shared_and_own_files(folder: int, workers: int) -> None:
    """What the workers share, and a directory of each."""
    for name in ("shared", *(f"own{n}" for n in range(workers))):
        os.mkdir(name, 0o700, dir_fd=folder)
    for name, size in (("file", workers * _SPACING), ("mapped", workers * MAP_BYTES)):
        fd = os.open(name, _FLAGS | os.O_WRONLY, 0o600, dir_fd=folder)
        os.pwrite(fd, b"\0" * size, 0)
        os.close(fd)


def make_operation(load: str, folder: int, number: int, workers: int) -> Operation:
    """For worker `number` of so many. Raises OSError; ValueError for a load that there is not."""
    match load:
        case "cpu":
            return Operation(lambda: sum(_DATA[:64]))
        case "private":
            return _append_operation(_open_file(folder, f"own{number}/private", os.O_APPEND), workers)
        case "append":
            return _append_operation(_open_file(folder, "appended", os.O_APPEND), workers, PRIVATE_BYTES)
        case "overwrite":
            fd, at = _open_file(folder, "file"), number * _SPACING
            return Operation(lambda: os.pwrite(fd, _DATA, at))
        case "fsync":
            return _sync_operation(_open_file(folder, "file"), number * _SPACING)
        case "create":
            return _create_operation(os.open("shared", _HOLD, dir_fd=folder), number)
        case "directories":
            return _create_operation(os.open(f"own{number}", _HOLD, dir_fd=folder), number)
        case "anonymous":
            return Operation(_touch_anonymous_pages, MAP_BYTES // mmap.PAGESIZE, 1)
        case "mapped":
            return _map_and_touch_operation(_open_file(folder, "mapped"), number * MAP_BYTES)
        case "sockets":
            return _socket_round_trip()
    raise ValueError(f"there is no load {load}")


def _open_file(folder: int, name: str, extra_flags: int = 0) -> int:
    return os.open(name, _FLAGS | os.O_RDWR | extra_flags, 0o600, dir_fd=folder)


def _append_operation(fd: int, workers: int, max_bytes: int = MAX_SIDE_BYTES) -> Operation:
    """Each worker truncates after its share of `max_bytes`, so that all files together stay below it."""
    calls, written = 16, 0
    own = max(calls * WRITE_BYTES, min(PRIVATE_BYTES, max_bytes // workers))

    def truncate_if_full() -> None:
        nonlocal written
        written += calls * WRITE_BYTES
        if written >= own:
            os.ftruncate(fd, 0)
            written = 0

    # A short point ends before the limit: what it leaves would add up from point to point.
    return Operation(lambda: os.write(fd, _DATA), 1, calls, truncate_if_full, lambda: os.ftruncate(fd, 0))


def _sync_operation(fd: int, at: int) -> Operation:
    def write_and_sync() -> None:
        os.pwrite(fd, _DATA, at)
        os.fdatasync(fd)

    return Operation(write_and_sync, 1, 1)


def _create_operation(folder: int, number: int) -> Operation:
    """Create, write, close, rename, unlink: one operation."""
    names = [(f"{number}-{n}", f"{number}-{n}.done") for n in range(NAMES)]
    turn = 0

    def create_and_delete() -> None:
        nonlocal turn
        created_name, renamed_name = names[turn]
        turn = (turn + 1) % NAMES
        fd = os.open(created_name, _FLAGS | os.O_WRONLY, 0o600, dir_fd=folder)
        os.write(fd, _DATA)
        os.close(fd)
        os.rename(created_name, renamed_name, src_dir_fd=folder, dst_dir_fd=folder)
        os.unlink(renamed_name, dir_fd=folder)

    return Operation(create_and_delete, 1, 4)


def _touch_anonymous_pages() -> None:
    _write_pages_and_unmap(mmap.mmap(-1, MAP_BYTES, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS))


def _map_and_touch_operation(fd: int, at: int) -> Operation:
    """Write faults: the file system is told of each page."""
    return Operation(
        lambda: _write_pages_and_unmap(mmap.mmap(fd, MAP_BYTES, mmap.MAP_SHARED, offset=at)),
        MAP_BYTES // mmap.PAGESIZE,
        1,
    )


def _write_pages_and_unmap(area: mmap.mmap) -> None:
    for at in range(0, MAP_BYTES, mmap.PAGESIZE):
        area[at] = 1
    area.close()


def _socket_round_trip() -> Operation:
    """There and back in one process: nothing waits for another one, so only the kernel's own locks are shared."""
    here, there = socket.socketpair()
    data = _DATA[:64]

    def send_round_trip() -> None:
        here.send(data)
        there.send(there.recv(64))
        here.recv(64)

    return Operation(send_round_trip)
