"""Memory, swap and huge pages."""

import re

import msgspec

from hostdx.probes.number_text import parse_hexadecimal
from hostdx.probes.reading.host import Host, compute_once_if_static
from hostdx.probes.types import Absent, is_present

BLOCKS = "/sys/devices/system/memory"


class Memory(msgspec.Struct, frozen=True, kw_only=True):
    """All sizes in bytes. `available` is the kernel's estimate of what can be had without swapping (since 3.14)."""

    total: int | Absent
    available: int | Absent
    swap_total: int | Absent
    transparent_huge_pages: str | Absent


@compute_once_if_static
def read_memory(host: Host) -> Memory:
    """From /proc/meminfo. On a live host whose kernel has no MemAvailable psutil's estimate is taken."""
    values = read_meminfo(host)
    available = _meminfo_bytes(values, "MemAvailable")
    if isinstance(available, Absent) and host.live and is_present(values):
        available = _psutil_available_bytes()
    return Memory(
        total=_meminfo_bytes(values, "MemTotal"),
        available=available,
        swap_total=_meminfo_bytes(values, "SwapTotal"),
        transparent_huge_pages=host.read_bracketed("/sys/kernel/mm/transparent_hugepage/enabled"),
    )


def read_meminfo(host: Host) -> dict[str, int] | Absent:
    """/proc/meminfo in bytes; counts (HugePages_*) as they are."""
    text = host.read_file_text("/proc/meminfo")
    if isinstance(text, Absent):
        return text
    rows = re.findall(r"^([^:\n]+):[ \t]+([0-9]{1,19})( kB)?[ \t]*$", text, re.MULTILINE)
    return {name: int(number) * (1024 if unit else 1) for name, number, unit in rows}


def read_offline_memory_bytes(host: Host) -> int | Absent:
    """Memory that a hypervisor or a board gave to a running host and that nobody has set online.

    Documentation/ABI/testing/sysfs-devices-memory: a folder for each block. Their states are read only where blocks and
    MemTotal differ by more than a fiftieth and 1 GiB, what the kernel keeps for itself (a page's struct is a 64th):
    a large host has tens of thousands of blocks.
    """
    names = host.list_names(BLOCKS)
    size = host.read_word(f"{BLOCKS}/block_size_bytes")
    total = host.compute_once(read_meminfo)
    if isinstance(names, Absent) or isinstance(size, Absent) or isinstance(total, Absent):
        return next(value for value in (names, size, total) if isinstance(value, Absent))
    block_bytes = parse_hexadecimal(size)
    if block_bytes is None:
        return Absent(f"{BLOCKS}/block_size_bytes: {size!r}", "invalid", f"{BLOCKS}/block_size_bytes")
    blocks = [name for name in names if name.startswith("memory") and name[6:].isdecimal()]
    if len(blocks) * block_bytes < total.get("MemTotal", 0) * 1.02 + (1 << 30):
        return 0
    return block_bytes * sum(host.read_word(f"{BLOCKS}/{block}/state") == "offline" for block in blocks)


def _meminfo_bytes(values: dict[str, int] | Absent, name: str) -> int | Absent:
    if isinstance(values, Absent):
        return values
    return values.get(name, Absent(f"/proc/meminfo has no {name}", "unsupported", "/proc/meminfo"))


def _psutil_available_bytes() -> int | Absent:
    try:
        import psutil

        return int(psutil.virtual_memory().available)
    except Exception as error:
        return Absent(f"psutil gave no estimate: {type(error).__name__}", "unsupported", "psutil")
