"""The innermost loops of a worker: as little as possible between two system calls. Standard library only.

Each runs until `stop_ns` or until `offsets` is used up and appends the end of every operation (perf_counter_ns)
to the list behind `note`; the latency is the difference to the one before. Measured on a 2-core virtual machine: 1 to
2 µs between two reads of 50 µs. Closures and attribute look-ups would double that, hence the three copies.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator

Note = Callable[[int], None]
Buffers = list[memoryview]


class Short(Exception):
    """A read or write moved fewer bytes than asked: the file ended, or the file system does not play along."""

    def __init__(self, offset: int) -> None:
        super().__init__(f"short read or write at byte {offset} of the file")


def reads(fd: int, buffers: Buffers, size: int, offsets: Iterator[int], stop_ns: int, note: Note) -> None:
    preadv, now = os.preadv, time.perf_counter_ns
    for offset in offsets:
        if preadv(fd, buffers, offset) != size:
            raise Short(offset)
        at = now()
        note(at)
        if at >= stop_ns:
            return


def writes(
    fd: int, turns: Iterator[Buffers], size: int, offsets: Iterator[int], stop_ns: int, note: Note
) -> None:
    pwritev, now = os.pwritev, time.perf_counter_ns
    for offset in offsets:
        if pwritev(fd, next(turns), offset) != size:
            raise Short(offset)
        at = now()
        note(at)
        if at >= stop_ns:
            return


def synced_writes(
    fd: int, turns: Iterator[Buffers], size: int, offsets: Iterator[int], stop_ns: int, note: Note
) -> None:
    pwritev, fdatasync, now = os.pwritev, os.fdatasync, time.perf_counter_ns
    for offset in offsets:
        if pwritev(fd, next(turns), offset) != size:
            raise Short(offset)
        fdatasync(fd)
        at = now()
        note(at)
        if at >= stop_ns:
            return


def any_operation(
    operation: Callable[[int], None], offsets: Iterator[int], stop_ns: int, note: Note, stretch: float
) -> None:
    """For what is not read or written directly, and for planted latency: each operation lasts 1 + `stretch` times."""
    now = time.perf_counter_ns
    before = now()
    for offset in offsets:
        operation(offset)
        at = now()
        if stretch:
            at = wait_until(at + int((at - before) * stretch))
        note(at)
        if at >= stop_ns:
            return
        before = at


def wait_until(then_ns: int) -> int:
    """Sleeps where it pays (the kernel's timer slack is 50 µs), waits busily for the rest. The time it is then."""
    now = time.perf_counter_ns
    while True:
        at = now()
        if at >= then_ns:
            return at
        if then_ns - at > 300_000:
            time.sleep((then_ns - at - 200_000) / 1e9)
