"""Which locks of the kernel the threads of a command wait for, asleep or spinning: the tracepoints
lock:contention_begin and _end (Linux 5.19 on, include/trace/events/lock.h), with the kernel's call path to each.

Where locks are met often, that is in windows: what lies over a window's end counts as far as it lies within. For a
light child: standard library only.
"""

import struct
import time
from collections.abc import Sequence
from typing import TypeAlias

from hostdx.probes.profile.perf_records import USER_BELOW, LostRecord, SampleRecord
from hostdx.probes.profile.perf_ring import NO_USER_CHAIN
from hostdx.probes.profile.rings import HELD_BYTES, RecordWindow, SampledWindowReader, next_look_due_s

BEGIN, END = "lock/contention_begin", "lock/contention_end"
MAX_WAYS, MAX_LOCKS, KEPT = 2000, 4096, 300
# type, flags, preempt count, process; the lock's address; its kind, or the outcome
_DATA = struct.Struct("=HBBiQI")

Path: TypeAlias = tuple[int, ...]  # addresses in the kernel, the innermost first
Way: TypeAlias = tuple[int, Path, Path]  # the lock's kind (LCB_F_*), who waits, who had taken it before


class LockWaitFold:
    """Records in the order of their time become seconds by the way that they came."""

    def __init__(self, begin: int, end: int, command_pids: set[int]) -> None:
        """The tracepoints' numbers, by which a record says which it is; the processes that count."""
        self._command_pids = command_pids
        self._kinds = {begin: True, end: False}
        self._since: dict[tuple[int, int], tuple[int, int, Path]] = {}  # by thread and lock: time, kind, path
        # by lock: the thread that waited for it last, and its path
        self._last_holder: dict[int, tuple[int, Path]] = {}
        self.seconds: dict[Way, list[float]] = {}  # and how often
        self.lost = 0

    def take_window(self, window: RecordWindow) -> None:
        for record in window.records:
            if isinstance(record, LostRecord):  # a wait that goes on may have ended unseen
                self.lost += record.records
                self._since.clear()
            elif (
                isinstance(record, SampleRecord)
                and record.pid in self._command_pids
                and len(record.data) >= _DATA.size
            ):
                number, _, _, _, lock, kind = _DATA.unpack_from(record.data)
                begins = self._kinds.get(number)
                path = tuple(address for address in record.chain if address >= USER_BELOW)
                if begins:  # a mutex is told again when spinning for it was in vain
                    self._since.setdefault((record.tid, lock), (record.at_ns, kind, path))
                elif begins is not None:
                    self._end_wait_and_note_holder(record.tid, lock, record.at_ns)
        if window.ended_ns:  # nothing is told from here on: who waits has waited until now
            for began_ns, kind, path in self._since.values():
                self._add_wait((kind, path, ()), window.ended_ns - began_ns)
            self._since.clear()

    def _end_wait_and_note_holder(self, tid: int, lock: int, at_ns: int) -> None:
        began_ns, kind, path = self._since.pop((tid, lock), (0, 0, ()))
        if not path:
            return
        before, holder = self._last_holder.get(lock, (tid, ()))
        self._add_wait((kind, path, holder if before != tid else ()), at_ns - began_ns)
        if lock in self._last_holder or len(self._last_holder) < MAX_LOCKS:
            self._last_holder[lock] = (tid, path)

    def _add_wait(self, way: Way, nanoseconds: int) -> None:
        if way in self.seconds or len(self.seconds) < MAX_WAYS:
            spent = self.seconds.setdefault(way, [0.0, 0])
            spent[0] += max(0, nanoseconds) / 1e9
            spent[1] += 1


class LockProfile:
    """`take_samples` when `next_due_s`, `lock_result` at the end. `command_pids`: as of `LockWaitFold`, when that is
    decoded.
    """

    def __init__(self, cpus: Sequence[int], command_pids: set[int]) -> None:
        self._windows = SampledWindowReader((BEGIN, END), cpus, NO_USER_CHAIN)
        numbers = self._windows.numbers
        self._waiting = LockWaitFold(numbers.get(BEGIN, -1), numbers.get(END, -1), command_pids)
        self.start, self.rings = self._windows.start, self._windows.rings
        self.due = next_look_due_s(0.0) if self.rings else float("inf")

    def take_samples(self, *, last: bool = False) -> None:
        cost = time.process_time()
        self._windows.hold_ring_bytes(last=last)
        if self._windows.held_bytes > HELD_BYTES:
            self._waiting.take_window(self._windows.take_oldest_window())
        self.due = next_look_due_s(time.process_time() - cost)

    def lock_result(self) -> dict[str, object] | None:
        """As in `hostdx.probes.engine.command.supervised.JobRun.locks`; None where it is not allowed or not there."""
        if not self.rings:
            return None
        self.take_samples(last=True)
        while self._windows:
            self._waiting.take_window(self._windows.take_oldest_window())
        scale = self._windows.scale
        longest = sorted(self._waiting.seconds.items(), key=lambda item: -item[1][0])[:KEPT]
        return {
            "lost": self._waiting.lost,
            "ways": [(*way, seconds * scale, count * scale) for way, (seconds, count) in longest],
        }

    def close(self) -> None:
        for ring in self.rings:
            ring.close()
