"""What each CPU did: /proc/stat, a line a CPU (proc(5)). Steal is what the hypervisor gave to others."""

from __future__ import annotations

import msgspec

from probes.host import Host
from probes.number_text import whole, wholes
from probes.system.pulse import TICKS_PER_S
from probes.types import Absent


class CpuTimes(msgspec.Struct, frozen=True):
    """Seconds since boot. `busy_s` is user, nice and system; `interrupts_s` hard and soft ones."""

    busy_s: float
    idle_s: float
    interrupts_s: float
    steal_s: float

    def since(self, earlier: CpuTimes) -> CpuTimes:
        return CpuTimes(
            max(0.0, self.busy_s - earlier.busy_s),
            max(0.0, self.idle_s - earlier.idle_s),
            max(0.0, self.interrupts_s - earlier.interrupts_s),
            max(0.0, self.steal_s - earlier.steal_s),
        )


def cpu_times(host: Host) -> dict[int, CpuTimes] | Absent:
    """By CPU number, online ones only."""
    text = host.text("/proc/stat", 16 << 20)
    if isinstance(text, Absent):
        return text
    found: dict[int, CpuTimes] = {}
    for line in text.splitlines():
        name, *words = line.split()[:9] or [""]
        number, ticks = whole(name[3:]) if name.startswith("cpu") else None, wholes(words)
        if number is not None and ticks is not None and len(ticks) >= 7:
            steal = ticks[7] if len(ticks) > 7 else 0
            found[number] = CpuTimes(
                sum(ticks[:3]) / TICKS_PER_S,
                (ticks[3] + ticks[4]) / TICKS_PER_S,
                (ticks[5] + ticks[6]) / TICKS_PER_S,
                steal / TICKS_PER_S,
            )
    return found or Absent("/proc/stat has no line of a CPU", "invalid", "/proc/stat")
