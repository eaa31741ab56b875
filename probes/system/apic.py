"""Whether the interrupt controllers run in x2APIC mode (x86). xAPIC addresses 255 CPUs and sends slower interrupts.

The CPU flag `x2apic` only says that it could. What tells: the kernel's words at boot (arch/x86/kernel/apic/apic.c), an
APIC number beyond 254, or bit 10 of IA32_APIC_BASE (MSR 0x1B, Intel SDM volume 3, 11.12.1; /dev/cpu/0/msr, root).
"""

import os
import re
from typing import Literal

import msgspec

from hostdx.probes.reading.host import Host
from hostdx.probes.reading.patterns import lazy_pattern
from hostdx.probes.system.kernel_log import read_kernel_log
from hostdx.probes.system.processor.topology import read_cpuinfo
from hostdx.probes.types import Absent

_APIC_BASE, _X2APIC_BIT, _ENABLED_BIT = 0x1B, 10, 11
_MAX_XAPIC_NUMBER = 254
# Say what mode the kernel went on with, and what kept it from the better one.
_ON = lazy_pattern(r"x2apic enabled|Enabled x2apic|APIC routing to:? .*x2apic", re.IGNORECASE)
_OFF = lazy_pattern(r"x2apic (?:is )?disabled|x2apic be disabled|doesn't support X2APIC", re.IGNORECASE)
_FLAT = lazy_pattern(r"APIC routing to:? (?:physical )?flat", re.IGNORECASE)


class ApicMode(msgspec.Struct, frozen=True):
    mode: Literal["x2APIC", "xAPIC"]
    evidence: str
    source: str


def apic_mode(host: Host) -> ApicMode | Absent:
    """Absent where it cannot be told: the kernel's log has rolled over and we are not root."""
    entries = read_cpuinfo(host)
    numbers = [int(e["apicid"]) for e in entries if re.fullmatch(r"[0-9]{1,9}", e.get("apicid", ""))]
    if entries and not numbers and not any("flags" in entry for entry in entries):
        return Absent("this architecture has no APIC", "unsupported", "/proc/cpuinfo")
    if max(numbers, default=0) > _MAX_XAPIC_NUMBER:
        return ApicMode("x2APIC", f"a CPU has the APIC number {max(numbers)}", "/proc/cpuinfo")
    if (from_register := _read_apic_mode_of_cpu0(host)) is not None:
        return from_register
    log = read_kernel_log(host)
    if isinstance(log, Absent):
        return Absent(f"the kernel's log cannot be read ({log.reason})", log.kind, log.source)
    for pattern, mode in ((_ON, "x2APIC"), (_OFF, "xAPIC"), (_FLAT, "xAPIC")):
        line = next((line.message for line in log.lines if pattern.search(line.message)), None)
        if line is not None:
            return ApicMode("x2APIC" if mode == "x2APIC" else "xAPIC", line.strip()[:120], log.source)
    return Absent("the kernel's log no longer holds the lines of the boot", "missing", log.source)


def _read_apic_mode_of_cpu0(host: Host) -> ApicMode | None:
    """Only read, and only where the msr module is loaded already."""
    if not host.live:
        return None
    try:
        fd = os.open("/dev/cpu/0/msr", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        value = int.from_bytes(os.pread(fd, 8, _APIC_BASE), "little")
    except OSError:
        return None
    finally:
        os.close(fd)
    if not value >> _ENABLED_BIT & 1:
        return None
    mode: Literal["x2APIC", "xAPIC"] = "x2APIC" if value >> _X2APIC_BIT & 1 else "xAPIC"
    return ApicMode(mode, f"IA32_APIC_BASE is {value:#x}", "/dev/cpu/0/msr")
