"""The corners of IO500 in one worker (see `bench/corners/corner.py`). Standard library only.

ior's time ends with fsync, as `-e` has it; mdtest's files are neither synced nor held open. The names of a worker are
its own in the shared directory too, so nobody waits for a name, only for the directory.
"""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Callable, Iterator

from probes.bench.engine import loops
from probes.bench.engine.spec import Spec

Step = Callable[[int], None]
_NEW = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW
_OLD = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW
_MODE = 0o600


def prepared(
    spec: Spec, turns: Iterator[loops.Buffers], buffers: loops.Buffers
) -> tuple[
    Callable[[Iterator[int], int, loops.Note], int], Callable[[int], None], Callable[[int], Iterator[int]]
]:
    """As `operations.prepared`: the loop, what is done after it, and the numbers of the operations."""
    what, fd = spec["corner"], spec["fds"][0]
    counting = itertools.count()
    step = _step(spec, fd, turns, buffers) if what != "find" else None
    if what == "write" and spec["first"] == 0:
        os.ftruncate(fd, 0)  # every block writes a new file

    def loop(offsets: Iterator[int], stop: int, note: loops.Note) -> int:
        if step is None:
            return _find(spec, note)
        ended = loops.any_operation(step, offsets, stop, note, spec["stretch"])
        if ended and what == "write":
            os.fsync(fd)
            ended = time.perf_counter_ns()
        return ended

    return loop, lambda done: None, lambda count: itertools.islice(counting, count)


def names_of(spec: Spec) -> list[str]:
    return [f"{spec['stem']}.{number}" for number in range(spec["names"])]


def _step(spec: Spec, fd: int, turns: Iterator[loops.Buffers], buffers: loops.Buffers) -> Step:
    what = spec["corner"]
    size = spec["block_bytes"]
    if what in ("write", "read"):
        first, stride = spec["first"], spec["stride"]

        def write(number: int) -> None:
            if os.pwritev(fd, next(turns), first + number * stride) != size:
                raise loops.Short(first + number * stride)

        def read(number: int) -> None:
            if os.preadv(fd, buffers, first + number * stride) != size:
                raise loops.Short(first + number * stride)

        return write if what == "write" else read
    names = names_of(spec)

    def create(number: int) -> None:
        file = os.open(names[number], _NEW, _MODE, dir_fd=fd)
        try:
            if size and os.writev(file, next(turns)) != size:
                raise loops.Short(0)
        finally:
            os.close(file)

    def stat(number: int) -> None:
        os.stat(names[number % len(names)], dir_fd=fd, follow_symlinks=False)

    def read_whole(number: int) -> None:
        file = os.open(names[number], _OLD, dir_fd=fd)
        try:
            if os.readv(file, buffers) != size:
                raise loops.Short(0)
        finally:
            os.close(file)

    def delete(number: int) -> None:
        os.unlink(names[number], dir_fd=fd)

    return {"create": create, "stat": stat, "open": read_whole, "delete": delete}[what]


def _find(spec: Spec, note: loops.Note) -> int:
    """All entries of the directories; like GNU find the name is looked at first, and only what has it is asked."""
    wanted, size, since = spec["wanted"], spec["block_bytes"], spec["since_ns"]
    began, seen, found = time.perf_counter_ns(), 0, 0
    for directory in spec["fds"]:
        fd = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=directory)
        try:
            with os.scandir(fd) as entries:
                for entry in entries:
                    seen += 1
                    if wanted in entry.name:
                        state = entry.stat(follow_symlinks=False)
                        found += state.st_size == size and state.st_mtime_ns >= since
        finally:
            os.close(fd)
    ended = time.perf_counter_ns()
    for _ in range(seen):
        note((ended - began) // max(1, seen))
    return ended
