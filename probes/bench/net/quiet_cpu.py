"""Which CPU to measure on: the one that has the least to do, so that neither side disturbs the other."""

from __future__ import annotations

import os
import time
from pathlib import Path

_LOOK_S = 0.1  # ten jiffies: enough to tell an idle CPU from one that serves a network card


def busy_jiffies(stat: str) -> dict[int, int]:
    """By CPU, from /proc/stat: user nice system irq softirq steal, without idle and iowait (proc(5))."""
    found: dict[int, int] = {}
    for line in stat.splitlines():
        words = line.split()
        if words and words[0].startswith("cpu") and words[0][3:].isdecimal() and len(words) >= 9:
            numbers = [int(w) for w in words[1:9]]
            found[int(words[0][3:])] = sum(numbers[:3]) + sum(numbers[5:8])
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
