"""What is taken out of perf rings while a command runs, and decoded later: to decode takes a hundred times as long.
Standard library only.

The numbers of the kernel's tracepoints, from tracefs, which is only read. Standard library only.

Where it is not mounted it is opened as a mount that is attached to no directory (fsopen(2), fsmount(2); Linux 5.2 on):
no name space has it, and it goes with its descriptor.
"""

import ctypes
import os
import time
from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

from hostdx.probes.number_text import parse_unsigned
from hostdx.probes.profile import perf_ring
from hostdx.probes.profile.perf_records import Record, count_samples_and_last_ns, parse_records
from hostdx.probes.profile.perf_ring import PerfRing

MOUNTED = ("/sys/kernel/tracing", "/sys/kernel/debug/tracing")
# where those who decode the records expect a field, and its size: kernels with more in front (PREEMPT_RT) differ
LAYOUTS = {
    "sched/sched_switch": (("prev_pid", 24, 4), ("prev_state", 32, 8), ("next_pid", 56, 4)),
    "lock/contention_begin": (("lock_addr", 8, 8), ("flags", 16, 4)),
    "lock/contention_end": (("lock_addr", 8, 8), ("ret", 16, 4)),
}
_FSOPEN, _FSCONFIG, _FSMOUNT, _CREATE = 430, 431, 432, 6  # the same numbers on each machine


def tracepoint_numbers(names: tuple[str, ...], folders: tuple[str, ...] = MOUNTED) -> dict[str, int]:
    """`lock/contention_begin`: its number; none where one is not there, may not be read or has another layout."""
    for place in folders:
        try:
            folder = os.open(f"{place}/events", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError:
            continue
        return _ids_if_layout_known(folder, "", names)
    mount = _detached_tracefs_fd() if folders == MOUNTED and os.geteuid() == 0 else -1
    return _ids_if_layout_known(mount, "events/", names) if mount >= 0 else {}


def _ids_if_layout_known(folder: int, below: str, names: tuple[str, ...]) -> dict[str, int]:
    numbers: dict[str, int] = {}
    try:
        for name in names:
            number, layout = (_read_text_at(folder, f"{below}{name}/{file}") for file in ("id", "format"))
            expected = (f" {field};\toffset:{at};\tsize:{size};" for field, at, size in LAYOUTS[name])
            if (parsed := parse_unsigned(number)) is None or not all(line in layout for line in expected):
                return {}
            numbers[name] = parsed
    except OSError:
        return {}
    finally:
        os.close(folder)
    return numbers


def _read_text_at(folder: int, name: str) -> str:
    file = os.open(name, os.O_RDONLY | os.O_CLOEXEC, dir_fd=folder)
    try:
        return os.read(file, 8192).decode("ascii", "replace").strip()
    finally:
        os.close(file)


def _detached_tracefs_fd() -> int:
    """The descriptor of tracefs, mounted nowhere; -1 where the kernel refuses."""
    call = ctypes.CDLL(None, use_errno=True).syscall
    call.restype = ctypes.c_long
    system = int(call(_FSOPEN, b"tracefs", 1))
    if system < 0:
        return -1
    is_created = call(_FSCONFIG, system, _CREATE, None, None, 0) == 0
    mount = int(call(_FSMOUNT, system, 1, 0)) if is_created else -1
    os.close(system)
    return mount


EVERY_S = 0.1
HELD_BYTES = 32 << 20  # until the command has ended; with more the oldest are decoded meanwhile, and then
COST = 400  # that takes 0.25 % of a core at most
# of 2 to 4 µs each in EVERY_S, on a CPU and on all; several events share them
SAMPLES, ALL_SAMPLES = 160, 640
PAGES = 32  # SAMPLES of MOST_FRAMES fit in: nothing is lost


class RecordWindow(NamedTuple):
    """Records by their time: what one ring tells of a thread may go on in another one."""

    records: list[Record]
    began_ns: int  # 0: it goes on from the one before
    ended_ns: int  # 0: it goes on in the next one


class RingReader:
    """Of rings that are on all the time."""

    def __init__(self, rings: Sequence[PerfRing], *, with_tracepoint_data: bool = False) -> None:
        self.rings = rings
        self._with_data = with_tracepoint_data
        self._late: list[Record] = []
        self._held: deque[tuple[int, int, int, list[bytes]]] = deque()  # began, until, ended
        self.held_bytes = 0

    def hold_ring_bytes(self, *, last: bool = False) -> None:
        until_ns = time.monotonic_ns()
        self._hold_bytes(0, until_ns, until_ns if last else 0, [ring.take_bytes() for ring in self.rings])

    def _hold_bytes(self, began_ns: int, until_ns: int, ended_ns: int, data: list[bytes]) -> None:
        self._held.append((began_ns, until_ns, ended_ns, data))
        self.held_bytes += sum(map(len, data))

    def take_oldest_window(self) -> RecordWindow:
        """Of one taking; what is younger than that waits for the next one, but at a window's end."""
        began_ns, until_ns, ended_ns, parts = self._held.popleft()
        records = self._late
        for data in parts:
            self.held_bytes -= len(data)
            records += parse_records(data, with_tracepoint_data=self._with_data)
        records.sort(key=lambda record: record.at_ns)
        count = sum(record.at_ns <= until_ns for record in records)
        self._late = [] if ended_ns else records[count:]
        return RecordWindow(
            [record for record in records[:count] if record.at_ns >= began_ns], began_ns, ended_ns
        )

    def __bool__(self) -> bool:
        return bool(self._held)


class SampledWindowReader(RingReader):
    """Of tracepoints, by their names, on whole CPUs. Each stops by itself after so many samples and goes on at the next
    taking: what is watched pays for no more, however often it comes by. A window ends where the first one stopped.
    """

    def __init__(self, names: tuple[str, ...], cpus: Sequence[int], flags: int = 0) -> None:
        self.numbers = tracepoint_numbers(names)
        rings: list[PerfRing] = []
        for number in self.numbers.values():
            attr = perf_ring.sample_attribute(perf_ring.TRACEPOINT, number, 1, flags, perf_ring.RAW)
            rings += perf_ring.open_rings(attr, cpus, PAGES)
        if len(rings) < len(names) * len(cpus):
            for ring in rings:
                ring.close()
            rings.clear()
        super().__init__(rings, with_tracepoint_data=True)
        self._samples = max(4, min(SAMPLES, ALL_SAMPLES // len(cpus)) // max(1, len(names)))
        self._left = [0] * len(rings)
        self._first_ns = self._began_ns = self._seen_ns = 0
        self._fresh = True  # the next taking is a window's first

    def start(self) -> None:
        self._enable_and_refill_rings()
        self._first_ns = self._began_ns = time.monotonic_ns()

    def hold_ring_bytes(self, *, last: bool = False) -> None:
        until_ns = time.monotonic_ns()
        parts = [ring.take_bytes() for ring in self.rings]
        over = last
        for n, data in enumerate(parts):
            count, last_ns = count_samples_and_last_ns(data)
            self._left[n] -= count
            if self._left[n] <= 0:
                over, until_ns = True, min(until_ns, last_ns)
        self._hold_bytes(self._began_ns if self._fresh else 0, until_ns, until_ns if over else 0, parts)
        self._fresh = over
        self._enable_and_refill_rings()
        if over:
            self._seen_ns += until_ns - self._began_ns
            self._began_ns = time.monotonic_ns()

    def _enable_and_refill_rings(self) -> None:
        for n, ring in enumerate(self.rings):
            ring.enable_for(self._samples - max(0, self._left[n]))
            self._left[n] = self._samples

    @property
    def scale(self) -> float:
        """All the time for a second of what was seen, when the last taking is over."""
        return max(1.0, (self._began_ns - self._first_ns) / max(1, self._seen_ns))


def next_look_due_s(cost_s: float) -> float:
    """When to look again, where it took so much CPU time."""
    return time.monotonic() + max(EVERY_S, COST * cost_s)
