"""Which CPU to measure on: the one that has the least to do, so that neither side disturbs the other."""

from __future__ import annotations

import os
import time
from pathlib import Path

from probes.number_text import whole, wholes

_LOOK_S = 0.1  # ten jiffies: enough to tell an idle CPU from one that serves a network card


def busy_jiffies(stat: str) -> dict[int, int]:
    """By CPU, from /proc/stat: user nice system irq softirq steal, without idle and iowait (proc(5))."""
    found: dict[int, int] = {}
    for line in stat.splitlines():
        words = line.split()
        cpu = whole(words[0][3:]) if words and words[0].startswith("cpu") else None
        numbers = wholes(words[1:9])
        if cpu is not None and numbers is not None and len(numbers) == 8:
            found[cpu] = sum(numbers[:3]) + sum(numbers[5:8])
    return found


def choose(allowed: set[int], before: dict[int, int], after: dict[int, int]) -> int:
    """The least busy of the allowed ones; among equals the highest, since interrupts gather on the low numbers."""
    return min(allowed, key=lambda cpu: (after.get(cpu, 0) - before.get(cpu, 0), -cpu))


def quietest() -> int:
    allowed = os.sched_getaffinity(0)
    stat = Path("/proc/stat")
    try:
        before = busy_jiffies(stat.read_text("ascii"))
        time.sleep(_LOOK_S)
        return choose(allowed, before, busy_jiffies(stat.read_text("ascii")))
    except (OSError, ValueError):
        return max(allowed)
