"""What the kernel reads the time from. Not every source can be read without a system call.

Documentation/timers/timekeeping.rst. tsc, kvm-clock, hyperv_clocksource_tsc_page and arch_sys_counter are read in the
process (vDSO); hpet, acpi_pm, jiffies and xen's cost a system call, hpet and acpi_pm also a slow device register.
"""

from __future__ import annotations

import msgspec

from probes.host import Host
from probes.types import Absent, present

ROOT = "/sys/devices/system/clocksource/clocksource0"
SLOW = {"hpet", "acpi_pm", "pit", "jiffies", "refined-jiffies"}


class Clocksource(msgspec.Struct, frozen=True):
    current: str
    available: tuple[str, ...]

    @property
    def slow(self) -> bool:
        return self.current in SLOW


def clocksource(host: Host) -> Clocksource | Absent:
    current = host.text(f"{ROOT}/current_clocksource", 256)
    if isinstance(current, Absent):
        return current
    others = host.text(f"{ROOT}/available_clocksource", 4096)
    return Clocksource(current.strip(), tuple(others.split()) if present(others) else ())
