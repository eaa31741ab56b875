"""Which CPU to measure on: the one that has the least to do, so that neither side disturbs the other."""

from __future__ import annotations

import os
import time
from pathlib import Path

from probes.system.processor.cpu_times import SOURCE, CpuTimes, parse_proc_stat

_LOOK_S = 0.1  # ten jiffies: enough to tell an idle CPU from one that serves a network card


def choose_cpu(allowed: set[int], before: dict[int, CpuTimes], after: dict[int, CpuTimes]) -> int:
    """The least busy of the allowed ones; among equals the highest, since interrupts gather on the low numbers."""

    def busy_seconds(cpu: int) -> float:
        if cpu not in before or cpu not in after:
            return 0.0
        spent = after[cpu].subtract_earlier(before[cpu])
        return spent.busy_s + spent.steal_s

    return min(allowed, key=lambda cpu: (busy_seconds(cpu), -cpu))


def quietest_cpu() -> int:
    allowed = os.sched_getaffinity(0)
    stat = Path(SOURCE)
    try:
        before = parse_proc_stat(stat.read_text("ascii")).cpus
        time.sleep(_LOOK_S)
        return choose_cpu(allowed, before, parse_proc_stat(stat.read_text("ascii")).cpus)
    except (OSError, ValueError):
        return max(allowed)
