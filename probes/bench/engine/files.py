"""The files under test: without a name, so that nothing is left even after a power cut."""

from __future__ import annotations

import ctypes
import errno
import itertools
import mmap
import os
import random
import secrets
import threading
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from probes.bench.engine.neighbours import Neighbours
from probes.bench.measured import BenchRefused
from probes.system.disk.failing import whose_error

# What open(2) answers where a file system knows no O_TMPFILE or no O_DIRECT.
_NOT_THIS_WAY = {errno.EINVAL, errno.EOPNOTSUPP, errno.EISDIR, errno.ENOENT, errno.ENOSYS}
_MODE = 0o600
ALIGNED = 1 << 20
CLOSE_S = 2.0  # a storage that hangs must not keep a run from ending
PIECE_BYTES = 1 << 20  # the smallest that streams write in one go


class TestFile(msgspec.Struct, frozen=True):
    """An open file of `bytes` bytes; `direct` where O_DIRECT works, `unnamed` where it never had a name."""

    __test__ = False  # not a test class

    fd: int
    bytes: int
    direct: bool
    unnamed: bool


class FileSet:
    """The open files of one directory: one that is read, several that are written to (`workloads.write_files`)."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._files: dict[str, list[TestFile]] = {}
        self._next: Iterator[int] = iter(())
        self._written: set[int] = set()  # descriptors, since `take_written`
        self._closed = False
        self._lock = threading.Lock()

    def __iter__(self) -> Iterator[TestFile]:
        return itertools.chain.from_iterable(self._files.values())

    def add(self, kind: str, file: TestFile) -> None:
        if self._closed:  # by a run that was ended meanwhile
            os.close(file.fd)
        else:
            self._files.setdefault(kind, []).append(file)

    def open(self) -> None:
        """For files to be laid; those laid after `close` are closed at once."""
        self._closed = False

    def laying(
        self,
        directory: int,
        shown: str,
        read_bytes: int,
        write_bytes: Sequence[int],
        neighbours: Neighbours,
    ) -> Iterator[None]:
        """Makes the files, unwritten, step by step: a piece of one that is written to, after the last one a part of the
        one that is read.

        Where a file lies counts: streamed writes to one stretch of a virtual disk were 10 to 40 % slower than to the
        next one. So what is written to lies between what is read, the steps of several sides are done in turn
        (`in_turn`), and files of one number begin side by side (`neighbours`): like directories of one file system
        then share its stretches. `directory`: its descriptor. Raises BenchRefused with one line.
        """
        if self._closed:
            return

        def made(number: int, size: int) -> TestFile:
            return neighbours.nearest(
                number, lambda: open_unnamed(directory, shown, size, reserved_bytes=PIECE_BYTES)
            )

        read = made(-1, read_bytes) if read_bytes else None
        if read is not None:
            self.add("read", read)
        parts = max(1, len(write_bytes))
        for part in range(parts):
            for size in write_bytes[part : part + 1]:
                file = made(part, size)
                self.add("write", file)
                for start in range(PIECE_BYTES, size, PIECE_BYTES):
                    yield
                    if not self._reserved(file, start, min(PIECE_BYTES, size - start), shown):
                        return
                yield
            if read is not None:
                start, end = (read_bytes * n // parts // ALIGNED * ALIGNED for n in (part, part + 1))
                if not self._reserved(read, start, end - start, shown):
                    return
            yield
            if self._closed:
                return

    def _reserved(self, file: TestFile, start: int, length: int, shown: str) -> bool:
        """False where they are closed: another thread may have a file of that number by now. Raises BenchRefused."""
        with self._lock:
            if self._closed:
                return False
            try:
                reserve(file.fd, start, length)
            except OSError as error:
                raise BenchRefused(_why(shown, error, file.bytes)) from error
        return True

    def of(self, kind: str) -> Sequence[TestFile]:
        """Those that are "read" or "write"; empty where none was made."""
        return self._files.get(kind, ())

    def next(self, kind: str, count: int) -> list[int]:
        """The numbers of the next `count` files to be used, at most as many as there are: all in turn, order drawn."""
        files = self.of(kind)
        drawn: list[int] = []
        while len(drawn) < min(count, len(files)):
            number = next(self._next, None) if len(files) > 1 else 0
            if number is None:
                self._next = iter(self._rng.sample(range(len(files)), len(files)))
            elif number not in drawn:
                drawn.append(number)
        return self.use(kind, drawn)

    def use(self, kind: str, numbers: Sequence[int]) -> list[int]:
        """As `next`, with the files that another side drew: those of one number lie side by side (see `laying`)."""
        files = self.of(kind)
        return [number % len(files) for number in numbers] if files else [0]

    def serve(self, kind: str, number: int) -> TestFile:
        """The file of this number, for a worker."""
        file = self.of(kind)[number]
        if kind == "write":
            self._written.add(file.fd)
        return file

    def take_written(self) -> list[int]:
        """The descriptors of what was used for writing since the last time."""
        written, self._written = sorted(self._written), set()
        return written

    def copy_from(self, other: FileSet) -> None:
        """The very files of another one, by descriptors of our own."""
        for kind, files in other._files.items():
            for file in files:
                self.add(kind, msgspec.structs.replace(file, fd=os.dup(file.fd)))

    def close(self) -> None:
        held = self._lock.acquire(timeout=CLOSE_S)
        files, self._files, self._closed = list(self), {}, True
        if held:
            self._lock.release()
        self._written = set()
        for file in files:
            os.close(file.fd)


def in_turn(sides: Sequence[Iterator[None]]) -> None:
    """A step of each side, the other way round each time, until all have done theirs."""
    ordered = list(sides)
    while ordered:
        ordered = [side for side in ordered if next(side, side) is not side][::-1]


def part_of(
    file: TestFile, index: int, workers: int, block_bytes: int, *, sequential: bool
) -> dict[str, Any]:
    """What the worker `index` is told of the file: all of it, or in sequence its own part."""
    length = file.bytes // workers // block_bytes * block_bytes if sequential else file.bytes
    return {
        "fd": file.fd,
        "first": index * length if sequential else 0,
        "length": length,
        "block_bytes": block_bytes,
        "sequential": sequential,
    }


def open_unnamed(
    directory: int, shown: str, size_bytes: int, *, reserved_bytes: int | None = None
) -> TestFile:
    """In the directory of that descriptor; `shown` is its name in messages.

    Makes the file and reserves its space, or as much of it as is said; it is not written yet. Raises BenchRefused with
    one line.
    """
    first_bytes = size_bytes if reserved_bytes is None else min(size_bytes, reserved_bytes)
    first: OSError | None = None
    for direct in (True, False):
        for unnamed in (True, False):
            try:
                fd = _open(directory, direct, unnamed)
            except OSError as error:
                if error.errno not in _NOT_THIS_WAY:
                    raise BenchRefused(_why(shown, error)) from error
                first = first or error
                continue
            try:
                reserve(fd, 0, first_bytes)  # first, so that the page of the next test lies in it
                if direct and not _takes_direct(fd):
                    os.close(fd)
                    continue
            except OSError as error:
                os.close(fd)
                raise BenchRefused(_why(shown, error, size_bytes)) from error
            return TestFile(fd=fd, bytes=size_bytes, direct=direct, unnamed=unnamed)
    assert first is not None
    raise BenchRefused(_why(shown, first))


def _open(directory: int, direct: bool, unnamed: bool) -> int:
    flags = os.O_RDWR | os.O_CLOEXEC | (os.O_DIRECT if direct else 0)
    if unnamed:
        return os.open(".", flags | os.O_TMPFILE, _MODE, dir_fd=directory)
    name = f".hostdx-{secrets.token_hex(8)}"
    fd = os.open(name, flags | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, _MODE, dir_fd=directory)
    os.unlink(name, dir_fd=directory)
    return fd


def _takes_direct(fd: int) -> bool:
    """Some file systems take the flag at open and refuse the transfer."""
    with mmap.mmap(-1, 4096) as page:
        try:
            return os.pwritev(fd, [page], 0) == 4096
        except OSError as error:
            if error.errno in _NOT_THIS_WAY:
                return False
            raise


def reserve(fd: int, start: int, length: int) -> None:
    """Not os.posix_fallocate: where the file system cannot, glibc would write into every block instead (its manual)."""
    libc = ctypes.CDLL(None, use_errno=True)
    call = getattr(libc, "fallocate64", None) or libc.fallocate  # musl has only the second, with 64 bits
    call.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_int64]
    if call(fd, 0, start, length) != 0:
        number = ctypes.get_errno()
        if number not in {errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL}:
            raise OSError(number, os.strerror(number))


def _why(directory: str, error: OSError, size_bytes: int = 0) -> str:
    what = f"a test file of {size_bytes >> 20} MiB" if size_bytes else "a test file"
    hint = {
        errno.ENOSPC: "free some space, or name another directory",
        errno.EDQUOT: "the quota is used up; name another directory",
        errno.EACCES: "name a directory that you may write to",
        errno.EROFS: "it is mounted read-only; name another directory",
    }.get(error.errno or 0, "name another directory")
    why = f"{os.strerror(error.errno or 0)}{whose_error(directory, error.errno)}"
    return f"{directory}: cannot make {what}: {why}; {hint}"
