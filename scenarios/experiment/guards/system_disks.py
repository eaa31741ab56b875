"""Disks that carry the running system: a change that hangs one of them hangs the host."""

from collections.abc import Iterator

from hostdx.probes.reading.host import Host
from hostdx.probes.system.disk.topology import DiskTopology, device_behind, find_placement, read_disk_topology
from hostdx.probes.types import Absent, is_present

# What a host cannot live without: the leaves below these are switched only with --system-disk.
SYSTEM_PLACES = ("/", "/boot", "/boot/efi", "/usr", "/var", "/var/log/journal")


def system_uses_by_leaf(host: Host) -> dict[str, str]:
    """Leaf name -> what of the system it carries: "/", "swap", ..."""
    roles_by_leaf: dict[str, str] = {}
    disks = read_disk_topology(host)
    for leaf, role in (*_leaves_and_system_mounts(disks), *_leaves_under_swap(host, disks)):
        roles_by_leaf.setdefault(leaf, role)
    return roles_by_leaf


def _leaves_and_system_mounts(disks: DiskTopology) -> Iterator[tuple[str, str]]:
    for directory in SYSTEM_PLACES:
        mount = disks.mount_of(directory)
        if isinstance(mount, Absent) or isinstance(tops := disks.devices_directly_under(mount), Absent):
            continue
        for leaf in disks.leaves_under(tops):
            yield leaf, mount.mountpoint


def _leaves_under_swap(host: Host, disks: DiskTopology) -> Iterator[tuple[str, str]]:
    text = host.read_file_text("/proc/swaps")
    for line in text.splitlines()[1:] if is_present(text) else ():
        words = line.split()
        if len(words) < 2:
            continue
        if words[1] == "file":
            place = find_placement(host, words[0].rsplit("/", 1)[0] or "/")
            below: tuple[str, ...] = place.leaves if is_present(place) else ()
        else:
            name = device_behind(host, words[0])
            below = disks.leaves_under((name,)) if is_present(name) else ()
        for leaf in below:
            yield leaf, "swap"
