"""The corners of IO500 in one worker (see `bench/corners/corner.py`). Standard library only.

ior's time ends with fsync, as `-e` has it; mdtest's files are neither synced nor held open. The names of a worker are
its own in the shared directory too, so nobody waits for a name, only for the directory. As there, each process has its
own description of a file that it reads (what the kernel reads ahead goes by that), and directories are new ones.
"""

import contextlib
import fcntl
import itertools
import os
import time
from collections.abc import Callable, Iterator, Sequence

from hostdx.probes.engine import loops
from hostdx.probes.engine.spec import LoadSpec

Step = Callable[[int], object]
Call = Callable[[bytes], object]
_NEW = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW
_OLD = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW
_MODE = 0o600
STRETCH = 256  # names between two looks at the clock
# Buffers that records are written from. ior has one, which stays in a core's cache; from 89 of them, 4 MiB, a record of
# 47,008 bytes took 10 % more CPU. Of five a page's content comes again after 640 records.
RECORD_BUFFERS = 5


def prepare_box_test(
    spec: LoadSpec, turns: Iterator[loops.Buffers], buffers: loops.Buffers
) -> loops.PreparedOperation:
    """As `operations.prepare_operation`; it draws the numbers of the operations."""
    phase, counting = spec["corner"], itertools.count()
    own = _open_file_or_folders(spec)
    if phase == "write":
        turns = itertools.cycle(list(itertools.islice(turns, RECORD_BUFFERS)))
    names = (
        [os.fsencode(name) for name in file_names_of(spec)] if phase not in ("write", "read", "find") else []
    )
    if phase == "write" and spec["first"] == 0:
        os.ftruncate(own[0], 0)  # every block writes a new file

    def run_loop(offsets: Iterator[int], stop: int, note: loops.Note) -> int:
        if phase == "find":
            return _time_finds(spec, own, offsets, note)
        if names:
            with _inside_directory(own[0]):
                return _run_over_names(spec, _call_on_name(spec, turns, buffers), names, offsets, stop, note)
        step = _make_block_step(spec, own[0], turns, buffers)
        ended = loops.run_operation(step, offsets, stop, note, spec["stretch"])
        if ended and phase == "write":
            os.fsync(own[0])
            ended = time.perf_counter_ns()
        return ended

    def close_files_and_remove_folder(_done: int) -> None:
        for fd in own:
            os.close(fd)
        if phase == "delete":
            with contextlib.suppress(OSError):  # whoever comes last
                os.rmdir(spec["folders"][0], dir_fd=spec["fds"][0])

    return loops.PreparedOperation(
        run_loop, close_files_and_remove_folder, lambda count: itertools.islice(counting, count)
    )


def _open_file_or_folders(spec: LoadSpec) -> list[int]:
    """The file once more, or the directories below `fds[0]`."""
    phase, fd = spec["corner"], spec["fds"][0]
    if phase == "write":
        return [os.dup(fd)]
    if phase == "read":
        direct = fcntl.fcntl(fd, fcntl.F_GETFL) & os.O_DIRECT
        return [os.open(f"/proc/self/fd/{fd}", os.O_RDONLY | os.O_CLOEXEC | direct)]
    if phase == "create":
        with contextlib.suppress(FileExistsError):
            os.mkdir(spec["folders"][0], 0o700, dir_fd=fd)
    return [open_folder(name, fd) for name in spec["folders"]]


def open_folder(name: str, below: int) -> int:
    return os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=below)


def file_names_of(spec: LoadSpec) -> list[str]:
    return [f"{spec['stem']}.{number}" for number in range(spec["names"])]


def _make_block_step(spec: LoadSpec, fd: int, turns: Iterator[loops.Buffers], buffers: loops.Buffers) -> Step:
    size, first, stride = spec["block_bytes"], spec["first"], spec["stride"]

    def write(number: int) -> None:
        offset = first + number * stride
        if (moved := os.pwritev(fd, next(turns), offset)) != size:
            loops.write_rest(fd, next(turns), offset, moved)

    def read(number: int) -> None:
        if os.preadv(fd, buffers, first + number * stride) != size:
            raise loops.ShortTransfer(first + number * stride)

    return write if spec["corner"] == "write" else read


def _call_on_name(spec: LoadSpec, turns: Iterator[loops.Buffers], buffers: loops.Buffers) -> Call:
    """Return what is done to a name in the current directory: with as little beside the system calls as Python has."""
    size, opened, close, writev, readv = spec["block_bytes"], os.open, os.close, os.writev, os.readv

    def create(name: bytes) -> None:
        close(opened(name, _NEW, _MODE))

    def write_whole(name: bytes) -> None:
        file = opened(name, _NEW, _MODE)
        try:
            moved = writev(file, next(turns))
            if moved != size:
                loops.write_rest(file, next(turns), 0, moved)
        finally:
            close(file)

    def read_whole(name: bytes) -> None:
        file = opened(name, _OLD)
        moved = readv(file, buffers)
        close(file)
        if moved != size:
            raise loops.ShortTransfer(0)

    create_call = write_whole if size else create
    calls: dict[str, Call] = {
        "create": create_call,
        "stat": os.lstat,
        "open": read_whole,
        "delete": os.unlink,
    }
    return calls[spec["corner"]]


@contextlib.contextmanager
def _inside_directory(directory: int) -> Iterator[None]:
    """The directory is the current one: the shortest call."""
    before = os.open("/", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    os.fchdir(directory)
    try:
        yield
    finally:
        os.fchdir(before)
        os.close(before)


def _run_over_names(
    spec: LoadSpec, call: Call, names: Sequence[bytes], offsets: Iterator[int], stop: int, note: loops.Note
) -> int:
    """Pass by pass, with nothing between two calls: names in memory are asked in 1.2 µs, created in 10, and a clock, a
    closure and a path of two parts take a microsecond more. What is noted of each is their mean.
    """
    if spec["stretch"]:
        return loops.run_operation(
            lambda number: call(names[number % len(names)]), offsets, stop, note, spec["stretch"]
        )
    now, done = time.perf_counter_ns, 0
    began = ended = now()
    while done < spec["least"] and ended < stop:  # a stretch at least, as `loops.run_operation`
        some = names[done % len(names) :][:STRETCH]
        for name in some:
            call(name)
        done, ended = done + len(some), now()
    for _ in range(done):
        note((ended - began) // done)
    return ended


def _time_finds(spec: LoadSpec, directories: Sequence[int], passes: Iterator[int], note: loops.Note) -> int:
    """All entries of the directories, a pass an operation: the name is looked at first, what has it is asked."""
    wanted, size, since = spec["wanted"], spec["block_bytes"], spec["since_ns"]
    now = time.perf_counter_ns
    ended = 0
    for _ in passes:
        began, match_count = now(), 0
        for fd in directories:
            for name in os.listdir(fd):  # noqa: PTH208 (a descriptor)
                if wanted in name:
                    state = os.stat(name, dir_fd=fd, follow_symlinks=False)
                    match_count += state.st_size == size and state.st_mtime_ns >= since
        ended = now()
        note(ended - began)
    return ended
