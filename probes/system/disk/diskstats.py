"""The devices' own counters: /proc/diskstats with 14, 18 (discards, Linux 4.18) or 20 columns (flushes, 5.5).

Fields and units: Documentation/admin-guide/iostats.rst. Sectors here are always 512 bytes.
"""

from collections.abc import Sequence

import msgspec

from hostdx.probes.number_text import parse_unsigned_list
from hostdx.probes.reading.host import Host
from hostdx.probes.types import Absent

SECTOR_BYTES = 512


class DiskCounters(msgspec.Struct, frozen=True):
    """Since boot. `busy_s`: time with something in flight; `waited_s`: over all requests; None: unknown.

    `read_wait_s` and `write_wait_s` sum the time from submission to completion over the requests that are done.
    """

    reads: int
    read_bytes: int
    writes: int
    write_bytes: int
    in_flight: int
    busy_s: float
    waited_s: float
    discards: int | None = None
    discard_bytes: int | None = None
    flushes: int | None = None
    read_wait_s: float = 0.0
    write_wait_s: float = 0.0

    @property
    def total_operations(self) -> int:
        return self.reads + self.writes

    @property
    def total_bytes(self) -> int:
        return self.read_bytes + self.write_bytes


def disk_counters(host: Host) -> dict[str, DiskCounters] | Absent:
    """By kernel name ("sda", "sda1", "dm-0"). Lines in no known form are left out."""
    text = host.read_file_text("/proc/diskstats")
    if isinstance(text, Absent):
        return text
    counters_by_name: dict[str, DiskCounters] = {}
    for line in text.splitlines():
        fields = line.split()
        counters = _parse_disk_counters(fields[3:])
        if counters is not None:
            counters_by_name[fields[2]] = counters
    return counters_by_name


def leaf_counters(host: Host, leaves: Sequence[str]) -> list[DiskCounters] | None:
    """In the order of `leaves`; None without leaves, or where one of them has no counters."""
    counters = disk_counters(host) if leaves else {}
    if not leaves or isinstance(counters, Absent) or not all(leaf in counters for leaf in leaves):
        return None
    return [counters[leaf] for leaf in leaves]


def _parse_disk_counters(fields: list[str]) -> DiskCounters | None:
    # Fewer than 11 counters: the short lines that partitions had before Linux 2.6.25.
    n = parse_unsigned_list(fields)
    if n is None or len(n) < 11:
        return None
    return DiskCounters(
        reads=n[0],
        read_bytes=n[2] * SECTOR_BYTES,
        writes=n[4],
        write_bytes=n[6] * SECTOR_BYTES,
        in_flight=n[8],
        busy_s=n[9] / 1000,
        waited_s=n[10] / 1000,
        discards=n[11] if len(n) >= 15 else None,
        discard_bytes=n[13] * SECTOR_BYTES if len(n) >= 15 else None,
        flushes=n[15] if len(n) >= 17 else None,
        read_wait_s=n[3] / 1000,
        write_wait_s=n[7] / 1000,
    )


def counter_growth(before: int | None, now: int | None) -> int | None:
    """Return what a counter moved; None where one of the readings is missing, 0 where it ran backwards."""
    return None if before is None or now is None else max(0, now - before)


def disk_bytes(host: Host, leaves: Sequence[str], direction: str) -> int | None:
    """Return what these devices count in a direction ("read", "write", "both"), together; None where one is silent."""
    counters = leaf_counters(host, leaves)
    if counters is None:
        return None
    return sum(
        c.total_bytes if direction == "both" else c.read_bytes if direction == "read" else c.write_bytes
        for c in counters
    )
