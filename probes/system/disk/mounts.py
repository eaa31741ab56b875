"""Mounted file systems, and what lies under a directory."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable

import msgspec

from probes.host import Host, once_if_still
from probes.number_text import wholes
from probes.system.disk.block import block_devices, device_name, layers, leaves
from probes.types import Absent, present

# fmt: off
NETWORK = frozenset({
    "nfs", "nfs4", "cifs", "smb3", "ceph", "glusterfs", "lustre", "afs", "beegfs", "gpfs", "9p", "virtiofs",
    "fuse.sshfs", "fuse.glusterfs", "fuse.ceph-fuse", "fuse.eosxd", "fuse.cvmfs2", "fuse.s3fs",
})
# fmt: on
IN_MEMORY = frozenset({"tmpfs", "ramfs", "devtmpfs", "hugetlbfs"})


class Mount(msgspec.Struct, frozen=True, kw_only=True):
    """One line of mountinfo. `root` is what of the file system is mounted; `options` the mount's and the
    super block's, each once; `devno` is empty where only /proc/mounts was captured.
    """

    mountpoint: str
    root: str
    devno: str
    source: str
    fstype: str
    options: tuple[str, ...]
    id: int = 0
    parent: int = -1


class Placement(msgspec.Struct, frozen=True, kw_only=True):
    """Where a directory lies. `device` is the kernel name on top; `layers` go down to the `leaves`. `memory`: see
    `memory_of`.
    """

    directory: str
    mount: Mount
    device: str | Absent
    layers: tuple[str, ...] = ()
    leaves: tuple[str, ...] = ()
    memory: str = ""


@once_if_still
def mounts(host: Host) -> tuple[Mount, ...] | Absent:
    """In the order in which they were mounted."""
    why: Absent | None = None
    for path in ("/proc/self/mountinfo", "/proc/1/mountinfo"):
        text = host.text(path, 16 << 20)
        if isinstance(text, str):
            return tuple(m for line in text.splitlines() if (m := parse_mountinfo(line)) is not None)
        why = text if why is None else why
    for path in ("/proc/self/mounts", "/proc/mounts", "/proc/1/mounts", "/etc/mtab"):
        text = host.text(path, 16 << 20)
        if isinstance(text, str):
            lines = enumerate(text.splitlines())
            return tuple(m for n, line in lines if (m := parse_mounts(line, n)) is not None)
    return why if why is not None else Absent("no mount table")


def parse_mountinfo(line: str) -> Mount | None:
    """proc(5): `27 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw,discard`."""
    before, dash, after = line.partition(" - ")
    left, right = before.split(" "), after.split(" ")
    numbers = wholes(left[:2])
    if not dash or len(left) < 6 or len(right) < 2 or numbers is None:
        return None
    options = dict.fromkeys((*left[5].split(","), *(right[2].split(",") if len(right) > 2 else ())))
    return Mount(
        mountpoint=unescape(left[4]),
        root=unescape(left[3]),
        devno=left[2],
        source=unescape(right[1]),
        fstype=right[0],
        options=tuple(unescape(o) for o in options if o),
        id=numbers[0],
        parent=numbers[1],
    )


def parse_mounts(line: str, number: int) -> Mount | None:
    """fstab(5) order: `/dev/sda1 / ext4 rw,relatime 0 0`; says neither device number nor parent."""
    words = line.split(" ")
    if len(words) < 4:
        return None
    return Mount(
        mountpoint=unescape(words[1]),
        root="/",
        devno="",
        source=unescape(words[0]),
        fstype=words[2],
        options=tuple(unescape(o) for o in words[3].split(",") if o),
        id=number,
    )


def unescape(text: str) -> str:
    """The kernel writes space, tab, newline and backslash as three octal digits; `\\xe9` is what `Host.text` made of
    a byte that is no UTF-8."""
    text = re.sub(r"\\x([89a-f][0-9a-f])", lambda found: chr(0xDC00 + int(found[1], 16)), text)
    return re.sub(r"\\([0-3][0-7]{2})", lambda found: chr(int(found[1], 8)), text)


def mount_of(host: Host, directory: str) -> Mount | Absent:
    """The mount that a path is on, as the kernel finds it: from the root mount down, later over earlier."""
    table = mounts(host)
    if isinstance(table, Absent):
        return table
    path = os.path.normpath(directory)
    found = visible_mount(table, path)
    return (
        found
        if found is not None
        else Absent(f"no mount holds {directory}", "missing", "/proc/self/mountinfo")
    )


def visible_mount(table: tuple[Mount, ...], path: str) -> Mount | None:
    """A mount on /a hides an older one on /a/b: the chain of parents decides, not the longest prefix."""
    over = [m for m in table if _holds(m.mountpoint, path)]
    known = {m.id for m in over}
    tops = [m for m in over if m.parent not in known or m.parent == m.id]
    if not tops:
        return None
    longest = max(len(m.mountpoint) for m in tops)
    current = [m for m in tops if len(m.mountpoint) == longest][-1]
    seen = {current.id}
    while True:
        children = [m for m in over if m.parent == current.id and m.id not in seen]
        if not children:
            return current
        nearest = min(len(m.mountpoint) for m in children)
        current = [m for m in children if len(m.mountpoint) == nearest][-1]
        seen.add(current.id)


def placement(host: Host, directory: str) -> Placement | Absent:
    """The mount, the device and the stack under a directory, symlinks followed."""
    path = host.real(directory, may_hang=True)
    if isinstance(path, Absent):
        if host.live:
            return path
        path = os.path.normpath(directory)  # a captured tree holds the mount table, not the directories
    mount = mount_of(host, path)
    if isinstance(mount, Absent):
        return mount
    if memory := memory_of(host, mount):
        none = Absent(f"{mount.fstype} lies in memory, on no device", "unsupported", mount.mountpoint)
        return Placement(directory=path, mount=mount, device=none, memory=memory)
    tops = _devices(host, mount)
    if isinstance(tops, Absent):
        return Placement(directory=path, mount=mount, device=tops)
    devices = block_devices(host)
    down = tuple(dict.fromkeys(n for top in tops for n in layers(devices, top)))
    ends = tuple(dict.fromkeys(n for top in tops for n in leaves(devices, top)))
    return Placement(directory=path, mount=mount, device=tops[0], layers=down, leaves=ends)


def memory_of(host: Host, mount: Mount) -> str:
    """The file system in memory that holds what is written there: itself, or what an overlay's upper layer lies on.

    "" where there is none, and in a container, where the upper layer's path is another name space's.
    """
    if mount.fstype in IN_MEMORY:
        return mount.fstype
    upper = next((o.removeprefix("upperdir=") for o in mount.options if o.startswith("upperdir=/")), "")
    path = host.real(upper, may_hang=True) if upper else ""
    below = mount_of(host, path) if present(path) and path else None
    return below.fstype if isinstance(below, Mount) and below.fstype in IN_MEMORY else ""


def file_systems(host: Host) -> dict[str, tuple[str, ...]]:
    """The types of the mounted file systems by device: the one that is mounted, and all that lie under it."""
    table = mounts(host)
    devices, found = block_devices(host), dict[str, dict[str, None]]()
    seen = set()
    for mount in table if present(table) else ():
        # bind mounts come by the thousand, and btrfs has an anonymous number for every subvolume
        key = ("" if mount.devno.startswith("0:") else mount.devno, mount.source, mount.fstype)
        if key in seen or not mount.source.startswith("/dev/"):
            continue
        seen.add(key)
        tops = _devices(host, mount)
        for top in tops if present(tops) else ():
            for name in layers(devices, top):
                found.setdefault(name, {})[mount.fstype] = None
    return {name: tuple(types) for name, types in found.items()}


def network_file_systems(host: Host, directories: Iterable[str]) -> tuple[str, ...]:
    """Those that these directories lie on, as `server:/export (nfs4)`: other hosts' loads fall on them too."""
    found = (placement(host, directory) for directory in directories)
    mounted = (place.mount for place in found if present(place) and place.mount.fstype in NETWORK)
    return tuple(sorted({f"{mount.source} ({mount.fstype})" for mount in mounted}))


def _holds(mountpoint: str, path: str) -> bool:
    return mountpoint == "/" or path == mountpoint or path.startswith(mountpoint.rstrip("/") + "/")


def _devices(host: Host, mount: Mount) -> tuple[str, ...] | Absent:
    """The kernel names under a mount, first the one that it names; several for a btrfs over several."""
    if mount.devno and not mount.devno.startswith("0:"):
        name = device_name(host, mount.devno)
        return name if isinstance(name, Absent) else (name,)
    if mount.fstype in NETWORK:
        return Absent(
            f"{mount.fstype} from {mount.source}: the device is another machine's",
            "unsupported",
            mount.source,
        )
    # btrfs, zfs, overlay and bind mounts of them have an anonymous device number: only the source tells.
    name = source_device(host, mount.source)
    if isinstance(name, Absent):
        text = f"{mount.fstype} on {mount.source}: no block device of its own"
        return Absent(text, name.kind if mount.source.startswith("/dev/") else "unsupported", mount.source)
    if mount.fstype == "btrfs":
        return (name, *(n for n in btrfs_members(host, name) if n != name))
    return (name,)


def source_device(host: Host, source: str) -> str | Absent:
    """The kernel name of `/dev/sda1`, `/dev/mapper/vg-lv`, `/dev/disk/by-uuid/...`."""
    if not source.startswith("/dev/"):
        return Absent(f"{source} is no device", "unsupported", source)
    devices = block_devices(host)
    real = host.real(source)
    for path in (real if present(real) else source, source):
        name = path.removeprefix("/dev/").replace("/", "!")  # sysfs writes cciss!c0d0
        if name in devices:
            return name
    label = source.removeprefix("/dev/mapper/")
    found = next((d.name for d in devices.values() if d.label and d.label == label), None)
    return found if found is not None else Absent(f"{source} is not in /sys/block", "missing", source)


def btrfs_members(host: Host, name: str) -> tuple[str, ...]:
    """All devices of the btrfs that `name` belongs to (/sys/fs/btrfs/UUID/devices)."""
    for folder in host.glob("/sys/fs/btrfs/*-*/devices"):
        names = host.listing(folder)
        if present(names) and name in names:
            return names
    return (name,)
