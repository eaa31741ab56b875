"""Where a command and all that it starts compute and wait: call chains from perf events. For a light child: standard
library only.

CPU time by the cpu-clock event, 99 times a second of each CPU; as root (or with perf_event_paranoid at 0 or less) the
kernel's part too, and of context switches the chain that led to them and the time until the thread ran again: of all of
them, or in windows where there are many. Frames are a kernel address, or a place in a file: they get names later.
"""

import os
import struct
import time
from collections import deque
from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeAlias

from hostdx.probes.profile import perf_ring
from hostdx.probes.profile.perf_records import (
    USER_BELOW,
    ExitRecord,
    ForkRecord,
    LostRecord,
    MappingRecord,
    ProgramStartRecord,
    Record,
    SampleRecord,
)
from hostdx.probes.profile.rings import (
    HELD_BYTES,
    RecordWindow,
    RingReader,
    SampledWindowReader,
    next_look_due_s,
)

HERTZ = 99  # not 100: what happens each tick is not seen each time
MAX_HERTZ = 2000  # on all CPUs together
CLOCK_PAGES = 16
MAX_STACKS, MAX_FILES, MAX_PROCESSES, MAX_SIGHTED = 1500, 1000, 2000, 5000
KERNEL = -1  # in place of a file
ON, OFF, RUNNABLE = "on", "off", "runnable"
SWITCHES = ("sched/sched_switch",)
# who leaves (the thread), its state, who comes (include/trace/events/sched.h)
_SWITCH = struct.Struct("=24xi4xq16xi")
_ASLEEP, _DEAD = 0xFF, 0x30  # bits of the state: TASK_REPORT; EXIT_DEAD, EXIT_ZOMBIE

Frame: TypeAlias = tuple[int, int]  # the file's number and the place in it; KERNEL and an address
Stack: TypeAlias = tuple[Frame, ...]  # the outermost first


class ProcessMaps:
    """Which file lies where, of each process of a command, as the records of all processes tell."""

    def __init__(self, command_pids: set[int] | None = None) -> None:
        """`command_pids`: the command's processes, as far as known; grows. None: the records are of no others."""
        self.files: dict[str, int] = {}
        self._command_pids = command_pids
        self._started: set[int] = set()  # our children that run no program yet
        self._of: dict[int, list[MappingRecord]] = {}

    def is_of_command(self, pid: int) -> bool:
        return self._command_pids is None or pid in self._command_pids

    def take_record(self, record: MappingRecord | ProgramStartRecord | ForkRecord) -> None:
        if isinstance(record, ForkRecord):
            if record.parent == os.getpid():
                self._started.add(record.pid)
            if self._command_pids is not None and record.parent in self._command_pids:
                self._command_pids.add(record.pid)
            if record.parent in self._of and len(self._of) < MAX_PROCESSES:
                self._of[record.pid] = list(self._of[record.parent])
        elif isinstance(record, ProgramStartRecord):
            if self._command_pids is not None and record.pid in self._started:
                self._command_pids.add(record.pid)
            self._of.pop(record.pid, None)
        elif self.is_of_command(record.pid) and len(self._of) < MAX_PROCESSES:
            self._of.setdefault(record.pid, []).append(record)

    def frame_at(self, pid: int, address: int) -> Frame | None:
        """None for an address at which nothing lies: a chain without frame pointers holds such."""
        if address >= USER_BELOW:
            return (KERNEL, address)
        for mapping in reversed(self._of.get(pid, ())):  # the newest lies over the older ones
            if mapping.start <= address < mapping.start + mapping.length:
                if mapping.path.startswith(("//anon", "[", "/memfd:")) or not mapping.path:
                    return self._numbered_frame(f"pid:{pid}", address)
                return self._numbered_frame(mapping.path, address - mapping.start + mapping.offset)
        return None

    def _numbered_frame(self, path: str, offset: int) -> Frame | None:
        if path not in self.files and len(self.files) >= MAX_FILES:
            return None
        return (self.files.setdefault(path, len(self.files)), offset)

    def stack_of(self, sample: SampleRecord) -> Stack:
        """A caller's address is where it goes on: the call itself stands before it."""
        frames = [self.frame_at(sample.pid, ip if n == 0 else ip - 1) for n, ip in enumerate(sample.chain)]
        return tuple(frame for frame in reversed(frames) if frame is not None)


class _ThreadAway(NamedTuple):
    """A thread that left a CPU, or (`back`) came back to one at that time."""

    at_ns: int
    kind: str
    stack: Stack
    back: bool = False


class CallChainFold:
    """Records in the order of their time become stacks with seconds."""

    def __init__(self, hertz: int = HERTZ, command_pids: set[int] | None = None) -> None:
        """`hertz`: of the clock."""
        self.maps = ProcessMaps(command_pids)
        self.seconds: dict[tuple[str, Stack], float] = {}
        self.lost = 0
        self.dropped_s = 0.0  # of stacks that were too many
        self._tick_s = 1 / hertz
        self._away: dict[int, _ThreadAway] = {}
        self._sighted: deque[tuple[int, int]] = deque(maxlen=MAX_SIGHTED)  # by the clock: who, when
        self._ended_threads: list[int] = []
        self._began_ns = 0

    def fold_clock(self, records: Iterable[Record]) -> None:
        for record in records:
            if isinstance(record, SampleRecord):
                if self.maps.is_of_command(record.pid):
                    self._add_or_drop(ON, self.maps.stack_of(record), self._tick_s)
                    self._sighted.append((record.tid, record.at_ns))
            elif isinstance(record, LostRecord):
                self.lost += record.records
            elif isinstance(record, ExitRecord):
                self._ended_threads.append(record.tid)
            else:
                self.maps.take_record(record)

    def fold_switches(self, window: RecordWindow) -> None:
        """A wait that lies over a window's ends counts as far as it lies within. A thread that is away when one begins
        is where it was when it was last seen: at random moments that is as probable as where it is now. Of who neither
        leaves nor comes the clock tells whether it ran all the time.
        """
        self._began_ns = window.began_ns or self._began_ns
        for record in window.records:
            if isinstance(record, LostRecord):  # what left before may have come back unseen
                self.lost += record.records
                self._away.clear()
            elif isinstance(record, SampleRecord) and len(record.data) >= _SWITCH.size:
                leaves, state, comes = _SWITCH.unpack_from(record.data)
                self._note_thread_is_back(comes, record.at_ns)
                self._away.pop(leaves, None)
                if self.maps.is_of_command(record.pid) and not state & _DEAD:
                    kind = OFF if state & _ASLEEP else RUNNABLE
                    self._away[leaves] = _ThreadAway(record.at_ns, kind, self.maps.stack_of(record))
        if window.ended_ns:
            near_ns = self._began_ns - self._tick_s * 1e9
            ran = {tid for tid, at_ns in self._sighted if near_ns <= at_ns <= window.ended_ns}
            for tid, away in self._away.items():
                if not (tid in ran if away.at_ns < self._began_ns else away.back):
                    self._add_time_away(away, window.ended_ns)
            while self._sighted and self._sighted[0][1] <= window.ended_ns:
                self._sighted.popleft()
            for tid in self._ended_threads:
                self._away.pop(tid, None)
            self._ended_threads.clear()

    def _note_thread_is_back(self, tid: int, at_ns: int) -> None:
        if (away := self._away.get(tid)) is not None:
            if not away.back or away.at_ns < self._began_ns:
                self._add_time_away(away, at_ns)
            self._away[tid] = away._replace(at_ns=at_ns, back=True)

    def _add_time_away(self, away: _ThreadAway, until_ns: int) -> None:
        self._add_or_drop(away.kind, away.stack, max(0, until_ns - max(away.at_ns, self._began_ns)) / 1e9)

    def _add_or_drop(self, kind: str, stack: Stack, seconds: float) -> None:
        key = (kind, stack)
        if key in self.seconds or len(self.seconds) < MAX_STACKS:
            self.seconds[key] = self.seconds.get(key, 0.0) + seconds
        else:
            self.dropped_s += seconds


class CallProfile:
    """Opened and started before the command is forked, of which it is from execve(2) on."""

    def __init__(self, cpus: Sequence[int], command_pids: set[int]) -> None:
        """`command_pids`: as of `ProcessMaps`."""
        hertz = max(1, min(HERTZ, MAX_HERTZ // len(cpus)))
        flags = perf_ring.MAPS | perf_ring.NAMES | perf_ring.TASKS | perf_ring.FREQUENCY
        clock = (perf_ring.SOFTWARE, perf_ring.CPU_CLOCK, hertz)
        rings = perf_ring.open_rings(perf_ring.sample_attribute(*clock, flags), cpus, CLOCK_PAGES)
        self.kernel = bool(rings)
        if not rings:
            flags |= perf_ring.NO_KERNEL | perf_ring.INHERIT | perf_ring.ON_EXEC
            rings = perf_ring.open_rings(perf_ring.sample_attribute(*clock, flags), cpus, CLOCK_PAGES, pid=0)
        self.fold = CallChainFold(hertz, command_pids if self.kernel else None)
        self._clock = RingReader(rings)
        self._switches_per_group = SampledWindowReader(SWITCHES if self.kernel else (), cpus)
        self.due = next_look_due_s(0.0)

    @property
    def all_rings(self) -> list[perf_ring.PerfRing]:
        return [*self._clock.rings, *self._switches_per_group.rings]

    def start(self) -> None:
        for ring in self._clock.rings if self.kernel else ():
            ring.switch_event(on=True)
        self._switches_per_group.start()

    def take_samples(self, *, last: bool = False) -> None:
        cost = time.process_time()
        self._clock.hold_ring_bytes()
        self._switches_per_group.hold_ring_bytes(last=last)
        if self._clock.held_bytes + self._switches_per_group.held_bytes > HELD_BYTES:
            self._fold_oldest_window()
        self.due = next_look_due_s(time.process_time() - cost)

    def _fold_oldest_window(self) -> None:
        """The clock's first: it tells what lies where."""
        self.fold.fold_clock(self._clock.take_oldest_window().records)
        self.fold.fold_switches(self._switches_per_group.take_oldest_window())

    def call_result(self) -> dict[str, object] | None:
        """As `hostdx.probes.engine.command.supervised.JobRun.calls` has it; None where nothing may be sampled."""
        if not self._clock.rings:
            return None
        self.take_samples(last=True)
        while self._clock:
            self._fold_oldest_window()
        fold, scale = self.fold, self._switches_per_group.scale
        stacks = [
            (kind, stack, seconds * (1.0 if kind == ON else scale))
            for (kind, stack), seconds in fold.seconds.items()
        ]
        return {
            "kernel": self.kernel,
            "waits": bool(self._switches_per_group.rings),
            "lost": fold.lost,
            "dropped_s": fold.dropped_s,
            "files": list(fold.maps.files),
            "stacks": sorted(stacks, key=lambda entry: -entry[2]),
        }

    def close(self) -> None:
        for ring in self.all_rings:
            ring.close()
