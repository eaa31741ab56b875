"""The way of a discard from a file system down to the drive, and who in between swallows it."""

import msgspec

from hostdx.probes.reading.host import Host
from hostdx.probes.system.disk.block import BlockDevice, block_devices, devices_directly_below
from hostdx.probes.system.disk.drive.ata import find_port_host_and_links
from hostdx.probes.system.disk.mounts import Mount
from hostdx.probes.system.disk.topology import DiskTopology, read_disk_topology
from hostdx.probes.types import Absent, is_present

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
    def swallows_discards(self) -> bool:
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
    def lowest_without_discard(self) -> str:
        """The lowest device that takes no discards: what lies on it can take none either; "" where all are taken."""
        return next((layer.device for layer in reversed(self.layers) if layer.swallows_discards), "")

    @property
    def are_limits_known(self) -> bool:
        return all(is_present(layer.max_bytes) for layer in self.layers) and bool(self.layers)


def discard_chains(host: Host) -> tuple[DiscardChain, ...] | Absent:
    """One for each mounted file system that can trim and lies on a block device, each device once."""
    disks = read_disk_topology(host)
    if isinstance(disks.mounts, Absent):
        return disks.mounts
    chains: dict[str, DiscardChain] = {}
    for mount in disks.mounts:
        if mount.fstype not in TRIMMING:
            continue
        chain = discard_chain(host, disks, mount)
        if chain is not None:
            chains.setdefault(chain.device, chain)
    return tuple(chains.values())


def discard_chain(host: Host, disks: DiskTopology, mount: Mount) -> DiscardChain | None:
    """None where the mount lies on no block device that sysfs knows."""
    devices, tops = disks.devices, disks.devices_directly_under(mount)
    if isinstance(tops, Absent):
        return None
    same = _all_mounts_of_file_system(disks, mount)
    names = [n for n in disks.layers_under(tops) if n in devices]
    ends = disks.leaves_under(tops)
    return DiscardChain(
        mount=mount,
        device=tops[0],
        online=next((o for o in mount.options if o == "discard" or o.startswith("discard=")), ""),
        layers=tuple(_discard_layer_of(devices[name]) for name in names),
        leaves=ends,
        queued={n: mode for n in ends if n in devices and (mode := _sata_trim_mode(host, devices[n]))},
        tops=tops,
        mountpoints=tuple(dict.fromkeys((mount.mountpoint, *(m.mountpoint for m in same)))),
        read_only=all("ro" in m.options for m in (mount, *same)),
    )


def _all_mounts_of_file_system(disks: DiskTopology, mount: Mount) -> list[Mount]:
    """All mounts of a file system; the subvolumes of a btrfs have numbers of their own, but one source."""
    return [
        m
        for m in (disks.mounts if is_present(disks.mounts) else ())
        if m.fstype == mount.fstype
        and ((m.devno and m.devno == mount.devno) or (m.source.startswith("/") and m.source == mount.source))
    ]


def sole_devices(host: Host, chain: DiscardChain) -> tuple[str, ...]:
    """The devices whose counters of discards are this file system's alone: its partition, its logical volume.

    Not an md array's: raid0_make_request hands discards down before they are counted (drivers/md/raid0.c).
    """
    devices = block_devices(host)
    own_names: dict[str, None] = {}
    waiting = list(chain.tops or (chain.device,))
    while waiting:
        name = waiting.pop(0)
        below = (
            devices_directly_below(devices, name)
            if name in devices and devices[name].kind.startswith("md")
            else ()
        )
        waiting += [n for n in below if n not in own_names]
        if not below:
            own_names[name] = None
    return tuple(own_names)


def _discard_layer_of(device: BlockDevice) -> DiscardLayer:
    return DiscardLayer(
        device=device.name,
        kind=device.kind,
        max_bytes=device.queue.discard_max_bytes,
        granularity_bytes=device.queue.discard_granularity_bytes,
    )


def _sata_trim_mode(host: Host, device: BlockDevice) -> str:
    """`forced_unqueued` and its kin; "" where it is no SATA disk or the kernel does not say."""
    if device.transport != "sata":
        return ""
    port_links = find_port_host_and_links(device.path)
    if port_links is None:
        return ""
    port, _, links = port_links
    for link in links:
        name = f"dev{link}.0"
        for folder in (f"{port}/link{link}/{name}/ata_device/{name}", f"/sys/class/ata_device/{name}"):
            text = host.read_file_text(f"{folder}/trim")
            if is_present(text) and text.strip():
                return text.strip()
    return ""
