"""What lies below a loop device: the file system of its file, the devices that one needs, and what memory serves."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from probes.host import Host
from probes.system.disk.mounts import IN_MEMORY, NETWORK, Placement, placement
from probes.types import Absent, present


def cached_loop(host: Host, leaf: str) -> bool:
    """loop(4): without direct I/O a loop device reads and writes through the page cache of its backing file."""
    return leaf.startswith("loop") and host.integer(f"/sys/block/{leaf}/loop/dio") == 0


def file_place(host: Host, name: str) -> Placement | Absent | None:
    """Where the file of a loop device lies; None for what is no loop device."""
    file = host.text(f"/sys/block/{name}/loop/backing_file")
    return placement(host, file) if present(file) and file else None


def devices_under(host: Host, directory: str) -> dict[str, tuple[str, ...]] | Absent:
    """Every device that writing there needs, and through which loop devices; empty: memory, another machine.

    A loop device is a leaf of its own stack, but its file lies on another one: that is followed down too.
    """
    found: dict[str, tuple[str, ...]] = {}
    waiting: list[tuple[Placement | Absent, tuple[str, ...]]] = [(placement(host, directory), ())]
    while waiting:
        place, through = waiting.pop()
        if isinstance(place, Absent):
            return place
        if isinstance(place.device, Absent):
            if place.mount.fstype in IN_MEMORY | NETWORK:
                continue
            return place.device  # an overlay, zfs: on some disk, but nobody says on which
        for name in (place.device, *place.layers, *place.leaves):
            if name not in found:
                found[name] = through
                below = file_place(host, name)
                if below is not None:
                    waiting.append((below, (*through, name)))
    return found


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
        place = file_place(host, leaf) or Absent(f"{leaf} names no backing file")
        if isinstance(place, Absent) or not place.leaves:
            why = place.reason if isinstance(place, Absent) else "its file lies on no device"
            return Absent(
                f"{leaf} reads through the page cache of its backing file; how much came from a disk is unknown: {why}",
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
