"""Perf events that write into rings which we read: of whole CPUs, or of a task and what it starts on each CPU. Standard
library only; perf_event_open(2), include/uapi/linux/perf_event.h. An event dies with the process that opened it.

A task's events are put on and taken off the CPU at each context switch, which costs 0.7 µs of 4 (kernel 6.18, a virtual
machine) even where they are disabled; events of whole CPUs cost a switch nothing, and need root. An inherited event can
only be mapped where it is bound to a CPU: so each kind of event is opened once for each CPU.
"""

import ctypes
import fcntl
import mmap
import os
import platform
import struct
from collections.abc import Sequence

_NUMBERS = {"x86_64": 298, "aarch64": 241, "ppc64le": 319, "s390x": 331, "riscv64": 241}
_CLOEXEC = 1 << 3  # PERF_FLAG_FD_CLOEXEC
SOFTWARE, TRACEPOINT = 1, 2  # PERF_TYPE_*
CPU_CLOCK = 0  # PERF_COUNT_SW_CPU_CLOCK
_BYTES = 112  # PERF_ATTR_SIZE_VER5: clockid and sample_max_stack
TID, TIME, CALLCHAIN, RAW = 1 << 1, 1 << 2, 1 << 5, 1 << 10  # PERF_SAMPLE_*
DISABLED, INHERIT, NO_KERNEL, NO_HYPERVISOR = 1 << 0, 1 << 1, 1 << 5, 1 << 6
MAPS, NAMES, FREQUENCY, ON_EXEC, TASKS = 1 << 8 | 1 << 23, 1 << 9 | 1 << 24, 1 << 10, 1 << 12, 1 << 13
ID_ALL, NO_USER_CHAIN, CLOCK = 1 << 18, 1 << 22, 1 << 25
# bits of ioctl(2), of which ppc64le has its own
_NONE, _WRITE = (1 << 29, 1 << 31) if platform.machine() == "ppc64le" else (0, 1 << 30)
_ENABLE, _DISABLE, _REFRESH = (_NONE | 0x2400 | number for number in range(3))  # PERF_EVENT_IOC_*
_PERIOD = _WRITE | 8 << 16 | 0x2404
_MONOTONIC = 1
MAX_FRAMES = 64
_HEAD, _TAIL, _OFFSET, _SIZE = 1024, 1032, 1040, 1048  # in the first page (struct perf_event_mmap_page)


def sample_attribute(kind: int, config: int, period: int, flags: int, more_sampled: int = 0) -> bytes:
    """Of a sampled event with call chains, disabled, on the monotonic clock. `more_sampled`: bits of sample_type."""
    attr = bytearray(_BYTES)
    sampled = TID | TIME | CALLCHAIN | more_sampled
    flags |= DISABLED | NO_HYPERVISOR | ID_ALL | CLOCK
    struct.pack_into("=IIQQQQQ", attr, 0, kind, _BYTES, config, period, sampled, 0, flags)
    struct.pack_into("=i", attr, 92, _MONOTONIC)
    struct.pack_into("=H", attr, 108, MAX_FRAMES)
    return bytes(attr)


class PerfRing:
    """Of one event on one CPU. Raises OSError where it cannot be mapped (RLIMIT_MEMLOCK, perf_event_mlock_kb)."""

    def __init__(self, descriptor: int, pages: int) -> None:
        """`pages`: a power of two."""
        self._descriptor = descriptor
        self._memory = mmap.mmap(descriptor, (1 + pages) * mmap.PAGESIZE)
        self._offset: int
        self._size: int
        self._offset, self._size = struct.unpack_from("=QQ", self._memory, _OFFSET)
        if not self._size:  # before Linux 4.1
            self._offset, self._size = mmap.PAGESIZE, pages * mmap.PAGESIZE

    def take_bytes(self) -> bytes:
        """Return what was written since the last time; the room is free again."""
        (head,) = struct.unpack_from("=Q", self._memory, _HEAD)
        (tail,) = struct.unpack_from("=Q", self._memory, _TAIL)
        data = ring_window(self._memory, self._offset, self._size, tail, head)
        struct.pack_into("=Q", self._memory, _TAIL, head)
        return data

    def switch_event(self, *, on: bool) -> None:
        fcntl.ioctl(self._descriptor, _ENABLE if on else _DISABLE, 0)

    def enable_for(self, samples: int) -> None:
        """It is on, of each event, and stops by itself after so many more samples."""
        fcntl.ioctl(self._descriptor, _REFRESH, samples)
        # a tracepoint that had stopped is not started again by that (6.18: perf_trace_add leaves PERF_HES_STOPPED)
        fcntl.ioctl(self._descriptor, _PERIOD, struct.pack("=Q", 1))

    def close(self) -> None:
        self._memory.close()
        os.close(self._descriptor)


def ring_window(memory: mmap.mmap | bytes, offset: int, size: int, tail: int, head: int) -> bytes:
    """The bytes from `tail` to `head`, which count on and on, of a ring; nothing where they do not fit it."""
    if not 0 <= head - tail <= size:
        return b""
    begin, end = tail % size, tail % size + head - tail
    first = bytes(memory[offset + begin : offset + min(end, size)])
    return first if end <= size else first + bytes(memory[offset : offset + end - size])


def open_rings(attr: bytes, cpus: Sequence[int], pages: int, pid: int = -1) -> list[PerfRing]:
    """A ring for each CPU, of a task (0: this one; -1: of all); none where the kernel does not allow all of them."""
    rings: list[PerfRing] = []
    for cpu in cpus:
        descriptor = open_event(attr, pid, cpu)
        try:
            if descriptor < 0:
                raise OSError
            rings.append(PerfRing(descriptor, pages))
        except (OSError, ValueError):
            if descriptor >= 0:
                os.close(descriptor)
            for ring in rings:
                ring.close()
            return []
    return rings


def open_event(attr: bytes, pid: int, cpu: int, group: int = -1) -> int:
    """The descriptor of an event, of a task (0: this one) on a CPU (-1: any); -1 where it cannot be had."""
    number = _NUMBERS.get(platform.machine())
    if number is None:
        return -1
    call = ctypes.CDLL(None, use_errno=True).syscall
    call.restype = ctypes.c_long
    buffer = ctypes.create_string_buffer(attr, len(attr))
    return int(call(ctypes.c_long(number), buffer, pid, cpu, group, ctypes.c_ulong(_CLOEXEC)))
