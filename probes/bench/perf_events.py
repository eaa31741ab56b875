"""Hardware counters of a command and all that it starts, by perf_event_open(2). Standard library only.

Opened disabled in the parent: what it forks inherits them, and they begin at execve(2): only the command counts.
A process's counts are added when it ends.
"""

from __future__ import annotations

import ctypes
import os
import platform
import struct

_NUMBERS = {"x86_64": 298, "aarch64": 241, "ppc64le": 319, "s390x": 331, "riscv64": 241}
_ATTR_BYTES = 64  # PERF_ATTR_SIZE_VER0
_TIMES = 0b11  # PERF_FORMAT_TOTAL_TIME_ENABLED and _RUNNING
_DISABLED, _INHERIT, _NO_KERNEL, _NO_HYPERVISOR, _ON_EXEC = 1 << 0, 1 << 1, 1 << 5, 1 << 6, 1 << 12
_CLOEXEC = 1 << 3  # PERF_FLAG_FD_CLOEXEC
HARDWARE, SOFTWARE = 0, 1  # PERF_TYPE_*
EVENTS = {"cycles": (HARDWARE, 0), "instructions": (HARDWARE, 1), "cache_misses": (HARDWARE, 3)}


class Counters:
    """Those that this host has and allows; the user's part alone where the kernel's may not be counted."""

    def __init__(self, events: dict[str, tuple[int, int]] = EVENTS) -> None:
        self._open: dict[str, int] = {}
        for name, (kind, config) in events.items():
            descriptor = _opened(kind, config, 0)
            if descriptor < 0:
                descriptor = _opened(kind, config, _NO_KERNEL)
            if descriptor >= 0:
                self._open[name] = descriptor
        self._names = tuple(events)

    @property
    def counted(self) -> tuple[str, ...]:
        return tuple(self._open)

    def end(self) -> dict[str, float | None]:
        """The counts, scaled where events took turns on the counters; None where one was not counted."""
        found: dict[str, float | None] = dict.fromkeys(self._names)
        for name, descriptor in self._open.items():
            count, enabled, running = struct.unpack("QQQ", os.read(descriptor, 24))
            os.close(descriptor)
            if running:
                found[name] = count * enabled / running
        self._open.clear()
        return found


def _opened(kind: int, config: int, more: int) -> int:
    """Its descriptor, of this process on any CPU; -1 where it cannot be had."""
    number = _NUMBERS.get(platform.machine())
    if number is None:
        return -1
    flags = _DISABLED | _INHERIT | _NO_HYPERVISOR | _ON_EXEC | more
    attr = struct.pack("=IIQQQQQIIQ", kind, _ATTR_BYTES, config, 0, 0, _TIMES, flags, 0, 0, 0)
    call = ctypes.CDLL(None, use_errno=True).syscall
    call.restype = ctypes.c_long
    buffer = ctypes.create_string_buffer(attr, _ATTR_BYTES)
    return int(call(ctypes.c_long(number), buffer, 0, -1, -1, ctypes.c_ulong(_CLOEXEC)))
