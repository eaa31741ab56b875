"""Where a command and all that it starts compute and wait: call chains from perf events. For a light child: standard
library only.

CPU time by the cpu-clock event, 99 times a second of each running thread; as root (or with perf_event_paranoid at 1 or
less) the kernel's part too, and each context switch with the chain that led to it and the time until the thread ran
again. Frames are a kernel address, or a place in a file: they get names later, when nothing is measured.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeAlias

from probes.bench.profile import perf_ring
from probes.bench.profile.perf_records import (
    USER_BELOW,
    Fork,
    Lost,
    Mapping,
    Ordered,
    Program,
    Record,
    Sample,
    Switch,
)

HERTZ = 99  # not 100: what happens each tick is not seen each time
MOST_HERTZ = 2000  # on all CPUs together
CLOCK_PAGES, SWITCH_PAGES = 16, 32
EVERY_S = 0.1
HELD_BYTES = 32 << 20  # until the command has ended; with more the oldest are decoded meanwhile, and then
COST = 400  # that takes 0.25 % of a core at most: what does not fit into the rings is lost, and told
MOST_STACKS, MOST_FILES, MOST_PROCESSES = 1500, 1000, 2000
KERNEL = -1  # in place of a file
ON, OFF, RUNNABLE = "on", "off", "runnable"

Frame: TypeAlias = tuple[int, int]  # the file's number and the place in it; KERNEL and an address
Stack: TypeAlias = tuple[Frame, ...]  # the outermost first


class Maps:
    """Which file lies where, of each process, as the records tell."""

    def __init__(self) -> None:
        self.files: dict[str, int] = {}
        self._of: dict[int, list[Mapping]] = {}

    def hear(self, record: Mapping | Program | Fork) -> None:
        if isinstance(record, Mapping):
            if len(self._of) < MOST_PROCESSES:
                self._of.setdefault(record.pid, []).append(record)
        elif isinstance(record, Program):
            self._of.pop(record.pid, None)
        elif record.parent in self._of and len(self._of) < MOST_PROCESSES:
            self._of[record.pid] = list(self._of[record.parent])

    def frame(self, pid: int, address: int) -> Frame | None:
        """None for an address at which nothing lies: a chain without frame pointers holds such."""
        if address >= USER_BELOW:
            return (KERNEL, address)
        for mapping in reversed(self._of.get(pid, ())):  # the newest lies over the older ones
            if mapping.start <= address < mapping.start + mapping.length:
                if mapping.path.startswith(("//anon", "[", "/memfd:")) or not mapping.path:
                    return self._numbered(f"pid:{pid}", address)
                return self._numbered(mapping.path, address - mapping.start + mapping.offset)
        return None

    def _numbered(self, path: str, place: int) -> Frame | None:
        if path not in self.files and len(self.files) >= MOST_FILES:
            return None
        return (self.files.setdefault(path, len(self.files)), place)

    def stack(self, sample: Sample) -> Stack:
        """A caller's address is where it goes on: the call itself stands before it."""
        frames = [self.frame(sample.pid, ip if n == 0 else ip - 1) for n, ip in enumerate(sample.chain)]
        return tuple(frame for frame in reversed(frames) if frame is not None)


class _Leaving(NamedTuple):
    at_ns: int
    stack: Stack
    preempted: bool


class Fold:
    """Records in the order of their time become stacks with seconds."""

    def __init__(self, period: int = 1, hertz: int = HERTZ) -> None:
        """`period`: every how many switches one has a chain; `hertz`: of the clock."""
        self.maps = Maps()
        self.seconds: dict[tuple[str, Stack], float] = {}
        self.lost = 0
        self.dropped_s = 0.0  # of stacks that were too many
        self._period, self._tick_s = period, 1 / hertz
        self._chains: dict[int, tuple[int, Stack]] = {}  # of threads about to leave the CPU
        self._left: dict[int, _Leaving] = {}

    def clock(self, found: Iterable[Record]) -> None:
        for record in found:
            if isinstance(record, Sample):
                self._add(ON, self.maps.stack(record), self._tick_s)
            elif isinstance(record, Lost):
                self.lost += record.records
            elif not isinstance(record, Switch):
                self.maps.hear(record)

    def switches(self, found: Iterable[Record]) -> None:
        for record in found:
            if isinstance(record, Sample):
                self._chains[record.tid] = (record.at_ns, self.maps.stack(record))
            elif isinstance(record, Lost):  # what left before may have come back unseen
                self.lost += record.records
                self._left.clear()
                self._chains.clear()
            elif isinstance(record, Switch):
                self._switched(record)

    def _switched(self, record: Switch) -> None:
        if record.out:
            _, stack = self._chains.pop(record.tid, (0, ()))
            self._left[record.tid] = _Leaving(record.at_ns, stack, record.preempted)
            return
        left = self._left.pop(record.tid, None)
        if left is not None and left.stack:
            passed = max(0, record.at_ns - left.at_ns) / 1e9
            self._add(RUNNABLE if left.preempted else OFF, left.stack, passed * self._period)

    def _add(self, kind: str, stack: Stack, seconds: float) -> None:
        key = (kind, stack)
        if key in self.seconds or len(self.seconds) < MOST_STACKS:
            self.seconds[key] = self.seconds.get(key, 0.0) + seconds
        else:
            self.dropped_s += seconds


class CallProfile:
    """Opened before the command is forked; it begins at execve(2). `look` when `due`, `result` at the end."""

    def __init__(self, cpus: Sequence[int], switch_period: int) -> None:
        """`switch_period`: 0 for no chains of waits."""
        hertz = max(1, min(HERTZ, MOST_HERTZ // len(cpus)))
        self.fold = Fold(max(1, switch_period), hertz)
        flags = perf_ring.MAPS | perf_ring.NAMES | perf_ring.TASKS | perf_ring.FREQUENCY
        clock = (perf_ring.SOFTWARE, perf_ring.CPU_CLOCK, hertz)
        rings = perf_ring.opened(perf_ring.attribute(*clock, flags), cpus, CLOCK_PAGES)
        self.kernel = bool(rings)
        if not rings:
            attr = perf_ring.attribute(*clock, flags | perf_ring.NO_KERNEL)
            rings = perf_ring.opened(attr, cpus, CLOCK_PAGES)
        self._rings, self._clock = rings, Ordered(rings)
        rings = []
        if self.kernel and switch_period:
            attr = perf_ring.attribute(
                perf_ring.SOFTWARE, perf_ring.CONTEXT_SWITCHES, switch_period, perf_ring.SWITCHES
            )
            rings = perf_ring.opened(attr, cpus, SWITCH_PAGES)
        self.waits, self._switches = bool(rings), Ordered(rings)
        self._rings = [*self._rings, *rings]
        self.due = time.monotonic() + EVERY_S

    def look(self) -> None:
        cost = time.process_time()
        self._clock.take()
        self._switches.take()
        if self._clock.held_bytes + self._switches.held_bytes > HELD_BYTES:
            self._fold_oldest()
        self.due = time.monotonic() + max(EVERY_S, COST * (time.process_time() - cost))

    def _fold_oldest(self) -> None:
        """The clock's first: it tells what lies where."""
        self.fold.clock(self._clock.oldest())
        self.fold.switches(self._switches.oldest())

    def result(self) -> dict[str, object] | None:
        """As `probes.bench.run.supervised.JobRun.calls` has it; None where nothing may be sampled."""
        if not self._rings:
            return None
        self.look()
        while self._clock:
            self._fold_oldest()
        fold = self.fold
        stacks = sorted(fold.seconds.items(), key=lambda item: -item[1])
        return {
            "kernel": self.kernel,
            "waits": self.waits,
            "lost": fold.lost,
            "dropped_s": fold.dropped_s,
            "files": list(fold.maps.files),
            "stacks": [(kind, stack, seconds) for (kind, stack), seconds in stacks],
        }

    def close(self) -> None:
        for ring in self._rings:
            ring.close()
