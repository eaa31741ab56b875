"""Memory, swap and huge pages."""

import re

import msgspec

from probes.host import Host, once_if_still
from probes.types import Absent, present


class Memory(msgspec.Struct, frozen=True, kw_only=True):
    """All sizes in bytes. `available` is the kernel's estimate of what can be had without swapping (since 3.14)."""

    total: int | Absent
    available: int | Absent
    swap_total: int | Absent
    transparent_huge_pages: str | Absent


@once_if_still
def memory(host: Host) -> Memory:
    """From /proc/meminfo. On a live host whose kernel has no MemAvailable psutil's estimate is taken."""
    values = meminfo(host)
    available = _size(values, "MemAvailable")
    if isinstance(available, Absent) and host.live and present(values):
        available = _estimate()
    return Memory(
        total=_size(values, "MemTotal"),
        available=available,
        swap_total=_size(values, "SwapTotal"),
        transparent_huge_pages=host.chosen("/sys/kernel/mm/transparent_hugepage/enabled"),
    )


def meminfo(host: Host) -> dict[str, int] | Absent:
    """/proc/meminfo in bytes; counts (HugePages_*) as they are."""
    text = host.text("/proc/meminfo")
    if isinstance(text, Absent):
        return text
    rows = re.findall(r"^([^:\n]+):[ \t]+([0-9]{1,19})( kB)?[ \t]*$", text, re.MULTILINE)
    return {name: int(number) * (1024 if unit else 1) for name, number, unit in rows}


def _size(values: dict[str, int] | Absent, name: str) -> int | Absent:
    if isinstance(values, Absent):
        return values
    return values.get(name, Absent(f"/proc/meminfo has no {name}", "unsupported", "/proc/meminfo"))


def _estimate() -> int | Absent:
    try:
        import psutil

        return int(psutil.virtual_memory().available)
    except Exception as error:
        return Absent(f"psutil gave no estimate: {type(error).__name__}", "unsupported", "psutil")
