"""ZFS by what its module shows in /proc/spl: pools, the cache (ARC), and which disks may be a pool's."""

import re

from probes.host import Host
from probes.system.disk.block import BlockDevice, block_devices
from probes.system.disk.mounts import mounts
from probes.system.disk.topology import source_device
from probes.types import Absent, present

KSTAT = "/proc/spl/kstat/zfs"
ARC = f"{KSTAT}/arcstats"


def reclaimable(host: Host) -> int | Absent:
    """Bytes by which the cache can shrink (module/zfs/arc.c: size, c_min): memory that MemAvailable does not count."""
    text = host.text(ARC)
    if isinstance(text, Absent):
        return text
    told = dict(re.findall(r"^(\w+)\s+4\s+([0-9]{1,18})$", text, re.MULTILINE))
    if "size" not in told:
        return Absent(f"{ARC} reports no size", "invalid", ARC)
    return max(0, int(told["size"]) - int(told.get("c_min", 0)))


def pools(host: Host) -> tuple[str, ...]:
    """The pools that are imported."""
    found = host.subfolders(KSTAT)
    names = set(found) if present(found) else set()
    table = mounts(host)
    mounted = (m.source.partition("/")[0] for m in table if m.fstype == "zfs") if present(table) else ()
    return tuple(sorted(names.union(mounted)))


def may_be_zfs(host: Host, disk: BlockDevice) -> bool:
    """A pool is imported, and nothing else is seen to use the disk: ZFS holds its disks without a trace in sysfs."""
    return bool(host.once(pools)) and disk.name not in host.once(_used)


def _used(host: Host) -> frozenset[str]:
    """Disks that something is built on, or of which a file system is mounted."""
    devices = block_devices(host)
    table = mounts(host)
    mounted = [source_device(host, m.source) for m in table] if present(table) else []
    below = [name for device in devices.values() for name in device.slaves]
    names = {name for name in (*mounted, *below) if present(name)}
    return frozenset(names | {devices[name].parent for name in names if name in devices})
