"""What the disks under some directories moved between two looks: everybody's I/O, ours and others' (/proc/diskstats).

What a program left in the page cache is written later, by the kernel: it is in no look, or in a later one.
"""

import os
from collections.abc import Iterable
from typing import NamedTuple

from probes.reading.host import Host
from probes.system.disk.diskstats import DiskCounters, leaf_counters
from probes.system.disk.topology import find_placement
from probes.types import Absent


class BytesMoved(NamedTuple):
    read_bytes: int
    write_bytes: int


class LeafBytes:
    """`leaves`: kernel names of the disks at the bottom of the directories' stacks; empty where they lie on none."""

    def __init__(self, host: Host, directories: Iterable[str]) -> None:
        self.host = host
        places = [find_placement(host, directory) for directory in dict.fromkeys(directories)]
        leaves = (leaf for place in places if not isinstance(place, Absent) for leaf in place.leaves)
        self.leaves = tuple(dict.fromkeys(leaves))
        self._before: list[DiskCounters] | None = None

    def begin(self) -> None:
        self._before = leaf_counters(self.host, self.leaves)

    def bytes_moved(self) -> BytesMoved | None:
        """Since `begin`, over all leaves; None without any, or where one came, went or began to count anew."""
        now = leaf_counters(self.host, self.leaves)
        if self._before is None or now is None:
            return None
        read = [b.read_bytes - a.read_bytes for a, b in zip(self._before, now, strict=True)]
        written = [b.write_bytes - a.write_bytes for a, b in zip(self._before, now, strict=True)]
        return BytesMoved(sum(read), sum(written)) if min(*read, *written) >= 0 else None


def named_directories(cwd: str, env: Iterable[str]) -> tuple[str, ...]:
    """Where a command is likely to work: its directory, and those that its own variables name (TMPDIR=/scratch)."""
    return (cwd, *(value for value in env if value.startswith("/") and os.path.isdir(value)))  # noqa: PTH112
