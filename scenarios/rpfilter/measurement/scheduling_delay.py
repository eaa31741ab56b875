"""How long other processes held the CPU that a load is pinned to: its scheduling delay, without ksoftirqd's.

The wall time of a packet is its cost only while nobody else runs in between. What the kernel does later for the
same packets counts (it frees the lookup's routes through RCU, mostly in ksoftirqd: 150 ns of a check's 700 here).
"""

from __future__ import annotations

import os
from pathlib import Path

from hostdx.probes.reading.process_stat import parse_stat


class RunDelay:
    """`seconds_held_up()` grows while the calling thread waits for its CPU because of others; 0 where nobody tells."""

    def __init__(self, cpu: int) -> None:
        self._own = Path("/proc/thread-self/schedstat")
        self._softirq = softirq_schedstat_path(cpu)

    def seconds_held_up(self) -> float:
        own = run_and_wait_ns(self._own)
        if own is None:
            return 0.0
        served = run_and_wait_ns(self._softirq) if self._softirq is not None else None
        return (own[1] - (served[0] if served is not None else 0)) / 1e9


def run_and_wait_ns(path: Path) -> tuple[int, int] | None:
    """Nanoseconds on the CPU and nanoseconds waiting for one (Documentation/scheduler/sched-stats.rst)."""
    try:
        words = path.read_text("ascii").split()
        return int(words[0]), int(words[1])
    except (OSError, ValueError, IndexError):
        return None


def softirq_schedstat_path(cpu: int, proc: Path = Path("/proc")) -> Path | None:
    """The schedstat file of ksoftirqd/N: a child of kthreadd (pid 2), for anybody can bear the name."""
    for entry in os.scandir(proc):
        if not entry.name.isdecimal():
            continue
        try:
            stat = parse_stat((proc / entry.name / "stat").read_text(errors="backslashreplace"))
        except OSError:
            continue
        if stat is not None and stat.name == f"ksoftirqd/{cpu}" and stat.parent_pid == 2:
            return proc / entry.name / "schedstat"
    return None
