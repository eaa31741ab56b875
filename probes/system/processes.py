"""Who is using the CPUs and the disks: processes by what they used between two looks.

Only /proc/PID/stat, /proc/PID/io and the list of children are read: none of them waits for a process's memory
map, as cmdline does behind a stuck page fault. A process in D state is never asked for its I/O.
"""

from __future__ import annotations

import os
from typing import Literal

import msgspec

from probes.host import Host
from probes.system.pulse import TICKS_PER_S
from probes.types import Absent

Resource = Literal["cpu", "io"]


class Process(msgspec.Struct, frozen=True):
    """One look at a process; what its reaped children used is included. `io`: bytes read and written, or None."""

    pid: int
    name: str  # the kernel's 15 characters: data from the host
    state: str
    parent: int
    start_ticks: int
    cpu_s: float
    io: tuple[int, int] | None = None


class Look(msgspec.Struct, frozen=True):
    """All processes at one time. `unreadable` counts those whose I/O only root may read."""

    uptime_s: float
    processes: dict[int, Process]
    unreadable: int = 0


class Culprit(msgspec.Struct, frozen=True):
    """`rate`: CPUs (1.0 is one whole CPU) or bytes a second."""

    pid: int
    name: str
    rate: float

    @property
    def label(self) -> str:
        return f"{self.name} [{self.pid}]"


def look(host: Host, *, io: bool) -> Look:
    """Every process that can be seen; 20 to 50 microseconds each."""
    names = host.listing("/proc")
    processes: dict[int, Process] = {}
    unreadable = 0
    for name in () if isinstance(names, Absent) else names:
        process = _process(host, name) if name.isdigit() else None
        if process is None:
            continue
        if io and process.state != "D":
            used = io_bytes(host, process.pid)
            unreadable += used is None
            process = msgspec.structs.replace(process, io=used)
        processes[process.pid] = process
    return Look(_uptime_s(host), processes, unreadable)


def busiest(before: Look, after: Look, resource: Resource, ours: frozenset[int]) -> Culprit | None:
    """The process outside `ours` that used most in between; a new one is judged by its own lifetime.

    None where nobody used a twentieth of a CPU or 64 KiB/s, or where it cannot be read.
    """
    between_s = max(after.uptime_s - before.uptime_s, 0.01)
    best: Culprit | None = None
    for pid, process in after.processes.items():
        if pid in ours:
            continue
        earlier = before.processes.get(pid)
        if earlier is not None and earlier.start_ticks != process.start_ticks:
            earlier = None
        seconds = between_s
        lifetime_s = max(after.uptime_s - process.start_ticks / TICKS_PER_S, 0.01)
        if earlier is None:
            seconds = min(between_s, lifetime_s)
        elif resource == "io" and earlier.io is None:  # it hung in D then: all that is known is its average
            seconds = max(between_s, lifetime_s)
        rate = (_used(process, resource) - (_used(earlier, resource) if earlier else 0.0)) / seconds
        if rate > (best.rate if best else 0.05 if resource == "cpu" else 65536.0):
            best = Culprit(pid, process.name, rate)
    return best


def family_of(host: Host, pid: int | None = None) -> dict[int, Process]:
    """A process and its descendants (children of its threads, and of the descendants' first threads)."""
    top = os.getpid() if pid is None else pid
    found: dict[int, Process] = {}
    waiting = [top]
    while waiting:
        at = waiting.pop()
        process = _process(host, str(at)) if at not in found else None
        if process is None:
            continue
        found[at] = process
        threads = host.listing(f"/proc/{at}/task") if at == top else (str(at),)
        for thread in () if isinstance(threads, Absent) else threads:
            children = host.text(f"/proc/{at}/task/{thread}/children", 1 << 16)
            if isinstance(children, str):
                waiting.extend(int(child) for child in children.split())
    return found


def cpu_seconds(processes: dict[int, Process]) -> float:
    """Summed, children that were reaped included: it never falls while the topmost process lives."""
    return sum(process.cpu_s for process in processes.values())


def _used(process: Process, resource: Resource) -> float:
    return process.cpu_s if resource == "cpu" else float(sum(process.io or (0, 0)))


def _process(host: Host, pid: str) -> Process | None:
    text = host.text(f"/proc/{pid}/stat", 4096)
    if isinstance(text, Absent):
        return None
    # The name stands in parentheses and may hold any character, parentheses too: proc_pid_stat(5).
    name = text[text.find("(") + 1 : text.rfind(")")]
    fields = text[text.rfind(")") + 1 :].split()
    try:
        ticks = sum(int(f) for f in fields[11:15])
        return Process(int(pid), name, fields[0], int(fields[1]), int(fields[19]), ticks / TICKS_PER_S)
    except (ValueError, IndexError):
        return None


def io_bytes(host: Host, pid: int) -> tuple[int, int] | None:
    """Bytes that a process made storage read and write (proc_pid_io(5)); None where that must not be read."""
    text = host.text(f"/proc/{pid}/io", 4096)
    if isinstance(text, Absent):
        return None
    counts = dict(line.partition(": ")[::2] for line in text.splitlines())
    try:
        return int(counts["read_bytes"]), int(counts["write_bytes"])
    except (KeyError, ValueError):
        return None


def _uptime_s(host: Host) -> float:
    text = host.text("/proc/uptime", 4096)
    try:
        return 0.0 if isinstance(text, Absent) else float(text.split()[0])
    except (ValueError, IndexError):
        return 0.0
