"""Hardware counters by perf_event_open(2): of a command and all that it starts, and of processes
that run already. Standard library only.

A command's are opened disabled in the parent: what it forks inherits them, and they begin at
execve(2): only the command counts. A process's counts are added when it ends.
"""

import os
import struct
from collections.abc import Mapping, Sequence

from hostdx.probes.engine.command.topdown import PerfEvent
from hostdx.probes.profile.perf_ring import open_event

_ATTR_BYTES = 64  # PERF_ATTR_SIZE_VER0
_TIMES = 0b11  # PERF_FORMAT_TOTAL_TIME_ENABLED and _RUNNING
_DISABLED, _INHERIT, _NO_KERNEL, _NO_HYPERVISOR, _ON_EXEC = 1 << 0, 1 << 1, 1 << 5, 1 << 6, 1 << 12
_AT_EXECVE = _DISABLED | _INHERIT | _NO_HYPERVISOR | _ON_EXEC
HARDWARE, SOFTWARE = 0, 1  # PERF_TYPE_*
CYCLES, INSTRUCTIONS, CACHE_MISSES, BRANCH_MISSES = "cycles", "instructions", "cache misses", "branch misses"
EVENTS = {
    name: PerfEvent(HARDWARE, config)
    for name, config in ((CYCLES, 0), (INSTRUCTIONS, 1), (CACHE_MISSES, 3), (BRANCH_MISSES, 5))
}


class CountersFromExec:
    """Those that this host has and allows; the user's part alone where the kernel's may not be counted."""

    def __init__(self, events: Mapping[str, PerfEvent] = EVENTS) -> None:
        self._open: dict[str, int] = {}
        for name, (kind, config, leader) in events.items():
            group = self._open.get(leader, -1)
            if leader and group < 0:
                continue
            # a member, too: one that only its leader keeps from counting counts us where CPUs are short
            descriptor = _open_event_fd(kind, config, 0, 0, _AT_EXECVE, group)
            if descriptor < 0:
                descriptor = _open_event_fd(kind, config, _NO_KERNEL, 0, _AT_EXECVE, group)
            if descriptor >= 0:
                self._open[name] = descriptor

    @property
    def counted_events(self) -> tuple[str, ...]:
        return tuple(self._open)

    def read_and_close(self) -> dict[str, float]:
        """The counts, scaled where events took turns on the counters; without those that were not counted."""
        counts: dict[str, float] = {}
        for name, descriptor in self._open.items():
            count, enabled, running = struct.unpack("QQQ", os.read(descriptor, 24))
            os.close(descriptor)
            if running:
                counts[name] = count * enabled / running
        self._open.clear()
        return counts


class CycleClocks:
    """Of running processes of ours: cycles a nanosecond of CPU time, which is the clock they had (all together).

    APERF and MPERF tell the same; a process's cycles tell it of the CPUs that it was on, and of nobody else's time.
    """

    def __init__(self, pids: Sequence[int], event: PerfEvent = EVENTS[CYCLES]) -> None:
        self._open: list[int] = []
        for pid in pids:
            descriptor = _open_event_fd(event.kind, event.config, 0, pid, _NO_HYPERVISOR)
            if descriptor < 0:
                descriptor = _open_event_fd(event.kind, event.config, _NO_KERNEL, pid, _NO_HYPERVISOR)
            if descriptor >= 0:
                self._open.append(descriptor)

    def read_and_close(self) -> tuple[float | None, int]:
        """Gigahertz, and of how many processes that ran; None where nothing was counted."""
        counts = [struct.unpack("QQQ", os.read(descriptor, 24)) for descriptor in self._open]
        for descriptor in self._open:
            os.close(descriptor)
        self._open.clear()
        running = sum(on for _, _, on in counts)
        cycles = sum(count for count, _, _ in counts)
        return (cycles / running if running and cycles else None), sum(on > 0 for _, _, on in counts)


def _open_event_fd(
    kind: int, config: int, extra_flags: int, pid: int = 0, base_flags: int = _AT_EXECVE, group: int = -1
) -> int:
    """Its descriptor, of a process on any CPU; -1 where it cannot be had."""
    flags = base_flags | extra_flags
    attr = struct.pack("=IIQQQQQIIQ", kind, _ATTR_BYTES, config, 0, 0, _TIMES, flags, 0, 0, 0)
    return open_event(attr, pid, -1, group)
