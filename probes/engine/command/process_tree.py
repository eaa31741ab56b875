"""All that a process has started, orphans too if it is their subreaper: found, looked at, ended. For a light child."""

import os
import signal
import time
from collections.abc import Callable
from typing import NamedTuple

from hostdx.probes.number_text import parse_unsigned, parse_unsigned_list
from hostdx.probes.reading.process_stat import read_live_stat

MAX_PROCESSES = 4000  # a fork bomb does not keep us looking
MAX_THREADS = 4000
MAX_SAMPLED_PROCESSES = 64  # processes whose threads are looked at in every sample
TICKS_SHARE = 0.05  # of a total may come of the rounding of its threads' starts
PASSES = 50  # of stopping what forks faster than it is found
KILLING_S = 5.0
AT_ONCE = 1 << 14  # bytes a read
_TICKS = os.sysconf("SC_CLK_TCK")


def list_descendants(ancestor: int) -> list[int]:
    """Living ones and zombies, parents before their children; at most MOST_PROCESSES."""
    pids: list[int] = []
    waiting = [ancestor]
    while waiting and len(pids) < MAX_PROCESSES:
        for child in list_children(waiting.pop()):
            pids.append(child)
            waiting.append(child)
    return pids


def list_children(pid: int) -> list[int]:
    pids: list[int] = []
    for thread in _list_threads(pid):
        text = read_content_or_empty(f"/proc/{pid}/task/{thread}/children")
        pids += parse_unsigned_list(text.split()) or []
    return pids


def living_descendants(ancestor: int) -> list[int]:
    return [pid for pid in list_descendants(ancestor) if process_state(pid) not in ("Z", "X", "")]


def process_state(pid: int) -> str:
    """The letter of /proc/PID/stat; empty for one that is gone."""
    stat = read_live_stat(pid)
    return "" if stat is None else stat.state_letter


class DescendantCounts(NamedTuple):
    """How many there were, and how many could not be ended (another user's)."""

    found_count: int
    survivor_count: int


def end_descendants(ancestor: int, grace_s: float, reap: Callable[[], None]) -> DescendantCounts:
    """SIGTERM, after `grace_s` SIGKILL.

    They are stopped before they are killed, so that one that forks without end does not outrun it.
    `reap` waits for those that ended, without blocking.
    """
    reap()
    first = living_descendants(ancestor)
    for pid in first:
        _send_signal_if_alive(pid, signal.SIGTERM)
        _send_signal_if_alive(pid, signal.SIGCONT)
    until = time.monotonic() + grace_s
    while living_descendants(ancestor) and time.monotonic() < until:
        time.sleep(0.005)
        reap()
    until = time.monotonic() + KILLING_S
    while (left := living_descendants(ancestor)) and time.monotonic() < until:
        stopped_pids: set[int] = set()
        for _ in range(PASSES):
            new = set(left) - stopped_pids
            if not new:
                break
            for pid in new:
                _send_signal_if_alive(pid, signal.SIGSTOP)
            stopped_pids |= new
            left = living_descendants(ancestor)
        for pid in stopped_pids:
            _send_signal_if_alive(pid, signal.SIGKILL)
        time.sleep(0.002)
        reap()
    return DescendantCounts(len(first), len(living_descendants(ancestor)))


class ThreadTime(NamedTuple):
    """Of one thread: nanoseconds on a CPU and waiting for one; clock ticks: block I/O, and its age."""

    ran_ns: int
    waited_ns: int
    blocked_ticks: int
    age_ticks: int


class TreeTime:
    """What the threads of a tree spent, as far as was seen: the last look at each that has ended."""

    def __init__(self) -> None:
        self._now: dict[int, ThreadTime] = {}
        self._before = ThreadTime(0, 0, 0, 0)  # of threads whose number was given to another one
        self._migrated: dict[int, int] = {}

    def look_at(self, pids: list[int]) -> None:
        for pid in pids[:MAX_SAMPLED_PROCESSES]:
            for thread in _list_threads(pid)[:MAX_THREADS]:
                self._add_thread_time(pid, thread)

    def _add_thread_time(self, pid: int, thread: int) -> None:
        times = read_content_or_empty(f"/proc/{pid}/task/{thread}/schedstat").split()
        stat = read_live_stat(f"{pid}/task/{thread}")
        numbers = parse_unsigned_list(times[:2])
        if numbers is None or len(numbers) < 2 or stat is None:
            return
        age = time.clock_gettime(time.CLOCK_BOOTTIME) * _TICKS - stat.start_ticks
        spent = ThreadTime(numbers[0], numbers[1], stat.blocked_ticks, max(0, int(age)))
        last = self._now.get(thread)
        if last is not None and spent.ran_ns < last.ran_ns:
            self._before = _sum_times(self._before, last)
        self._now[thread] = spent
        for line in read_content_or_empty(f"/proc/{pid}/task/{thread}/sched").splitlines():
            if line.startswith("se.nr_migrations"):
                self._migrated[thread] = parse_unsigned(line.rpartition(":")[2]) or 0
                break

    @property
    def migration_count(self) -> int | None:
        """Between CPUs, of all threads seen; None where the kernel does not tell (CONFIG_SCHED_DEBUG)."""
        return sum(self._migrated.values()) if self._migrated else None

    @property
    def asleep_s(self) -> float | None:
        """Thread seconds neither on a CPU nor waiting for one; None where the clock ticks are too coarse for it."""
        total = self.total_time
        seconds = total.age_ticks / _TICKS - (total.ran_ns + total.waited_ns) / 1e9
        return seconds if len(self._now) / _TICKS <= TICKS_SHARE * seconds else None

    @property
    def total_time(self) -> ThreadTime:
        total = self._before
        for spent in self._now.values():
            total = _sum_times(total, spent)
        return total


def pss_bytes(pids: list[int]) -> int | None:
    """Bytes of memory, what is shared divided among its users; None with too many processes, or unreadable."""
    total_bytes = 0
    for pid in pids if len(pids) <= MAX_SAMPLED_PROCESSES else ():
        for line in read_content_or_empty(f"/proc/{pid}/smaps_rollup").splitlines():
            if line.startswith("Pss:"):
                total_bytes += int(line.split()[1]) * 1024
                break
    return total_bytes or None


def read_and_written_bytes(pid: int) -> tuple[int, int] | None:
    """Bytes that it and the children it waited for caused to be read and written (/proc/PID/io); also of a zombie."""
    values = dict(line.split(": ") for line in read_content_or_empty(f"/proc/{pid}/io").splitlines())
    moved = parse_unsigned_list(values.get(name, "") for name in ("read_bytes", "write_bytes"))
    return None if moved is None else (moved[0], moved[1])


def written_bytes_of_tree(ancestor: int) -> int:
    """Bytes that a process, the children it waited for and its living descendants caused to be written.

    The kernel counts when a page gets dirty or a direct write is submitted, so before the disk sees
    it. Orphans that another process took over are missing. 0 where it cannot be read.
    """
    moved = (read_and_written_bytes(pid) for pid in (ancestor, *list_descendants(ancestor)))
    return sum(written for _, written in filter(None, moved))


def _sum_times(first: ThreadTime, second: ThreadTime) -> ThreadTime:
    return ThreadTime(*(a + b for a, b in zip(first, second, strict=True)))


def _list_threads(pid: int) -> list[int]:
    try:
        return [int(name) for name in os.listdir(f"/proc/{pid}/task")]  # noqa: PTH208 (a Path each costs)
    except OSError:
        return []


def read_content_or_empty(path: str) -> str:
    """Whole, by plain system calls: it is read some hundred times a second beside the command, and
    a text file object costs several times as much as the kernel.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return ""
    data = b""
    try:
        while more := os.read(descriptor, AT_ONCE):
            data += more
    except OSError:
        return ""
    finally:
        os.close(descriptor)
    return data.decode("utf-8", "replace")


def _send_signal_if_alive(pid: int, number: signal.Signals) -> None:
    try:
        os.kill(pid, number)
    except OSError:
        pass
