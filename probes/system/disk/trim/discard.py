"""The way of a discard from a file system down to the drive, and who in between swallows it."""

import msgspec

from probes.host import Host
from probes.system.disk.block import BlockDevice, block_devices, under
from probes.system.disk.drive.ata import links_of
from probes.system.disk.mounts import Mount
from probes.system.disk.topology import Topology, topology
from probes.types import Absent, present

# File systems that can hand free space down (FITRIM): fs/*/ioctl.c of these.
TRIMMING = frozenset(
    {"ext4", "ext3", "xfs", "btrfs", "f2fs", "jfs", "ocfs2", "nilfs2", "bcachefs", "exfat", "vfat", "ntfs3"}
)


class DiscardLayer(msgspec.Struct, frozen=True, kw_only=True):
    """One device of the stack. `max_bytes` 0 means that it takes no discards (queue/discard_max_bytes)."""

    device: str
    kind: str
    max_bytes: int | Absent
    granularity_bytes: int | Absent

    @property
    def swallows(self) -> bool:
        # The granularity may be non-zero while nothing is taken: only the limit tells.
        return self.max_bytes == 0


class DiscardChain(msgspec.Struct, frozen=True, kw_only=True):
    """From the mount to the leaves. `online` is the mount's own option ("", "discard", "discard=async", ...).

    `mountpoints`: every place where the file system is mounted; `read_only`: nowhere for writing.
    `tops`: what it lies on directly, one device except for btrfs. `queued` maps each SATA leaf to `queued`, `unqueued`,
    `forced_unqueued`, `unsupported` (/sys/class/ata_device/dev*/trim, Documentation/ABI/testing/sysfs-ata).
    """

    mount: Mount
    device: str
    online: str
    layers: tuple[DiscardLayer, ...]
    leaves: tuple[str, ...]
    queued: dict[str, str] = {}
    tops: tuple[str, ...] = ()
    mountpoints: tuple[str, ...] = ()
    read_only: bool = False

    @property
    def swallowed_by(self) -> str:
        """The lowest device that takes no discards: what lies on it can take none either; "" where all are taken."""
        return next((layer.device for layer in reversed(self.layers) if layer.swallows), "")

    @property
    def known(self) -> bool:
        return all(present(layer.max_bytes) for layer in self.layers) and bool(self.layers)


def discard_chains(host: Host) -> tuple[DiscardChain, ...] | Absent:
    """One for each mounted file system that can trim and lies on a block device, each device once."""
    disks = topology(host)
    if isinstance(disks.mounts, Absent):
        return disks.mounts
    found: dict[str, DiscardChain] = {}
    for mount in disks.mounts:
        if mount.fstype not in TRIMMING:
            continue
        chain = discard_chain(host, disks, mount)
        if chain is not None:
            found.setdefault(chain.device, chain)
    return tuple(found.values())


def discard_chain(host: Host, disks: Topology, mount: Mount) -> DiscardChain | None:
    """None where the mount lies on no block device that sysfs knows."""
    devices, tops = disks.devices, disks.under(mount)
    if isinstance(tops, Absent):
        return None
    same = _same(disks, mount)
    names = [n for n in disks.layers(tops) if n in devices]
    ends = disks.leaves(tops)
    return DiscardChain(
        mount=mount,
        device=tops[0],
        online=next((o for o in mount.options if o == "discard" or o.startswith("discard=")), ""),
        layers=tuple(_layer(devices[name]) for name in names),
        leaves=ends,
        queued={n: mode for n in ends if n in devices and (mode := _sata_mode(host, devices[n]))},
        tops=tops,
        mountpoints=tuple(dict.fromkeys((mount.mountpoint, *(m.mountpoint for m in same)))),
        read_only=all("ro" in m.options for m in (mount, *same)),
    )


def _same(disks: Topology, mount: Mount) -> list[Mount]:
    """All mounts of a file system; the subvolumes of a btrfs have numbers of their own, but one source."""
    return [
        m
        for m in (disks.mounts if present(disks.mounts) else ())
        if m.fstype == mount.fstype
        and ((m.devno and m.devno == mount.devno) or (m.source.startswith("/") and m.source == mount.source))
    ]


def own_devices(host: Host, chain: DiscardChain) -> tuple[str, ...]:
    """The devices whose counters of discards are this file system's alone: its partition, its logical volume.

    Not an md array's: raid0_make_request hands discards down before they are counted (drivers/md/raid0.c).
    """
    devices = block_devices(host)
    found: dict[str, None] = {}
    waiting = list(chain.tops or (chain.device,))
    while waiting:
        name = waiting.pop(0)
        below = under(devices, name) if name in devices and devices[name].kind.startswith("md") else ()
        waiting += [n for n in below if n not in found]
        if not below:
            found[name] = None
    return tuple(found)


def _layer(device: BlockDevice) -> DiscardLayer:
    return DiscardLayer(
        device=device.name,
        kind=device.kind,
        max_bytes=device.queue.discard_max_bytes,
        granularity_bytes=device.queue.discard_granularity_bytes,
    )


def _sata_mode(host: Host, device: BlockDevice) -> str:
    """`forced_unqueued` and its kin; "" where it is no SATA disk or the kernel does not say."""
    if device.transport != "sata":
        return ""
    found = links_of(device.path)
    if found is None:
        return ""
    port, _, links = found
    for link in links:
        name = f"dev{link}.0"
        for folder in (f"{port}/link{link}/{name}/ata_device/{name}", f"/sys/class/ata_device/{name}"):
            text = host.text(f"{folder}/trim")
            if present(text) and text.strip():
                return text.strip()
    return ""
