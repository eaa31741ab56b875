"""Reads of a file through the page cache, cold each time: what read-ahead acts on, for good or bad."""

from __future__ import annotations

import asyncio
import os
import random
import time
from collections.abc import Callable

from hostdx.probes.engine.measured import BenchRefused, Measured
from hostdx.probes.files.private_directory import PrivateDirectory
from hostdx.probes.files.safe_read import open_trusted_regular

CHUNK_BYTES = 128 << 10  # of one read call of a stream, as `cat` and `cp` make them
PAGE_BYTES = 4096
STREAM_RATE, SCATTERED_RATE = "MB/s", "IOPS"
MIN_FILE_BYTES = 64 * CHUNK_BYTES


class BufferedReads:
    """Reads the open file `fd` in order, or 4 KiB at random places. `close` closes the file."""

    def __init__(self, fd: int, seed: int, *, scattered: bool) -> None:
        self._fd = fd
        self._size = os.fstat(fd).st_size
        self._rng = random.Random(seed)
        self._scattered = scattered
        self._at = 0

    async def measure_block(self, seconds: float) -> Measured:
        """Read for about `seconds`. What an earlier window brought into the page cache is dropped first."""
        await asyncio.to_thread(self._forget_file)
        count, took = await asyncio.to_thread(self._reads_and_seconds, seconds)
        read = count * (PAGE_BYTES if self._scattered else CHUNK_BYTES)
        value = {SCATTERED_RATE: count / took} if self._scattered else {STREAM_RATE: read / took / 1e6}
        return Measured(seconds=took, values=value, operations=count, bytes=read)

    def _forget_file(self) -> None:
        """Drop the file from the page cache, and let it take the read-ahead that is set now: an open file keeps the
        one that was set when it was opened (mm/fadvise.c).
        """
        os.posix_fadvise(self._fd, 0, 0, os.POSIX_FADV_DONTNEED)
        os.posix_fadvise(self._fd, 0, 0, os.POSIX_FADV_NORMAL)

    def _reads_and_seconds(self, seconds: float) -> tuple[int, float]:
        began, count, pages = time.perf_counter(), 0, self._size // PAGE_BYTES
        while (took := time.perf_counter() - began) < seconds or not count:
            if self._scattered:
                os.pread(self._fd, PAGE_BYTES, self._rng.randrange(pages) * PAGE_BYTES)
            else:
                if self._at + CHUNK_BYTES > self._size:
                    self._at = 0
                    self._forget_file()
                os.pread(self._fd, CHUNK_BYTES, self._at)
                self._at += CHUNK_BYTES
            count += 1
        return count, took

    async def finish_requests(self) -> None:
        """Nothing is left to wait for: every read has returned."""

    def close(self) -> None:
        os.close(self._fd)


async def write_test_file(
    private: PrivateDirectory, size: int, seed: int, report: Callable[[int, int], None]
) -> int:
    """Write an unnamed file of data that cannot be compressed, and return its descriptor. Raises BenchRefused."""
    rng, done = random.Random(seed), 0
    try:
        fd = os.open(".", os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, 0o600, dir_fd=private.fd)
    except OSError as why:
        raise BenchRefused(
            f"{private.path}: no unnamed file can be made here: {why.strerror}; name a file to read with --file"
        ) from None
    try:
        while done < size:
            done += await asyncio.to_thread(os.write, fd, rng.randbytes(min(4 << 20, size - done)))
            report(done, size)
        await asyncio.to_thread(os.fsync, fd)
    except BaseException:
        os.close(fd)
        raise
    return fd


def open_named_file(path: str) -> int:
    """Return the descriptor of a file that the user named, which is only read. Raises BenchRefused."""
    try:
        fd = open_trusted_regular(path)
    except OSError as why:
        raise BenchRefused(f"{path}: {why.strerror or why}; name another --file") from None
    if os.fstat(fd).st_size < MIN_FILE_BYTES:
        os.close(fd)
        raise BenchRefused(
            f"{path}: smaller than {MIN_FILE_BYTES >> 20} MiB, too small to be streamed; name another"
        )
    return fd
