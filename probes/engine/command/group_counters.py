"""What a version 2 control group has counted: stalls (PSI), swap-ins, reclaim, how often it met its memory limit.
Standard library only: a light child reads it. Documentation/admin-guide/cgroup-v2.rst, .../accounting/psi.rst."""

import ctypes
import os
import signal
import struct
from collections.abc import Sequence
from pathlib import Path

from hostdx.probes.engine.command.process_tree import read_content_or_empty
from hostdx.probes.number_text import parse_unsigned, parse_unsigned_list

_CLONE3, _INTO_CGROUP = 435, 1 << 33  # the same number on every architecture; linux/sched.h, since Linux 5.7
_FIRST = 3
_MAX_LINES = 64  # processes of a look, lines of a file
_PAGE = os.sysconf("SC_PAGE_SIZE")
PRESSURES = {"cpu_pressure_s": "cpu", "io_pressure_s": "io", "memory_pressure_s": "memory"}
# pswpin is counted by group since Linux 6.13; before it what was evicted and came back tells the same (since 5.9)
SWAPPED_IN = ("pswpin", "workingset_refault_anon")
RECLAIMED = "pgsteal"
REFAULTED = ("workingset_refault_anon", "workingset_refault_file")  # taken away, and soon wanted again
LIMITS = ("high", "max")  # memory.events: allocations that met the limit and had to reclaim


def read_group_counters(folder: str) -> dict[str, float | None]:
    """Since the group was made: seconds in which at least one of its tasks waited (`*_full_s`: all
    that were not idle), bytes, times; None where not counted.
    """
    counters: dict[str, float | None] = {
        name: _stalled_seconds(f"{folder}/{which}.pressure", "some") for name, which in PRESSURES.items()
    }
    counters["memory_full_s"] = _stalled_seconds(f"{folder}/memory.pressure", "full")
    stat = _read_names_and_values(f"{folder}/memory.stat")
    counters["swapped_in_bytes"] = _bytes_of_pages(
        stat, next((name for name in SWAPPED_IN if name in stat), "")
    )
    counters["reclaimed_bytes"] = _bytes_of_pages(stat, RECLAIMED)
    counters["refaulted_bytes"] = _bytes_of_pages(stat, *REFAULTED)
    events = _read_names_and_values(f"{folder}/memory.events")
    times = parse_unsigned_list(events.get(name, "") for name in LIMITS)
    counters["limit_hits"] = None if times is None else float(sum(times))
    return counters


def group_counters_since(
    before: dict[str, float | None], now: dict[str, float | None]
) -> dict[str, float | None]:
    """Return what came along between two looks at one group."""
    differences: dict[str, float | None] = {}
    for name, after in now.items():
        earlier = before.get(name)
        differences[name] = None if after is None or earlier is None else max(0.0, after - earlier)
    return differences


class TreeQuota:
    """Seconds for which the control groups of a tree were held back by a CPU quota, since they were
    first seen in them; of both versions, whoever made them.
    """

    def __init__(self, proc: str = "/proc", top: str = "/sys/fs/cgroup") -> None:
        self._proc, self._top = proc, top
        self._looks: dict[int, int] = {}
        self._first: dict[str, float] = {}  # by the path of cpu.stat

    def look_at_groups(self, pids: Sequence[int]) -> None:
        """A process's group is read at its first looks: a wrapper may enter one. Later changes are not seen."""
        for pid in [pid for pid in pids[:_MAX_LINES] if self._looks.get(pid, 0) < _FIRST]:
            self._looks[pid] = self._looks.get(pid, 0) + 1
            for line in read_content_or_empty(f"{self._proc}/{pid}/cgroup").splitlines()[:_MAX_LINES]:
                _, controllers, path = [*line.split(":", 2), "", ""][:3]
                folders = ("cpu", "cpu,cpuacct") if "cpu" in controllers.split(",") else ("", "unified")
                if controllers and folders[0] != "cpu":
                    continue
                for stat in (f"{self._top}/{folder}{path}/cpu.stat" for folder in folders):
                    if stat not in self._first and (held := _throttled_s(stat)) is not None:
                        self._first[stat] = held
                        break

    def throttled_s(self) -> float | None:
        """None where no group tells it."""
        now = [(_throttled_s(stat), first) for stat, first in self._first.items()]
        return sum(max(0.0, (held or first) - first) for held, first in now) if now else None


def _throttled_s(stat_path: str) -> float | None:
    pairs = _read_names_and_values(stat_path)
    for name, unit in (("throttled_usec", 1e6), ("throttled_time", 1e9)):
        if (count := parse_unsigned(pairs.get(name, ""))) is not None:
            return count / unit
    return None


def fork_into_group(folder: str) -> int | None:
    """As os.fork(), the child in that group from its birth: to move it there takes 6 to 20 ms (the kernel waits for an
    RCU grace period). None where that cannot be had (before Linux 5.7, a container's seccomp filter).

    In a process of one thread, and only to become a command: the interpreter is told nothing of this fork.
    """
    try:
        group = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return None
    arguments = struct.pack("=11Q", _INTO_CGROUP, 0, 0, 0, signal.SIGCHLD, 0, 0, 0, 0, 0, group)
    # PyDLL keeps the interpreter's lock, which a child could not take over from a thread that it does not have
    call = ctypes.PyDLL(None).syscall
    call.restype = ctypes.c_long
    pid = int(call(ctypes.c_long(_CLONE3), arguments, ctypes.c_size_t(len(arguments))))
    os.close(group)
    return pid if pid >= 0 else None


def enter_group(folder: str) -> None:
    """The calling process alone. Raises OSError."""
    Path(folder, "cgroup.procs").write_text("0\n", encoding="ascii")


def _stalled_seconds(path: str, kind: str) -> float | None:
    """Of the line `some avg10=0.00 avg60=0.00 avg300=0.00 total=1234` (microseconds), or of that of `full`."""
    for line in read_content_or_empty(path).splitlines():
        total = parse_unsigned(line.rpartition("total=")[2])
        if line.partition(" ")[0] == kind and total is not None:
            return total / 1e6
    return None


def _bytes_of_pages(stat: dict[str, str], *names: str) -> float | None:
    """Bytes of all these counts of pages together; None where one is missing."""
    counts = parse_unsigned_list(stat.get(name, "") for name in names)
    return None if counts is None else float(sum(counts) * _PAGE)


def _read_names_and_values(path: str) -> dict[str, str]:
    words = (line.split() for line in read_content_or_empty(path).splitlines())
    return {pair[0]: pair[1] for pair in words if len(pair) == 2}
