"""Writes a test file completely: only what was written is read from the device. Standard library only.

O_DIRECT reads of a file that was only allocated ran at 1.18 million IOPS where a written one gave 15,000 (design page).
"""

from __future__ import annotations

import os
from collections.abc import Callable

from probes.bench.engine.operations import POOL_BYTES, Source


def fill(fd: int, size_bytes: int, source: Source, progress: Callable[[int], None]) -> None:
    """`progress` is called with the bytes written, every 4 MiB; returns after fsync."""
    written = 0
    while written < size_bytes:
        part = memoryview(source.pool())[: min(POOL_BYTES, size_bytes - written)]
        moved = os.pwritev(fd, [part], written)
        if moved <= 0 or moved % 4096:
            raise OSError(f"only {moved} bytes of {len(part)} could be written")
        written += moved
        progress(written)
    os.fsync(fd)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
