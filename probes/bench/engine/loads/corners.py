"""The corners of IO500 in one worker (see `bench/corners/corner.py`). Standard library only.

ior's time ends with fsync, as `-e` has it; mdtest's files are neither synced nor held open. The names of a worker are
its own in the shared directory too, so nobody waits for a name, only for the directory. As there, each process has its
own description of a file that it reads (what the kernel reads ahead goes by that), and directories are new ones.
"""

from __future__ import annotations

import contextlib
import fcntl
import itertools
import os
import time
from collections.abc import Callable, Iterator, Sequence

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
    what, counting = spec["corner"], itertools.count()
    own = _opened(spec)
    step = _step(spec, own[0], turns, buffers) if what != "find" else None
    asked = [os.fsencode(name) for name in names_of(spec)] if what == "stat" else []
    if what == "write" and spec["first"] == 0:
        os.ftruncate(own[0], 0)  # every block writes a new file

    def loop(offsets: Iterator[int], stop: int, note: loops.Note) -> int:
        if step is None:
            return _find(spec, own, offsets, note)
        if what == "stat" and not spec["stretch"]:
            return _stat(spec["least"], asked, own[0], stop, note)
        ended = loops.any_operation(step, offsets, stop, note, spec["stretch"])
        if ended and what == "write":
            os.fsync(own[0])
            ended = time.perf_counter_ns()
        return ended

    def finish(done: int) -> None:
        for fd in own:
            os.close(fd)
        if what == "delete":
            with contextlib.suppress(OSError):  # whoever comes last
                os.rmdir(spec["folders"][0], dir_fd=spec["fds"][0])

    return loop, finish, lambda count: itertools.islice(counting, count)


def _opened(spec: Spec) -> list[int]:
    """The file once more, or the directories below `fds[0]`."""
    what, fd = spec["corner"], spec["fds"][0]
    if what == "write":
        return [os.dup(fd)]
    if what == "read":
        direct = fcntl.fcntl(fd, fcntl.F_GETFL) & os.O_DIRECT
        return [os.open(f"/proc/self/fd/{fd}", os.O_RDONLY | os.O_CLOEXEC | direct)]
    if what == "create":
        with contextlib.suppress(FileExistsError):
            os.mkdir(spec["folders"][0], 0o700, dir_fd=fd)
    return [open_folder(name, fd) for name in spec["folders"]]


def open_folder(name: str, below: int) -> int:
    return os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=below)


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


def _stat(least: int, names: Sequence[bytes], directory: int, stop: int, note: loops.Note) -> int:
    """Pass by pass, with nothing between two calls: names in memory are asked in 1.2 µs, and a clock, a closure and a
    path of two parts take a microsecond more. Within it the directory is the current one: the shortest call. What is
    noted of each is their mean.
    """
    now, stat = time.perf_counter_ns, os.lstat
    before = os.open("/", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    os.fchdir(directory)
    try:
        passes, began = 0, now()
        while True:  # a pass at least, as `loops.any_operation`
            for name in names:
                stat(name)
            passes, ended = passes + 1, now()
            if passes * len(names) >= least or ended >= stop:
                break
    finally:
        os.fchdir(before)
        os.close(before)
    each = (ended - began) // (passes * len(names))
    for _ in range(passes * len(names)):
        note(each)
    return ended


def _find(spec: Spec, directories: Sequence[int], passes: Iterator[int], note: loops.Note) -> int:
    """All entries of the directories, a pass an operation: the name is looked at first, what has it is asked."""
    wanted, size, since = spec["wanted"], spec["block_bytes"], spec["since_ns"]
    now = time.perf_counter_ns
    ended = 0
    for _ in passes:
        began, found = now(), 0
        for fd in directories:
            for name in os.listdir(fd):  # noqa: PTH208 (a descriptor)
                if wanted in name:
                    state = os.stat(name, dir_fd=fd, follow_symlinks=False)
                    found += state.st_size == size and state.st_mtime_ns >= since
        ended = now()
        note(ended - began)
    return ended
