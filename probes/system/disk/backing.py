"""Loop devices that read through the page cache of their backing file, and the disks below that file."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from probes.host import Host
from probes.system.disk.block import block_devices
from probes.system.disk.mounts import placement
from probes.types import Absent, present


def cached_loop(host: Host, leaf: str) -> bool:
    """loop(4): without direct I/O a loop device reads and writes through the page cache of its backing file."""
    return leaf.startswith("loop") and host.integer(f"/sys/block/{leaf}/loop/dio") == 0


def disks_below(host: Host, leaves: Iterable[str]) -> tuple[str, ...] | Absent:
    """The devices whose counters move where something is really read: for such a loop device those of its file.

    Its own counters move as well where memory served it. Absent where a file cannot be followed to a device.
    """
    found: dict[str, None] = {}
    waiting, seen = list(leaves), set()
    while waiting:
        leaf = waiting.pop()
        if leaf in seen:  # sysfs could show a loop of loops only while it is being changed
            continue
        seen.add(leaf)
        if not cached_loop(host, leaf):
            found[leaf] = None
            continue
        device = block_devices(host).get(leaf)
        file = device.backing_file if device is not None else ""
        place = placement(host, file) if file else Absent(f"{leaf} names no backing file")
        if isinstance(place, Absent) or not place.leaves:
            why = place.reason if isinstance(place, Absent) else f"{file} lies on no device"
            return Absent(
                f"{leaf} reads through the page cache of its backing file, and what of it came from a disk cannot be "
                f"told: {why}",
                "unsupported",
                f"/sys/block/{leaf}/loop/backing_file",
            )
        waiting += place.leaves
    return tuple(found)


def below_words(host: Host, leaves: Iterable[str], below: Sequence[str] | Absent) -> str:
    """`vda, below loop0's backing file`; "the device" where no loop stands between."""
    loops = [leaf for leaf in leaves if cached_loop(host, leaf)]
    if not loops or not present(below):
        return "the device"
    return f"{', '.join(below)}, below the backing file of {', '.join(loops)}"
