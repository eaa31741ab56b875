"""A train in one worker: slices of all sides in a given order, by one clock. Standard library only.

An operation that is under way when its slice ends is waited for and belongs to that slice, with its
time: the rate is operations over the time that they took, so slices neither gain nor lose by where
the clock cuts them; a cycle of unlike operations (create, stat, delete) that was begun is finished.
Of several workers each one's first operation finds the queue empty, or nearly, and so is fast
whatever the device is: it is done and not counted (`lead`).

Where the workers of one train wait for each other between two slices. Standard library only.

Nobody begins a slice before everybody's operation of the slice before has ended: what is in flight never crosses a
switch. Pipes, not shared memory: whoever waits takes no CPU from those that still work. Made before the workers are
forked, so that all of them inherit it; when one dies the others wait until the runner, who sees that, ends them.
"""

from __future__ import annotations

import itertools
import os
import struct
import sys
import time
from array import array
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from hostdx.probes.engine import histogram, loops
from hostdx.probes.engine.completions import completions_by_step
from hostdx.probes.engine.operations import MAX_OFFSETS, WorkerState, own_cpu_s, prepare_operation
from hostdx.probes.engine.spec import LoadSpec

_START = struct.Struct("=q")


class SliceBarrier:
    """One for all workers of a fork server; one train at a time.

    Two pipes for the starts, used in turn: a worker that is served late must find its own start there, not have it
    taken by a fast one that is a slice ahead already. A pipe is filled again only after everybody has read from it.
    """

    def __init__(self) -> None:
        self._arrivals = os.pipe()
        self._starts = (os.pipe(), os.pipe())
        self._turn = 0

    def reset_turn(self) -> None:
        """Before a train: everybody counts from 0."""
        self._turn = 0

    def wait(self, place: int, crew: int, until_ns: int) -> int:
        """The common start of the next slice (perf_counter_ns), once all `crew` have come; 0: the train ends here.

        Worker 0 decides: after `until_ns` no slice is begun any more.
        """
        starts = self._starts[self._turn]
        self._turn = 1 - self._turn
        if place:
            os.write(self._arrivals[1], b".")
            return int(_START.unpack(os.read(starts[0], _START.size))[0])
        missing = crew - 1
        while missing:
            missing -= len(os.read(self._arrivals[0], missing))
        now = time.perf_counter_ns()
        start = now if now < until_ns else 0
        if crew > 1:
            os.write(starts[1], _START.pack(start) * (crew - 1))  # at most PIPE_BUF: 511 workers
        return start


TRAIN_OVERRUN = 3.0  # a train may take so many times as long as planned before no further slice is begun
TRAIN_AT_LEAST_S = 5.0


class VariantSideFailed(OSError):
    """`side` is the mark of the one that failed."""

    def __init__(self, error: OSError, side: int | None) -> None:
        super().__init__(error.errno, error.strerror)
        self.side = side


@contextmanager
def _name_side_in_errors(spec: LoadSpec) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise VariantSideFailed(error, spec.get("mark")) from None


class _SideRun:
    """One side of the comparison: its files, its offsets, the latencies of the whole train."""

    def __init__(self, spec: LoadSpec, source: WorkerState, stock: int) -> None:
        # A planted latency is put into the account, exactly: an operation that sleeps distorts a busy machine.
        self.longer = 1.0 + spec.get("stretch", 0.0)
        self._spec = spec
        # a slice holds whole cycles of unlike operations
        self.cycle = 3 * spec["names"] if spec["kind"] == "metadata" else 1
        with _name_side_in_errors(spec):
            self._run, self._finish, self._draw = prepare_operation(spec | {"stretch": 0.0}, source)
        self._stock = stock
        self._offsets: Iterator[int] = self._draw(stock)
        self.latencies = array("q")
        self.counted_latencies = 0  # latencies of the slices before
        self.uncounted = 0  # operations

    def run_and_get_last_end_ns(self, stop_ns: int, max_operations: int) -> int:
        """Run until `stop_ns`, at least one operation; return when the last one ended."""
        latencies = self.latencies
        first = len(latencies)
        at = 0
        while at < stop_ns and (left := max_operations - len(latencies) + first) > 0:
            ended = self._run(itertools.islice(self._offsets, left), stop_ns, latencies.append)
            if ended:
                at = ended
            else:
                self._offsets = self._draw(self._stock)
        return at

    def discard_uncounted(self) -> None:
        """What was done in this slice until now does not count."""
        self.uncounted += len(self.latencies) - self.counted_latencies
        del self.latencies[self.counted_latencies :]

    def latency_counts(self) -> dict[int, int]:
        """The histogram of its latencies."""
        if self.longer == 1.0:
            return histogram.bucket_latencies(self.latencies)
        return histogram.bucket_latencies(int(ns * self.longer) for ns in self.latencies)

    def finish_side(self) -> None:
        with _name_side_in_errors(self._spec):
            self._finish(self.uncounted + len(self.latencies))


class _CpuWait:
    """How long this worker waited for a CPU (Documentation/scheduler/sched-stats.rst); 0 where nobody tells."""

    def __init__(self) -> None:
        try:
            self._fd = os.open("/proc/thread-self/schedstat", os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            self._fd = -1

    def waited_ns(self) -> int:
        if self._fd < 0:
            return 0
        try:
            return int(os.pread(self._fd, 100, 0).split()[1])
        except (OSError, IndexError, ValueError):
            return 0

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)


def run_slice_batch(
    spec: LoadSpec, source: WorkerState, barrier: SliceBarrier, ready: Callable[[], int]
) -> dict[str, Any]:
    """`ready` says that all is prepared and gives the common start (perf_counter_ns).

    spec: seed; sides: what each does (`operations.prepared`); order: a side's number for every slice; slice_s;
    onset_s: of each slice, done and not counted; lead: whether at least the first operation is;
    quarters: whether the rates within the slices are wanted; most: operations of a slice that count at most, or null;
    place, crew: which of how many workers this is.
    Returns by slice "n" (operations), "ns" (what they took), "cpu" and "waited" (ns), "quarters" (operations in each
    fourth of "ns"; those under way in part), "begins" (perf_counter_ns) and "steps" (see `completions_by_step`),
    both with what is not counted; by side "h" (buckets with counts); "uncounted" (operations).
    """
    source.reseed(spec["seed"])
    order: list[int] = spec["order"]
    slice_ns = int(spec["slice_s"] * 1e9)
    most = sys.maxsize if spec["most"] is None else max(1, spec["most"])
    # As much as a side needs for the whole train at the rate of the last one is drawn before the clock runs.
    stocks = [
        min(MAX_OFFSETS, max(1024, int(1.5 * source.rate * spec["slice_s"] * order.count(number))))
        for number in range(len(spec["sides"]))
    ]
    onset_ns = int(spec["onset_s"] * 1e9)
    place, crew = spec["place"], spec["crew"]
    sides = [_SideRun(side, source, stock) for side, stock in zip(spec["sides"], stocks, strict=True)]
    slices: list[tuple[int, int, int, int]] = []
    ranges: list[tuple[int, int]] = []  # of each slice among its side's latencies
    begins: list[int] = []
    leads: list[tuple[int, array[int]]] = []
    delay = _CpuWait()
    barrier.reset_turn()
    began = loops.wait_until(ready())
    until = began + int(max(TRAIN_AT_LEAST_S * 1e9, TRAIN_OVERRUN * slice_ns * len(order)))
    busy = done = 0
    try:
        for number in order:
            start = barrier.wait(place, crew, until)
            if not start:
                break
            side = sides[number]
            begins.append(time.perf_counter_ns())
            if onset_ns or spec["lead"]:
                side.run_and_get_last_end_ns(start + onset_ns, most if onset_ns else 1)
            early = side.latencies[side.counted_latencies :]
            side.discard_uncounted()
            before, waited, cpu = len(side.latencies), delay.waited_ns(), own_cpu_s()
            at = time.perf_counter_ns()
            leads.append((at - begins[-1], early))
            ended = side.run_and_get_last_end_ns(start + slice_ns, most)
            if rest := (before - len(side.latencies)) % side.cycle:
                ended = side.run_and_get_last_end_ns(sys.maxsize, rest)
            took = int((ended - at) * side.longer)
            side.counted_latencies = len(side.latencies)
            ranges.append((before, side.counted_latencies))
            count = side.counted_latencies - before
            slices.append((count, took, int((own_cpu_s() - cpu) * 1e9), delay.waited_ns() - waited))
            busy += took
            done += count
    except OSError as error:  # around all of it: nothing stands between a slice and its clock
        raise VariantSideFailed(error, spec["sides"][number].get("mark")) from None
    finally:
        for side in sides:
            side.finish_side()
        delay.close()
    if busy and done:
        source.rate = done / busy * 1e9
    return {
        "begins": begins,
        "steps": [
            completions_by_step([early, (part[1], sides[number].latencies[first:last])])
            for number, early, part, (first, last) in zip(order, leads, slices, ranges, strict=False)
        ],
        "n": [part[0] for part in slices],
        "ns": [part[1] for part in slices],
        "cpu": [part[2] for part in slices],
        "waited": [part[3] for part in slices],
        "quarters": [
            operations_by_quarter(sides[number].latencies[first:last], sides[number].cycle)
            for number, (first, last) in zip(order, ranges, strict=False)
        ]
        if spec["quarters"]
        else [],
        "h": [sorted(side.latency_counts().items()) for side in sides],
        "uncounted": sum(side.uncounted for side in sides),
    }


def operations_by_quarter(latencies: array[int], cycle: int = 1) -> list[float]:
    """Operations in each fourth of the time that they took one after the other; one under way counts in part.

    Unlike operations count by their whole cycles: a slice that begins with the slow ones is not slow at its start.
    """
    if cycle > 1:
        sums = array("q", [sum(latencies[at : at + cycle]) for at in range(0, len(latencies), cycle)])
        return [amount * cycle for amount in operations_by_quarter(sums)]
    fourth = sum(latencies) / 4
    work = [0.0] * 4
    at = 0.0
    for latency in latencies:
        end = at + latency
        first, last = min(3, int(at / fourth)), min(3, int(end / fourth))
        if first == last:
            work[first] += 1
        else:
            for part in range(first, last + 1):
                within = min(end, (part + 1) * fourth) - max(at, part * fourth)
                work[part] += within / latency
        at = end
    return [round(amount, 3) for amount in work]
