"""How mounted file systems lie on block devices: one value, made once of a host, for a plan and its run."""

import os
from collections.abc import Iterable, Mapping

import msgspec

from hostdx.probes.reading.host import Host, compute_once_per_host
from hostdx.probes.system.disk.block import (
    Devices,
    block_devices,
    bottom_devices_of,
    device_and_layers_below,
    device_name,
)
from hostdx.probes.system.disk.mounts import IN_MEMORY, NETWORK, Mount, find_mount, read_mounts
from hostdx.probes.types import Absent, is_present


class DiskTopology(msgspec.Struct, frozen=True):
    """`tops`: what is directly under a mount, first the device that it names; several for a btrfs over several."""

    mounts: tuple[Mount, ...] | Absent
    devices: Devices
    tops: Mapping[tuple[str, str, str], tuple[str, ...] | Absent]

    def mount_of(self, directory: str) -> Mount | Absent:
        return find_mount(self.mounts, directory)

    def devices_directly_under(self, mount: Mount) -> tuple[str, ...] | Absent:
        """The devices directly under one of the mounts."""
        return self.tops[_same_mount_key(mount)]

    def layers_under(self, tops: Iterable[str]) -> tuple[str, ...]:
        return tuple(
            dict.fromkeys(name for top in tops for name in device_and_layers_below(self.devices, top))
        )

    def leaves_under(self, tops: Iterable[str]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for top in tops for name in bottom_devices_of(self.devices, top)))

    def file_system_types_by_device(self) -> dict[str, tuple[str, ...]]:
        """The types of the mounted file systems by device: the one that is mounted, and all that lie under it."""
        types_by_device: dict[str, dict[str, None]] = {}
        for (_, source, fstype), tops in self.tops.items():
            if source.startswith("/dev/") and is_present(tops):
                for name in self.layers_under(tops):
                    types_by_device.setdefault(name, {})[fstype] = None
        return {name: tuple(types) for name, types in types_by_device.items()}


@compute_once_per_host
def read_disk_topology(host: Host) -> DiskTopology:
    table, tops = read_mounts(host), dict[tuple[str, str, str], tuple[str, ...] | Absent]()
    for mount in table if is_present(table) else ():
        if (key := _same_mount_key(mount)) not in tops:
            tops[key] = _find_mounted_devices(host, mount)
    return DiskTopology(table, block_devices(host), tops)


class DirectoryPlacement(msgspec.Struct, frozen=True, kw_only=True):
    """Where a directory lies. `device` is the kernel name on top; `layers` go down to the `leaves`. `memory`: see
    `memory_file_system_of`.
    """

    directory: str
    mount: Mount
    device: str | Absent
    layers: tuple[str, ...] = ()
    leaves: tuple[str, ...] = ()
    memory: str = ""


def find_placement(host: Host, directory: str) -> DirectoryPlacement | Absent:
    """The mount, the device and the stack under a directory, symlinks followed."""
    path = host.resolve_path(directory, may_hang=True)
    if isinstance(path, Absent):
        if host.live:
            return path
        path = os.path.normpath(directory)  # a captured tree holds the mount table, not the directories
    disks = read_disk_topology(host)
    mount = disks.mount_of(path)
    if isinstance(mount, Absent):
        return mount
    if memory := memory_file_system_of(host, mount):
        none = Absent(f"{mount.fstype} lies in memory, on no device", "unsupported", mount.mountpoint)
        return DirectoryPlacement(directory=path, mount=mount, device=none, memory=memory)
    tops = disks.devices_directly_under(mount)
    if isinstance(tops, Absent):
        return DirectoryPlacement(directory=path, mount=mount, device=tops)
    down, ends = disks.layers_under(tops), disks.leaves_under(tops)
    return DirectoryPlacement(directory=path, mount=mount, device=tops[0], layers=down, leaves=ends)


def memory_file_system_of(host: Host, mount: Mount) -> str:
    """The file system in memory that holds what is written there: itself, or what an overlay's upper layer lies on.

    "" where there is none, and in a container, where the upper layer's path is another name space's.
    """
    if mount.fstype in IN_MEMORY:
        return mount.fstype
    upper = next((o.removeprefix("upperdir=") for o in mount.options if o.startswith("upperdir=/")), "")
    path = host.resolve_path(upper, may_hang=True) if upper else ""
    below = read_disk_topology(host).mount_of(path) if is_present(path) and path else None
    return below.fstype if isinstance(below, Mount) and below.fstype in IN_MEMORY else ""


def network_file_systems(host: Host, directories: Iterable[str]) -> tuple[str, ...]:
    """Those that these directories lie on, as `server:/export (nfs4)`: other hosts' loads fall on them too."""
    placements = (find_placement(host, directory) for directory in directories)
    mounted = (place.mount for place in placements if is_present(place) and place.mount.fstype in NETWORK)
    return tuple(sorted({f"{mount.source} ({mount.fstype})" for mount in mounted}))


def _same_mount_key(mount: Mount) -> tuple[str, str, str]:
    """Bind mounts come by the thousand, and btrfs has an anonymous number for every subvolume."""
    return ("" if mount.devno.startswith("0:") else mount.devno, mount.source, mount.fstype)


def _find_mounted_devices(host: Host, mount: Mount) -> tuple[str, ...] | Absent:
    if mount.devno and not mount.devno.startswith("0:"):
        device = device_name(host, mount.devno)
        if isinstance(device, Absent):
            by_source = device_behind(host, mount.source)
            return (by_source,) if is_present(by_source) else device
        return (device,)
    if mount.fstype in NETWORK:
        return Absent(
            f"{mount.fstype} from {mount.source}: the device is another machine's",
            "unsupported",
            mount.source,
        )
    # btrfs, zfs, overlay and bind mounts of them have an anonymous device number: only the source tells.
    name = device_behind(host, mount.source)
    if isinstance(name, Absent):
        text = f"{mount.fstype} on {mount.source}: no block device of its own"
        return Absent(text, name.kind if mount.source.startswith("/dev/") else "unsupported", mount.source)
    if mount.fstype == "btrfs":
        return (name, *(n for n in btrfs_members(host, name) if n != name))
    return (name,)


def device_behind(host: Host, source: str) -> str | Absent:
    """The kernel name of `/dev/sda1`, `/dev/mapper/vg-lv`, `/dev/disk/by-uuid/...`."""
    if not source.startswith("/dev/"):
        return Absent(f"{source} is no device", "unsupported", source)
    devices = block_devices(host)
    real = host.resolve_path(source)
    for path in (real if is_present(real) else source, source):
        name = path.removeprefix("/dev/").replace("/", "!")  # sysfs writes cciss!c0d0
        if name in devices:
            return name
    label = source.removeprefix("/dev/mapper/")
    labelled_name = next((d.name for d in devices.values() if d.label and d.label == label), None)
    return (
        labelled_name
        if labelled_name is not None
        else Absent(f"{source} is not in /sys/block", "missing", source)
    )


def btrfs_members(host: Host, name: str) -> tuple[str, ...]:
    """All devices of the btrfs that `name` belongs to (/sys/fs/btrfs/UUID/devices)."""
    for folder in host.glob_paths("/sys/fs/btrfs/*-*/devices"):
        names = host.list_names(folder)
        if is_present(names) and name in names:
            return names
    return (name,)
