"""One block of one worker: made ready, run against the clock, folded afterwards. Standard library only."""

from __future__ import annotations

import hashlib
import itertools
import mmap
import os
import random
import resource
import sys
import time
from array import array
from collections.abc import Callable, Iterator, Sequence

from hostdx.probes.engine import histogram, loops
from hostdx.probes.engine.completions import completions_by_step
from hostdx.probes.engine.loads import calls, corners
from hostdx.probes.engine.loads.metadata import NameCycle, NewFiles
from hostdx.probes.engine.loops import Loop, PreparedOperation
from hostdx.probes.engine.priority import set_io_priority
from hostdx.probes.engine.spec import BlockReply, LoadSpec, SliceReply

POOL_BYTES = 4 << 20
PAGE = 4096
ODD_BYTES = 1597  # no divisor in common with a page: all 4096 rests come in turn
MAX_OFFSETS = 1 << 18
CPU_BYTES = bytes(range(256)) * 256  # 64 KiB
CPU_STEPS = 2000
ROTATED = 8  # operations at random on one file before the next one: their turn costs nothing that shows


class WorkerState:
    """What one worker keeps over its blocks: buffers, where it is in the file, how fast it was."""

    def __init__(self) -> None:
        self.rng = random.Random()
        self.position: dict[tuple[int, int, int], int] = {}
        self.rate = 20_000.0
        self._read: mmap.mmap | None = None
        self._pool: mmap.mmap | None = None
        self._random = b""
        self._turned = 0
        self._shared: dict[int, Iterator[loops.Buffers]] = {}

    def read_buffer(self, size: int) -> loops.Buffers:
        # An anonymous map is page aligned, as O_DIRECT wants it.
        if self._read is None or len(self._read) < size:
            self._read = mmap.mmap(-1, size)
        return [memoryview(self._read)[:size]]

    def random_pool(self) -> mmap.mmap:
        """4 MiB that neither compress nor repeat: random once, rotated anew every time.

        Two rotations a whole number of pages apart hold the same pages, so what is left beyond whole pages takes every
        value before one comes again: no page of 16 GiB is written twice (a disk that removes duplicates would be fast).
        """
        if self._pool is None:
            self._pool = mmap.mmap(-1, POOL_BYTES)
            half = os.urandom(POOL_BYTES)
            self._random = half + half
        self._turned = (self._turned + ODD_BYTES) % PAGE
        start = self.rng.randrange(POOL_BYTES // PAGE) * PAGE + self._turned
        self._pool[:] = self._random[start : start + POOL_BYTES]
        return self._pool

    def reseed(self, seed: int) -> None:
        """A block or train: what its sides write is drawn anew, once for all of them."""
        self.rng.seed(seed)
        self._shared = {}

    def shared_write_buffers(self, size: int) -> Iterator[loops.Buffers]:
        """Those of this block or train."""
        if size not in self._shared:
            self._shared[size] = self.write_windows(size)
        return self._shared[size]

    def write_windows(self, size: int) -> Iterator[loops.Buffers]:
        """Aligned windows on the pool, one write each, in turn."""
        view = memoryview(self.random_pool())
        step = min(size, 1 << 18)
        starts = list(range(0, POOL_BYTES - size + 1, step))
        self.rng.shuffle(starts)
        return itertools.cycle([[view[at : at + size]] for at in starts])

    def random_offsets(self, start: int, length: int, size: int, count: int) -> Iterator[int]:
        """`count` uniform offsets of blocks of `size` bytes in `length` bytes from `start`."""
        blocks = length // size
        drawn = array("Q", self.rng.randbytes(8 * count))
        return iter(array("q", [start + number % blocks * size for number in drawn]))

    def sequential_offsets(
        self, fd: int, start: int, length: int, size: int, count: int, drawn: int
    ) -> Iterator[int]:
        """`count` offsets one after the other, `drawn` after where the last block stopped, round and round."""
        blocks = length // size
        at = self.position.get((fd, start, size), 0) + drawn
        return iter(array("q", [start + number % blocks * size for number in range(at, at + count)]))

    def add_to_position(self, fd: int, start: int, size: int, blocks: int) -> None:
        self.position[fd, start, size] = self.position.get((fd, start, size), 0) + blocks


def run_block(spec: LoadSpec, source: WorkerState, ready: Callable[[], int]) -> BlockReply:
    """`ready` says that all is prepared and gives the common start (perf_counter_ns).

    spec: kind, seed, fds, first, start, length, block_bytes, sequential, sync, direct, stretch; slices: ends in seconds
    after the start; rate: bytes a second at most (writes only); buffered: writes end in the page cache, on purpose;
    priority: (class, level) of ioprio_set(2) or null;
    least: operations to reach (until `at_most_s`); most: operations not to exceed, or null.
    Returns slices of {"ns", "n", "cpu", "h", "q"}: duration, operations, own CPU seconds, bucket numbers with counts,
    and the lower quartile of the latencies in ns, exact (the buckets are 3 % wide); "steps": see `completions_by_step`.
    """
    source.reseed(spec["seed"])
    if "priority" in spec:
        set_io_priority(spec["priority"])
    run, finish, draw = prepare_operation(spec, source)
    most = sys.maxsize if spec["most"] is None else spec["most"]
    # Twice what the block needs at the rate of the last one is drawn before the clock runs.
    stock = min(MAX_OFFSETS, max(1024, spec["least"], int(2 * source.rate * spec["slices"][-1])))
    offsets = draw(stock)
    done = 0
    raw: list[tuple[int, array[int], float]] = []  # nanoseconds, latencies, CPU seconds
    last = start = 0

    def run_part(stop: int, limit: int) -> None:
        nonlocal offsets, done, last
        latencies = array("q")  # a fifth of a list's memory: less of it passes through the caches
        began, cpu = time.perf_counter_ns(), own_cpu_s()
        at = began
        while at < stop and (left := limit - len(latencies)) > 0:
            ended = run(itertools.islice(offsets, left), stop, latencies.append)
            if ended:
                at = last = ended
            else:
                offsets = draw(stock)
        raw.append((at - began, latencies, own_cpu_s() - cpu))
        done += len(latencies)

    start = last = loops.wait_until(ready())
    try:
        for end in spec["slices"]:
            run_part(start + int(end * 1e9), most - done)
        if done < min(spec["least"], most):
            run_part(start + int(spec["at_most_s"] * 1e9), min(spec["least"], most) - done)
    finally:
        finish(done)
    if done and last > start:
        source.rate = done / (last - start) * 1e9
    steps = completions_by_step([(ns, latencies) for ns, latencies, _ in raw])
    return {"slices": [_slice_reply(*part) for part in raw], "ns": last - start, "n": done, "steps": steps}


def own_cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def _slice_reply(ns: int, latencies: array[int], cpu_s: float) -> SliceReply:
    quartile = sorted(latencies)[len(latencies) // 4] if latencies else 0
    return {
        "ns": ns,
        "n": len(latencies),
        "cpu": cpu_s,
        "q": quartile,
        "h": sorted(histogram.bucket_latencies(latencies).items()),
    }


def prepare_operation(spec: LoadSpec, source: WorkerState) -> PreparedOperation:
    kind, stretch = spec["kind"], spec["stretch"]
    if kind == "call":
        return calls.prepare_calls(spec)
    if kind == "metadata":
        return _prepare_metadata(spec)
    if kind == "churn":
        return _prepare_churn(spec, source)
    if kind == "corner":
        size = spec["block_bytes"]
        writes = size and spec["corner"] in ("write", "create")
        turns = source.shared_write_buffers(size) if writes else iter(())
        return corners.prepare_box_test(spec, turns, source.read_buffer(max(1, size)))
    if kind == "cpu":
        counting = itertools.count()
        return PreparedOperation(
            lambda offsets, stop, note: loops.run_operation(do_cpu_work, offsets, stop, note, stretch),
            lambda _done: None,
            lambda count: itertools.islice(counting, count),
        )
    fds, first, length, size = spec["fds"], spec["first"], spec["length"], spec["block_bytes"]
    fd = fds[0]
    if spec["sequential"]:
        drawn = spec["start"]

        def offsets(count: int) -> Iterator[int]:
            nonlocal drawn
            drawn += count
            return source.sequential_offsets(fd, first, length, size, count, drawn - count)

        def finish_block(done: int) -> None:
            source.add_to_position(fd, first, size, done)
    else:

        def offsets(count: int) -> Iterator[int]:
            return source.random_offsets(first, length, size, count)

        def finish_block(done: int) -> None:
            pass

    turns = source.shared_write_buffers(size) if spec["kind"] == "write" else iter(())
    runs = [_transfer_loop(spec, source, turns, fd, size, stretch) for fd in fds]
    each = length // size if spec["sequential"] else ROTATED
    return PreparedOperation(runs[0] if len(runs) == 1 else _rotate_loops(runs, each), finish_block, offsets)


def _rotate_loops(runs: Sequence[Loop], operations_each: int) -> Loop:
    """Through the files in turn, `operations_each` operations on one."""
    turn = itertools.cycle(runs)

    def run_loop(offsets: Iterator[int], stop: int, note: loops.Note) -> int:
        at = 0
        while ended := next(turn)(itertools.islice(offsets, operations_each), stop, note):
            at = ended
            if at >= stop:
                break
        return at

    return run_loop


def _transfer_loop(
    spec: LoadSpec, source: WorkerState, turns: Iterator[loops.Buffers], fd: int, size: int, stretch: float
) -> Loop:
    direct, sync = spec["direct"], spec["sync"]
    rate, buffered = spec.get("rate"), spec.get("buffered", False)
    if spec["kind"] == "read":
        buffers = source.read_buffer(size)
        if direct and not stretch:
            return lambda offsets, stop, note: loops.run_reads(fd, buffers, size, offsets, stop, note)

        def transfer_block(offset: int) -> None:
            if os.preadv(fd, buffers, offset) != size:
                raise loops.ShortTransfer(offset)
            if not direct:
                os.posix_fadvise(fd, offset, size, os.POSIX_FADV_DONTNEED)
    else:
        if direct and not stretch and not rate:
            loop = loops.run_synced_writes if sync else loops.run_writes
            return lambda offsets, stop, note: loop(fd, turns, size, offsets, stop, note)

        due = 0

        def transfer_block(offset: int) -> None:
            nonlocal due
            if rate:  # one that fell behind does not catch up: it would come as a burst
                due = loops.wait_until(max(due, time.perf_counter_ns())) + int(size / rate * 1e9)
            if (moved := os.pwritev(fd, next(turns), offset)) != size:
                loops.write_rest(fd, next(turns), offset, moved)
            # Without O_DIRECT a write ends in memory: only fdatasync makes it reach the device.
            if sync or not (direct or buffered):
                os.fdatasync(fd)

    return lambda offsets, stop, note: loops.run_operation(transfer_block, offsets, stop, note, stretch)


def _prepare_metadata(spec: LoadSpec) -> PreparedOperation:
    names = NameCycle(
        spec["fd"], spec["folder"], f"{os.getpid()}-{spec['stem']}", spec["names"], links=spec["links"]
    )
    counting = itertools.count()
    return PreparedOperation(
        lambda offsets, stop, note: loops.run_operation(
            names.do_operation, offsets, stop, note, spec["stretch"]
        ),
        lambda _done: names.clear(),
        lambda count: itertools.islice(counting, count),
    )


def _prepare_churn(spec: LoadSpec, source: WorkerState) -> PreparedOperation:
    size = spec["block_bytes"]
    files = NewFiles(
        spec["fd"], spec["seed"], spec["file_bytes"], size, source.write_windows(size), spec["direct"]
    )
    counting = itertools.count()
    return PreparedOperation(
        lambda offsets, stop, note: loops.run_operation(
            files.write_piece, offsets, stop, note, spec["stretch"]
        ),
        lambda _done: files.close_file(),
        lambda count: itertools.islice(counting, count),
    )


def do_cpu_work(_number: int) -> None:
    """Always the same: a hash in C and integer arithmetic in the interpreter, together some hundred microseconds."""
    hashlib.sha256(CPU_BYTES).digest()
    value = 1
    for step in range(CPU_STEPS):
        value = (value * 1103515245 + step) & 0xFFFFFFFF
