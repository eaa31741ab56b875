"""ZFS by what its module shows in /proc/spl: pools, the cache (ARC), and which disks may be a pool's."""

import re

from hostdx.probes.reading.host import Host
from hostdx.probes.system.disk.block import BlockDevice, block_devices
from hostdx.probes.system.disk.mounts import read_mounts
from hostdx.probes.system.disk.topology import device_behind
from hostdx.probes.types import Absent, is_present

KSTAT = "/proc/spl/kstat/zfs"
ARC = f"{KSTAT}/arcstats"


def read_arc_reclaimable_bytes(host: Host) -> int | Absent:
    """Bytes by which the cache can shrink (module/zfs/arc.c: size, c_min): memory that MemAvailable does not count."""
    text = host.read_file_text(ARC)
    if isinstance(text, Absent):
        return text
    values = dict(re.findall(r"^(\w+)\s+4\s+([0-9]{1,18})$", text, re.MULTILINE))
    if "size" not in values:
        return Absent(f"{ARC} reports no size", "invalid", ARC)
    return max(0, int(values["size"]) - int(values.get("c_min", 0)))


def list_zfs_pools(host: Host) -> tuple[str, ...]:
    """The pools that are imported."""
    folders = host.list_subfolders(KSTAT)
    names = set(folders) if is_present(folders) else set()
    table = read_mounts(host)
    mounted = (m.source.partition("/")[0] for m in table if m.fstype == "zfs") if is_present(table) else ()
    return tuple(sorted(names.union(mounted)))


def is_unused_beside_pools(host: Host, disk: BlockDevice) -> bool:
    """A pool is imported, and nothing else is seen to use the disk: ZFS holds its disks without a trace in sysfs."""
    return bool(host.compute_once(list_zfs_pools)) and disk.name not in host.compute_once(_disks_in_use)


def _disks_in_use(host: Host) -> frozenset[str]:
    """Disks that something is built on, or of which a file system is mounted."""
    devices = block_devices(host)
    table = read_mounts(host)
    mounted = [device_behind(host, m.source) for m in table] if is_present(table) else []
    below = [name for device in devices.values() for name in device.slaves]
    names = {name for name in (*mounted, *below) if is_present(name)}
    return frozenset(names | {devices[name].parent for name in names if name in devices})
