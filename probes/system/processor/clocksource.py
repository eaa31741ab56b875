"""What the kernel reads the time from. Not every source can be read without a system call.

Documentation/timers/timekeeping.rst. tsc, kvm-clock, hyperv_clocksource_tsc_page and arch_sys_counter are read in the
process (vDSO); hpet, acpi_pm, jiffies and xen's cost a system call, hpet and acpi_pm also a slow device register.
"""

import msgspec

from hostdx.probes.reading.host import Host
from hostdx.probes.system.software.kernel import read_kernel
from hostdx.probes.types import Absent, is_present

ROOT = "/sys/devices/system/clocksource/clocksource0"
SLOW = {"hpet", "acpi_pm", "pit", "jiffies", "refined-jiffies"}


class Clocksource(msgspec.Struct, frozen=True):
    """`asked`: the boot parameter's value (Documentation/admin-guide/kernel-parameters.txt); empty without one."""

    current: str
    available: tuple[str, ...]
    asked: str = ""

    @property
    def is_slow(self) -> bool:
        return self.current in SLOW


def read_clocksource(host: Host) -> Clocksource | Absent:
    current = host.read_word(f"{ROOT}/current_clocksource")
    if isinstance(current, Absent):
        return current
    others = host.read_file_text(f"{ROOT}/available_clocksource", 4096)
    asked = read_kernel(host).boot_parameters().get("clocksource", "")
    return Clocksource(current, tuple(others.split()) if is_present(others) else (), asked)
