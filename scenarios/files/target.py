"""A directory to be measured, with what lies under it."""

from __future__ import annotations

import msgspec

from probes.host import Host
from probes.system.disk.block import BlockDevice, block_devices
from probes.system.disk.mounts import Placement, placement
from probes.types import Absent

# File systems that keep no files of users.
NO_DATA = frozenset({"proc", "sysfs", "cgroup", "cgroup2", "devpts", "mqueue", "debugfs", "tracefs", "securityfs"}) | {
    "pstore", "bpf", "configfs", "fusectl", "autofs", "rpc_pipefs", "binfmt_misc", "nsfs", "efivarfs", "squashfs",
    "iso9660", "selinuxfs", "devtmpfs", "fuse.gvfsd-fuse", "fuse.portal", "erofs",
}  # fmt: skip


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """A directory to be measured. `letter` is its variant's id; `devices` the leaves in the order of `place.leaves`."""

    letter: str
    directory: str
    place: Placement
    devices: tuple[BlockDevice, ...]
    explicit: bool

    @property
    def device(self) -> BlockDevice | None:
        """Where it is a single one: of several nothing can be said as of one disk."""
        return self.devices[0] if len(self.devices) == 1 else None

    @property
    def leaf_names(self) -> str:
        if self.place.leaves:
            return ", ".join(self.place.leaves)
        return self.place.mount.source


def target(host: Host, letter: str, directory: str, *, explicit: bool) -> Target | Absent:
    """What lies under the directory; absent where the mount table cannot tell."""
    place = placement(host, directory)
    if isinstance(place, Absent):
        return place
    known = host.once(block_devices)
    devices = tuple(known[name] for name in place.leaves if name in known)
    return Target(letter=letter, directory=directory, place=place, devices=devices, explicit=explicit)


def text(value: object) -> str:
    return "" if isinstance(value, Absent) or value is None else str(value)
