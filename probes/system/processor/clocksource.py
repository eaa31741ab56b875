"""What the kernel reads the time from. Not every source can be read without a system call.

Documentation/timers/timekeeping.rst. tsc, kvm-clock, hyperv_clocksource_tsc_page and arch_sys_counter are read in the
process (vDSO); hpet, acpi_pm, jiffies and xen's cost a system call, hpet and acpi_pm also a slow device register.
Of xen's the process can read since Linux 4.16, and only where the hypervisor calls the counter stable
(arch/x86/xen/time.c, xen_setup_vsyscall_time_info).
"""

import re

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
    release: str = ""

    @property
    def is_slow(self) -> bool:
        return self.current in SLOW or (self.is_xen_with_counter and self._release_major_minor() < (4, 16))

    @property
    def is_xen_with_counter(self) -> bool:
        """True of a guest of Xen that may use the CPU's counter: most of its hosts do not call it stable."""
        return self.current == "xen" and "tsc" in self.available

    def _release_major_minor(self) -> tuple[int, ...]:
        match = re.match(r"([0-9]{1,3})\.([0-9]{1,4})", self.release)
        return (int(match[1]), int(match[2])) if match else (99,)


def read_clocksource(host: Host) -> Clocksource | Absent:
    current = host.read_word(f"{ROOT}/current_clocksource")
    if isinstance(current, Absent):
        return current
    others = host.read_file_text(f"{ROOT}/available_clocksource", 4096)
    kernel = read_kernel(host)
    asked = kernel.boot_parameters().get("clocksource", "")
    release = kernel.release if is_present(kernel.release) else ""
    return Clocksource(current, tuple(others.split()) if is_present(others) else (), asked, release)
