"""What lies below a loop device: the file system of its file, the devices that one needs, and what memory serves."""

from collections.abc import Iterable

from hostdx.probes.reading.host import Host
from hostdx.probes.system.disk.mounts import NETWORK
from hostdx.probes.system.disk.topology import DirectoryPlacement, find_placement
from hostdx.probes.types import Absent, is_present


def loop_file_placement(host: Host, name: str) -> DirectoryPlacement | Absent | None:
    """Where the file of a loop device lies; None for what is no loop device."""
    file = host.read_file_text(f"/sys/block/{name}/loop/backing_file")
    return find_placement(host, file) if is_present(file) and file else None


def devices_with_loops_under(host: Host, directory: str) -> dict[str, tuple[str, ...]] | Absent:
    """Every device that writing there needs, and through which loop devices; empty: memory, another machine.

    A loop device is a leaf of its own stack, but its file lies on another one: that is followed down too.
    """
    loops_by_device: dict[str, tuple[str, ...]] = {}
    waiting: list[tuple[DirectoryPlacement | Absent, tuple[str, ...]]] = [
        (find_placement(host, directory), ())
    ]
    while waiting:
        place, through = waiting.pop()
        if isinstance(place, Absent):
            return place
        if isinstance(place.device, Absent):
            if place.memory or place.mount.fstype in NETWORK:
                continue
            return place.device  # an overlay, zfs: on some disk, but nobody says on which
        for name in (place.device, *place.layers, *place.leaves):
            if name not in loops_by_device:
                loops_by_device[name] = through
                below = loop_file_placement(host, name)
                if below is not None:
                    waiting.append((below, (*through, name)))
    return loops_by_device


def disks_beneath(host: Host, leaves: Iterable[str]) -> tuple[str, ...]:
    """The leaves, and in place of a loop device with direct I/O what its file lies on: all that it moves shows there,
    and what others move there beside it."""
    disks: dict[str, None] = {}
    waiting, visited = list(leaves), set[str]()
    while waiting:
        leaf = waiting.pop(0)
        if leaf in visited:
            continue
        visited.add(leaf)
        place = (
            loop_file_placement(host, leaf) if host.read_integer(f"/sys/block/{leaf}/loop/dio") == 1 else None
        )
        if isinstance(place, DirectoryPlacement) and place.leaves:
            waiting = [*place.leaves, *waiting]
        else:
            disks[leaf] = None
    return tuple(disks)


def served_by_memory_reason(host: Host, leaves: Iterable[str]) -> str:
    """Return why reads and writes there are served by memory: a loop device without direct I/O, a RAM disk; "": none.

    loop(4): without it, it goes through the page cache of its file. Through the whole stack: the file of a loop
    device with direct I/O may lie on one without.
    """
    waiting, visited = list(leaves), set[str]()
    while waiting:
        leaf = waiting.pop()
        if leaf in visited:  # sysfs could show a loop of loops only while it is being changed
            continue
        visited.add(leaf)
        if leaf.rstrip("0123456789") in ("zram", "ram"):
            return f"served by memory: {leaf} is memory, not a disk"
        if not leaf.startswith("loop"):
            continue
        if host.read_integer(f"/sys/block/{leaf}/loop/dio") == 0:
            return (
                f"served by the host's cache: {leaf} is a loop device without direct I/O "
                f"(losetup --direct-io=on /dev/{leaf} turns it on)"
            )
        place = loop_file_placement(host, leaf)
        if isinstance(place, DirectoryPlacement):
            if place.memory:
                return f"served by memory: the file of {leaf} lies on {place.memory}"
            waiting += place.leaves
    return ""
