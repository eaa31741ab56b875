"""What is taken out of perf rings while a command runs, and decoded later: to decode takes a hundred times as long.
Standard library only.
"""

import time
from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

from probes.profile import perf_ring
from probes.profile.perf_records import Record, count_samples, parse_records
from probes.profile.perf_ring import Ring
from probes.profile.tracepoints import tracepoint_numbers

EVERY_S = 0.1
HELD_BYTES = 32 << 20  # until the command has ended; with more the oldest are decoded meanwhile, and then
COST = 400  # that takes 0.25 % of a core at most
# of 2 to 4 µs each in EVERY_S, on a CPU and on all; several events share them
SAMPLES, ALL_SAMPLES = 160, 640
PAGES = 32  # SAMPLES of MOST_FRAMES fit in: nothing is lost


class Window(NamedTuple):
    """Records by their time: what one ring tells of a thread may go on in another one."""

    records: list[Record]
    began_ns: int  # 0: it goes on from the one before
    ended_ns: int  # 0: it goes on in the next one


class Takings:
    """Of rings that are on all the time."""

    def __init__(self, rings: Sequence[Ring], *, with_data: bool = False) -> None:
        self.rings = rings
        self._with_data = with_data
        self._late: list[Record] = []
        self._held: deque[tuple[int, int, int, list[bytes]]] = deque()  # began, until, ended
        self.held_bytes = 0

    def take_records(self, *, last: bool = False) -> None:
        until_ns = time.monotonic_ns()
        self._hold_taking(0, until_ns, until_ns if last else 0, [ring.take_bytes() for ring in self.rings])

    def _hold_taking(self, began_ns: int, until_ns: int, ended_ns: int, data: list[bytes]) -> None:
        self._held.append((began_ns, until_ns, ended_ns, data))
        self.held_bytes += sum(map(len, data))

    def oldest_window(self) -> Window:
        """Of one taking; what is younger than that waits for the next one, but at a window's end."""
        began_ns, until_ns, ended_ns, parts = self._held.popleft()
        records_found = self._late
        for data in parts:
            self.held_bytes -= len(data)
            records_found += parse_records(data, with_data=self._with_data)
        records_found.sort(key=lambda record: record.at_ns)
        count = sum(record.at_ns <= until_ns for record in records_found)
        self._late = [] if ended_ns else records_found[count:]
        return Window(
            [record for record in records_found[:count] if record.at_ns >= began_ns], began_ns, ended_ns
        )

    def __bool__(self) -> bool:
        return bool(self._held)


class Windows(Takings):
    """Of tracepoints, by their names, on whole CPUs. Each stops by itself after so many samples and goes on at the next
    taking: what is watched pays for no more, however often it comes by. A window ends where the first one stopped.
    """

    def __init__(self, names: tuple[str, ...], cpus: Sequence[int], flags: int = 0) -> None:
        self.numbers = tracepoint_numbers(names)
        rings: list[Ring] = []
        for number in self.numbers.values():
            attr = perf_ring.event_attribute(perf_ring.TRACEPOINT, number, 1, flags, perf_ring.RAW)
            rings += perf_ring.open_rings(attr, cpus, PAGES)
        if len(rings) < len(names) * len(cpus):
            for ring in rings:
                ring.close()
            rings.clear()
        super().__init__(rings, with_data=True)
        self._samples = max(4, min(SAMPLES, ALL_SAMPLES // len(cpus)) // max(1, len(names)))
        self._left = [0] * len(rings)
        self._first_ns = self._began_ns = self._seen_ns = 0
        self._fresh = True  # the next taking is a window's first

    def start(self) -> None:
        self._refresh()
        self._first_ns = self._began_ns = time.monotonic_ns()

    def take_records(self, *, last: bool = False) -> None:
        until_ns = time.monotonic_ns()
        parts = [ring.take_bytes() for ring in self.rings]
        over = last
        for n, data in enumerate(parts):
            count, last_ns = count_samples(data)
            self._left[n] -= count
            if self._left[n] <= 0:
                over, until_ns = True, min(until_ns, last_ns)
        self._hold_taking(self._began_ns if self._fresh else 0, until_ns, until_ns if over else 0, parts)
        self._fresh = over
        self._refresh()
        if over:
            self._seen_ns += until_ns - self._began_ns
            self._began_ns = time.monotonic_ns()

    def _refresh(self) -> None:
        for n, ring in enumerate(self.rings):
            ring.refresh(self._samples - max(0, self._left[n]))
            self._left[n] = self._samples

    @property
    def scale(self) -> float:
        """All the time for a second of what was seen, when the last taking is over."""
        return max(1.0, (self._began_ns - self._first_ns) / max(1, self._seen_ns))


def next_due(cost_s: float) -> float:
    """When to look again, where it took so much CPU time."""
    return time.monotonic() + max(EVERY_S, COST * cost_s)
