"""The innermost loops of a worker: as little as possible between two system calls. Standard library only.

Each runs until `stop_ns` or until `offsets` is used up, hands every operation's latency in ns to `note`, and returns
the time (perf_counter_ns) at which the last one ended, 0 without any. Closures and attribute look-ups would double what
they cost (`loop_cost_ns`), hence the three copies. These read the clock once an operation: where one ends the next
begins, so a latency holds the loop's own time as well.
"""

import os
import sys
import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

Note = Callable[[int], None]
Buffers = list[memoryview]
Loop = Callable[[Iterator[int], int, Note], int]

COST_READS = 2001  # a millisecond


class PreparedOperation(NamedTuple):
    """`run`: the loop. `finish`: what must be done after it, given the operations done. `draw`: so many offsets, or
    numbers of operations."""

    run: Loop
    finish: Callable[[int], None]
    draw: Callable[[int], Iterator[int]]


class ShortTransfer(Exception):
    """A read or write moved fewer bytes than asked: the file ended, or the file system does not play along."""

    def __init__(self, offset: int) -> None:
        super().__init__(f"short read or write at byte {offset} of the file")


def write_rest(fd: int, buffers: Buffers, offset: int, moved_bytes: int) -> None:
    """Write what the kernel left of a write to `offset` after its first `moved_bytes`.

    A file system may accept a part and the rest in a second call (btrfs near a quota, which first has to give back what
    it reserved). Raises the OSError that stops the rest (no space, a quota reached), or Short where none of it moves.
    """
    whole_bytes = sum(len(buffer) for buffer in buffers)
    while moved_bytes < whole_bytes:
        skipped = moved_bytes
        rest = []
        for buffer in buffers:
            rest.append(buffer[skipped:])
            skipped = max(0, skipped - len(buffer))
        moved = os.pwritev(fd, rest, offset + moved_bytes)
        if not moved:
            raise ShortTransfer(offset + moved_bytes)
        moved_bytes += moved


def run_reads(fd: int, buffers: Buffers, size: int, offsets: Iterator[int], stop_ns: int, note: Note) -> int:
    preadv, now = os.preadv, time.perf_counter_ns
    at = 0
    before = now()
    for offset in offsets:
        if preadv(fd, buffers, offset) != size:
            raise ShortTransfer(offset)
        at = now()
        note(at - before)
        if at >= stop_ns:
            break
        before = at
    return at


def run_writes(
    fd: int, turns: Iterator[Buffers], size: int, offsets: Iterator[int], stop_ns: int, note: Note
) -> int:
    pwritev, now = os.pwritev, time.perf_counter_ns
    at = 0
    before = now()
    for offset in offsets:
        if (moved := pwritev(fd, next(turns), offset)) != size:
            write_rest(fd, next(turns), offset, moved)
        at = now()
        note(at - before)
        if at >= stop_ns:
            break
        before = at
    return at


def run_synced_writes(
    fd: int, turns: Iterator[Buffers], size: int, offsets: Iterator[int], stop_ns: int, note: Note
) -> int:
    pwritev, fdatasync, now = os.pwritev, os.fdatasync, time.perf_counter_ns
    at = 0
    before = now()
    for offset in offsets:
        if (moved := pwritev(fd, next(turns), offset)) != size:
            write_rest(fd, next(turns), offset, moved)
        fdatasync(fd)
        at = now()
        note(at - before)
        if at >= stop_ns:
            break
        before = at
    return at


def run_operation(
    operation: Callable[[int], object], offsets: Iterator[int], stop_ns: int, note: Note, stretch: float
) -> int:
    """For what is not read or written directly, and for planted latency: each operation lasts 1 + `stretch` times."""
    now = time.perf_counter_ns
    at = 0
    for offset in offsets:
        before = now()
        operation(offset)
        at = now()
        if stretch:
            at = wait_until(at + int((at - before) * stretch))
        note(at - before)
        if at >= stop_ns:
            break
    return at


def loop_cost_ns() -> int:
    """Return what `run_reads` itself takes of each operation, in ns: the median around an empty system call.

    An empty read of the null device. Beside real reads it is more where the CPU slept or served others in between.
    """
    latencies: list[int] = []
    fd = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
    try:
        run_reads(fd, [], 0, iter(range(COST_READS)), sys.maxsize, latencies.append)
    finally:
        os.close(fd)
    return sorted(latencies)[COST_READS // 2]


def wait_until(then_ns: int) -> int:
    """Sleeps where it pays (the kernel's timer slack is 50 µs), waits busily for the rest. The time it is then."""
    now = time.perf_counter_ns
    while True:
        at = now()
        if at >= then_ns:
            return at
        if then_ns - at > 300_000:
            time.sleep((then_ns - at - 200_000) / 1e9)
