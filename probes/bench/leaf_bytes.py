"""What the disks under some directories moved between two looks: everybody's I/O, ours and others' (/proc/diskstats).

What a program left in the page cache is written later, by the kernel: it is in no look, or in a later one.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import NamedTuple

from probes.host import Host
from probes.system.disk.diskstats import DiskCounters, disk_counters
from probes.system.disk.mounts import placement
from probes.types import Absent


class Moved(NamedTuple):
    read_bytes: int
    write_bytes: int


class LeafBytes:
    """`leaves`: kernel names of the disks at the bottom of the directories' stacks; empty where they lie on none."""

    def __init__(self, host: Host, directories: Iterable[str]) -> None:
        self.host = host
        places = [placement(host, directory) for directory in dict.fromkeys(directories)]
        found = (leaf for place in places if not isinstance(place, Absent) for leaf in place.leaves)
        self.leaves = tuple(dict.fromkeys(found))
        self._before: dict[str, DiskCounters] = {}

    def begin(self) -> None:
        self._before = self._counters()

    def moved(self) -> Moved | None:
        """Since `begin`, over all leaves; None without any, or where one came, went or began to count anew."""
        now = self._counters()
        if not self.leaves or any(
            leaf not in counts for leaf in self.leaves for counts in (self._before, now)
        ):
            return None
        read = [now[leaf].read_bytes - self._before[leaf].read_bytes for leaf in self.leaves]
        written = [now[leaf].write_bytes - self._before[leaf].write_bytes for leaf in self.leaves]
        return Moved(sum(read), sum(written)) if min(*read, *written) >= 0 else None

    def _counters(self) -> dict[str, DiskCounters]:
        counters = disk_counters(self.host) if self.leaves else {}
        return {} if isinstance(counters, Absent) else counters


def named_directories(cwd: str, env: Iterable[str]) -> tuple[str, ...]:
    """Where a command is likely to work: its directory, and those that its own variables name (TMPDIR=/scratch)."""
    return (cwd, *(value for value in env if value.startswith("/") and os.path.isdir(value)))  # noqa: PTH112
