"""Which locks of the kernel the threads of a command wait for, asleep or spinning: the tracepoints
lock:contention_begin and _end (Linux 5.19 on, include/trace/events/lock.h), with the kernel's call path to each.

Where locks are met so often that telling it would itself take time, they are looked at in windows: what lies over a
window's end counts as far as it lies within. For a light child: standard library only.
"""

from __future__ import annotations

import struct
import time
from collections import deque
from collections.abc import Iterable, Sequence
from typing import TypeAlias

from probes.bench.profile import perf_ring
from probes.bench.profile.perf_records import USER_BELOW, Lost, Ordered, Record, Sample
from probes.bench.profile.tracepoints import tracepoints

BEGIN, END = "lock/contention_begin", "lock/contention_end"
PAGES = 16
FIRST_S, EVERY_S = 0.01, 0.05  # the first window; from one window's begin to the next one's
HELD_BYTES = 16 << 20  # as in `call_profile`
COST = 400  # looking takes 0.25 % of a core at most
MOST_BYTES_S = 150_000  # of records of 150 bytes and 2 µs each
MOST_WAYS, MOST_LOCKS, KEPT = 2000, 4096, 300
# type, flags, preempt count, process; the lock's address; its kind, or the outcome
_DATA = struct.Struct("=HBBiQI")

Path: TypeAlias = tuple[int, ...]  # addresses in the kernel, the innermost first
Way: TypeAlias = tuple[int, Path, Path]  # the lock's kind (LCB_F_*), who waits, who had taken it before


class Waiting:
    """Records in the order of their time become seconds by the way that they came."""

    def __init__(self, begin: int, end: int) -> None:
        """The tracepoints' numbers, by which a record says which it is."""
        self._kinds = {begin: True, end: False}
        self._since: dict[tuple[int, int], tuple[int, int, Path]] = {}  # by thread and lock: time, kind, path
        # by lock: the thread that waited for it last, and its path
        self._taken: dict[int, tuple[int, Path]] = {}
        self.seconds: dict[Way, list[float]] = {}  # and how often
        self.lost = 0

    def hear(self, found: Iterable[Record]) -> None:
        for record in found:
            if isinstance(record, Lost):  # a wait that goes on may have ended unseen
                self.lost += record.records
                self._since.clear()
            elif isinstance(record, Sample) and len(record.data) >= _DATA.size:
                number, _, _, _, lock, kind = _DATA.unpack_from(record.data)
                begins = self._kinds.get(number)
                path = tuple(address for address in record.chain if address >= USER_BELOW)
                if begins:  # a mutex is told again when spinning for it was in vain
                    self._since.setdefault((record.tid, lock), (record.at_ns, kind, path))
                elif begins is not None:
                    self._ended(record.tid, lock, record.at_ns)

    def _ended(self, tid: int, lock: int, at_ns: int) -> None:
        began_ns, kind, path = self._since.pop((tid, lock), (0, 0, ()))
        if not path:
            return
        before, holder = self._taken.get(lock, (tid, ()))
        self._add((kind, path, holder if before != tid else ()), at_ns - began_ns)
        if lock in self._taken or len(self._taken) < MOST_LOCKS:
            self._taken[lock] = (tid, path)

    def cut(self, at_ns: int) -> None:
        """Nothing is told from here on: who waits has waited until now."""
        for began_ns, kind, path in self._since.values():
            self._add((kind, path, ()), at_ns - began_ns)
        self._since.clear()

    def _add(self, way: Way, nanoseconds: int) -> None:
        if way in self.seconds or len(self.seconds) < MOST_WAYS:
            spent = self.seconds.setdefault(way, [0.0, 0])
            spent[0] += max(0, nanoseconds) / 1e9
            spent[1] += 1


class LockProfile:
    """Opened before what it is of is forked; `look` when `due`, `result` at the end."""

    def __init__(self, cpus: Sequence[int]) -> None:
        found = tracepoints((BEGIN, END))
        self._waiting = Waiting(found.get(BEGIN, -1), found.get(END, -1))
        rings: list[list[perf_ring.Ring]] = []
        for number in found.values():
            attr = perf_ring.attribute(
                perf_ring.TRACEPOINT, number, 1, perf_ring.NO_USER_CHAIN, perf_ring.RAW
            )
            rings.append(perf_ring.opened(attr, cpus, PAGES))
        self._rings = [ring for some in rings for ring in some]
        if not all(rings):
            self.close()
        self._ordered = Ordered(self._rings, with_data=True)
        self._cuts: deque[int] = deque()  # when the window ended with a taking; 0: it goes on
        self._window_s, self._on = FIRST_S, True  # from execve(2) on
        self._began = self._opened = time.monotonic()
        self._seen_s = 0.0
        self.due = self._began + FIRST_S if self._rings else float("inf")

    def start(self) -> None:
        """Of who runs no other program."""
        self._switch(on=True)
        self._began = self._opened = time.monotonic()
        self.due = self._began + FIRST_S

    def look(self) -> None:
        """Ends a window or begins the next one."""
        now, cost = time.monotonic(), time.process_time()
        if not self._on:
            self._began, self._on = now, True
            self._switch(on=True)
            self.due = now + self._window_s
            return
        rate = self._take() / max(1e-4, now - self._began)
        self._seen_s += now - self._began
        self._window_s = min(EVERY_S, 4 * self._window_s, EVERY_S * MOST_BYTES_S / max(rate, 1e-3))
        if self._window_s < EVERY_S:
            self._switch(on=False)
            self._take(cut=True)
            self._on = False
        self._began = now
        wait_s = EVERY_S if self._on else EVERY_S - self._window_s
        if self._ordered.held_bytes > HELD_BYTES:
            self._hear_oldest()
        self.due = now + max(wait_s, COST * (time.process_time() - cost))

    def _take(self, *, cut: bool = False) -> int:
        self._cuts.append(time.monotonic_ns() if cut else 0)
        return self._ordered.take()

    def _hear_oldest(self) -> None:
        self._waiting.hear(self._ordered.oldest())
        if at_ns := self._cuts.popleft():
            self._waiting.cut(at_ns)

    def _switch(self, *, on: bool) -> None:
        for ring in self._rings:
            ring.switch(on=on)

    def result(self) -> dict[str, object] | None:
        """As `probes.bench.run.supervised.JobRun.locks` has it; None where it is not allowed, or not there."""
        if not self._rings:
            return None
        whole_s = time.monotonic() - self._opened
        if self._on:
            self._seen_s += time.monotonic() - self._began
            self._take(cut=True)
        while self._ordered:
            self._hear_oldest()
        scale = max(1.0, whole_s / max(1e-4, self._seen_s))
        longest = sorted(self._waiting.seconds.items(), key=lambda item: -item[1][0])[:KEPT]
        return {
            "lost": self._waiting.lost,
            "ways": [(*way, seconds * scale, count * scale) for way, (seconds, count) in longest],
        }

    def close(self) -> None:
        for ring in self._rings:
            ring.close()
        self._rings = []
