"""The files under test: without a name, so that nothing is left even after a power cut."""

from __future__ import annotations

import ctypes
import errno
import itertools
import mmap
import os
import secrets
import threading
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from hostdx.probes import units
from hostdx.probes.engine.measured import BenchRefused
from hostdx.probes.engine.spec import LoadSpec
from hostdx.probes.system.disk.failing import io_error_advice

# What open(2) answers where a file system knows no O_TMPFILE or no O_DIRECT.
_NOT_THIS_WAY = {errno.EINVAL, errno.EOPNOTSUPP, errno.EISDIR, errno.ENOENT, errno.ENOSYS}
_MODE = 0o600
CLOSE_S = 2.0  # a storage that hangs must not keep a run from ending


class TestFile(msgspec.Struct, frozen=True):
    """An open file of `bytes` bytes; `direct` where O_DIRECT works, `unnamed` where it never had a name."""

    __test__ = False  # not a test class

    fd: int
    bytes: int
    direct: bool
    unnamed: bool


class FileSet:
    """The open files of one directory: by kind ("read", "write") one in each of its places."""

    def __init__(self) -> None:
        self._files: dict[str, list[TestFile]] = {}
        self._written: set[int] = set()  # descriptors, since `take_written_descriptors`
        self.closed = False
        self._lock = threading.Lock()

    def __iter__(self) -> Iterator[TestFile]:
        return itertools.chain.from_iterable(self._files.values())

    def reopen(self) -> None:
        """Let files be laid again; after `close` none is laid until then."""
        self.closed = False

    def make_file(self, kind: str, directory: int, label: str, size_bytes: int) -> TestFile | None:
        """One more file in the directory of that descriptor, its space reserved; None where they were closed meanwhile.

        Raises BenchRefused with one line.
        """
        with self._lock:
            if self.closed:
                return None
            file = make_unnamed_file(directory, label, size_bytes)
            self._files.setdefault(kind, []).append(file)
            return file

    def create_files(self, wanted: Sequence[tuple[str, int]], directory: int, label: str) -> list[TestFile]:
        """One of each (kind, bytes). Raises BenchRefused, also where they were closed meanwhile."""
        laid = [self.make_file(kind, directory, label, size_bytes) for kind, size_bytes in wanted]
        files = [file for file in laid if file is not None]
        if len(files) < len(wanted):
            raise BenchRefused(f"{label}: closed while the test files were made")
        return files

    def files_of_kind(self, kind: str) -> Sequence[TestFile]:
        """Those that are "read" or "write"; empty where none was made."""
        return self._files.get(kind, ())

    def files_for_worker(self, kind: str, numbers: Iterable[int]) -> list[TestFile]:
        """The files of these numbers, for a worker."""
        files = [self.files_of_kind(kind)[number] for number in numbers]
        if kind == "write":
            self._written |= {file.fd for file in files}
        return files

    def take_written_descriptors(self) -> list[int]:
        """The descriptors of what was used for writing since the last time."""
        written, self._written = sorted(self._written), set()
        return written

    def copy_from(self, other: FileSet) -> None:
        """The very files of another one, by descriptors of our own."""
        for kind, files in other._files.items():
            own = [msgspec.structs.replace(file, fd=os.dup(file.fd)) for file in files]
            self._files.setdefault(kind, []).extend(own)

    def close(self) -> None:
        held = self._lock.acquire(timeout=CLOSE_S)
        files, self._files, self.closed = list(self), {}, True
        if held:
            self._lock.release()
        self._written = set()
        for file in files:
            os.close(file.fd)


def file_part_of_worker(
    files: Sequence[TestFile], index: int, workers: int, block_bytes: int, *, sequential: bool
) -> LoadSpec:
    """Return what worker `index` of `workers` does with these files, all of one size: at random anywhere.

    In sequence each worker has files of its own; where there are fewer, those that share one have
    each a part of it, or begin at different blocks of it where it is too small for parts.
    """
    length, first, start = files[0].bytes, 0, 0
    mine = index % len(files)
    own = [*files[mine:], *files[:mine]]
    if sequential:
        sharers, turn = -(-workers // len(files)), index // len(files)
        own = own[: len(files) - mine : workers]
        if (part := length // sharers // block_bytes * block_bytes) > 0:
            length, first = part, turn * part
        else:
            start = turn * (length // block_bytes) // sharers
    return {
        "fds": [file.fd for file in own],
        "first": first,
        "start": start,
        "length": length,
        "block_bytes": block_bytes,
        "sequential": sequential,
    }


def make_unnamed_file(directory: int, label: str, size_bytes: int) -> TestFile:
    """In the directory of that descriptor; `label` is its name in messages.

    Makes the file and reserves its space; it is not written yet. Raises BenchRefused with one line.
    """
    first: OSError | None = None
    for direct in (True, False):
        for unnamed in (True, False):
            try:
                fd = _make_unlinked_file(directory, direct, unnamed)
            except OSError as error:
                if error.errno not in _NOT_THIS_WAY:
                    raise BenchRefused(_cannot_make_file_text(label, error)) from error
                first = first or error
                continue
            try:
                reserve_space(fd, size_bytes)  # first, so that the page of the next test lies in it
                if direct and not _can_write_direct(fd):
                    os.close(fd)
                    continue
            except OSError as error:
                os.close(fd)
                raise BenchRefused(_cannot_make_file_text(label, error, size_bytes)) from error
            return TestFile(fd=fd, bytes=size_bytes, direct=direct, unnamed=unnamed)
    assert first is not None
    raise BenchRefused(_cannot_make_file_text(label, first))


def _make_unlinked_file(directory: int, direct: bool, unnamed: bool) -> int:
    flags = os.O_RDWR | os.O_CLOEXEC | (os.O_DIRECT if direct else 0)
    if unnamed:
        return os.open(".", flags | os.O_TMPFILE, _MODE, dir_fd=directory)
    name = f".hostdx-{secrets.token_hex(8)}"
    fd = os.open(name, flags | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, _MODE, dir_fd=directory)
    os.unlink(name, dir_fd=directory)
    return fd


def _can_write_direct(fd: int) -> bool:
    """Some file systems take the flag at open and refuse the transfer."""
    with mmap.mmap(-1, 4096) as page:
        try:
            return os.pwritev(fd, [page], 0) == 4096
        except OSError as error:
            if error.errno in _NOT_THIS_WAY:
                return False
            raise


def reserve_space(fd: int, length: int) -> None:
    """Not os.posix_fallocate: where the file system cannot, glibc would write into every block instead (its manual)."""
    libc = ctypes.CDLL(None, use_errno=True)
    call = getattr(libc, "fallocate64", None) or libc.fallocate  # musl has only the second, with 64 bits
    call.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_int64]
    if call(fd, 0, 0, length) != 0:
        number = ctypes.get_errno()
        if number not in {errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL}:
            raise OSError(number, os.strerror(number))


def _cannot_make_file_text(directory: str, error: OSError, size_bytes: int = 0) -> str:
    description = f"a test file of {units.format_size(size_bytes)}" if size_bytes else "a test file"
    why = f"{os.strerror(error.errno or 0)}{io_error_advice(error.errno, directory)}"
    return f"{directory}: cannot make {description}: {why}"
