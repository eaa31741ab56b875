"""Rows about disks, file systems, arrays and pools."""

from __future__ import annotations

import re
from functools import partial

from probes.host import Host
from probes.system.disk.arrays import md_arrays, thin_pool
from probes.system.disk.ata import ata_port
from probes.system.disk.block import BlockDevice, block_devices, leaves
from probes.system.disk.diskstats import disk_counters
from probes.system.disk.mounts import IN_MEMORY, NETWORK, Mount, mounts, source_device
from probes.system.disk.transport import VIRTUAL_TRANSPORTS, emulated
from probes.system.virtualisation import virtualisation
from probes.types import Absent, present
from scenarios.rules.expression import Value
from scenarios.rules.table import Row

_NO_DISKS = frozenset({"ram", "zram", "rom", "floppy", "loop"})


def disk_rows(host: Host) -> list[Row] | Absent:
    """One a whole disk with a size, in order of names: nothing that is built on others, no loops."""
    names = host.listing("/sys/block")
    if isinstance(names, Absent) and not host.once(block_devices):
        return names
    return [
        _disk(host, d)
        for d in host.once(block_devices).values()
        if not d.parent
        and not d.slaves
        and d.kind not in _NO_DISKS
        and present(d.size_bytes)
        and d.size_bytes > 0
        and not d.name.startswith(("dm-", "md"))
    ]


def _disk(host: Host, d: BlockDevice) -> Row:
    base = f"/sys/block/{d.name}"
    guest = host.once(virtualisation).virtual
    virtual = (present(d.transport) and d.transport in VIRTUAL_TRANSPORTS) or emulated(d.model)
    link = d.link
    counters = partial(_counter, host, d.name)
    return Row(
        d.name,
        {
            "name": d.name,
            "model": d.model,
            "transport": d.transport,
            # Emulated, or a volume that a hypervisor shows: its flags say nothing of what lies under it.
            "virtual": virtual,
            "guest": guest,
            "rotational": d.rotational,
            "size": d.size_bytes,
            "scheduler": d.scheduler,
            "schedulers": d.schedulers,
            "nr_requests": d.queue.nr_requests,
            "read_ahead": d.queue.read_ahead_kb * 1024
            if present(d.queue.read_ahead_kb)
            else d.queue.read_ahead_kb,
            "max_sectors": d.queue.max_sectors_kb * 1024
            if present(d.queue.max_sectors_kb)
            else d.queue.max_sectors_kb,
            "max_hw_sectors": lambda: _kib(host, f"{base}/queue/max_hw_sectors_kb"),
            "write_cache": d.queue.write_cache,
            "wbt_us": d.queue.wbt_lat_usec,
            "depth": d.queue.device_queue_depth,
            "hw_queues": d.queue.hw_queues,
            "logical": d.queue.logical_block_bytes,
            "physical": d.queue.physical_block_bytes,
            "node": d.numa_node,
            "state": lambda: _word(host, f"{base}/device/state"),
            "io_errors": lambda: host.integer(f"{base}/device/ioerr_cnt"),
            "timeouts": lambda: host.integer(f"{base}/device/iotmo_cnt"),
            "nomerges": lambda: host.integer(f"{base}/queue/nomerges"),
            "rq_affinity": lambda: host.integer(f"{base}/queue/rq_affinity"),
            "iostats": lambda: host.integer(f"{base}/queue/iostats"),
            "read_only": d.read_only,
            "link": link if isinstance(link, Absent) else link.now,
            "controller": lambda: _controller(host, d),
            "read_wait": lambda: counters("read"),
            "write_wait": lambda: counters("write"),
            "in_flight": lambda: _in_flight(host, d.name),
        },
        base,
    )


def _kib(host: Host, path: str) -> Value:
    found = host.integer(path)
    return found if isinstance(found, Absent) else found * 1024


def _word(host: Host, path: str) -> Value:
    text = host.text(path, 4096)
    return text if isinstance(text, Absent) else text.strip()


def _controller(host: Host, d: BlockDevice) -> Value:
    port = ata_port(host, d.path)
    return port.controller if present(port) and port.controller else Absent("the controller does not tell")


def _counter(host: Host, name: str, which: str) -> Value:
    """Mean time of a request since boot, in ns."""
    found = host.once(disk_counters)
    if isinstance(found, Absent):
        return found
    one = found.get(name)
    if one is None:
        return Absent(f"/proc/diskstats has no {name}")
    count, wait = (one.reads, one.read_wait_s) if which == "read" else (one.writes, one.write_wait_s)
    return wait / count * 1e9 if count >= 1000 else Absent(f"{name} has served too few requests")


def _in_flight(host: Host, name: str) -> Value:
    found = host.once(disk_counters)
    if isinstance(found, Absent):
        return found
    return found[name].in_flight if name in found else Absent(f"/proc/diskstats has no {name}")


def partition_rows(host: Host) -> list[Row]:
    """One a partition of a disk that tells its blocks; `start` in sectors of 512 bytes."""
    rows = []
    for d in host.once(block_devices).values():
        if d.parent and not emulated(d.model) and present(d.queue.physical_block_bytes):
            columns: dict[str, Value] = {
                "start": partial(host.integer, f"{d.path}/start"),
                "offset": partial(host.integer, f"{d.path}/alignment_offset"),
                "physical": d.queue.physical_block_bytes,
            }
            rows.append(Row(d.name, columns, d.path))
    return rows


def mount_rows(host: Host) -> list[Row] | Absent:
    """One a file system that is mounted, by device (bind mounts once). Shares are 0..1."""
    table = host.once(mounts)
    if isinstance(table, Absent):
        return table
    seen: dict[tuple[str, str, str], Mount] = {}
    for mount in table:
        real = (
            mount.source.startswith("/dev/")
            or mount.fstype in NETWORK
            or mount.fstype in ("zfs", "btrfs", "tmpfs")
        )
        if real:
            key = (mount.source, mount.fstype, mount.mountpoint if mount.fstype == "tmpfs" else "")
            seen.setdefault(key, mount)
    return [_mount(host, mount) for mount in seen.values()]


def _mount(host: Host, mount: Mount) -> Row:
    def option(name: str) -> Value:
        return next((o.partition("=")[2] for o in mount.options if o.split("=", 1)[0] == name), "")

    def device() -> Value:
        return source_device(host, mount.source)

    def spins(name: Value) -> Value:
        known = host.once(block_devices)
        if isinstance(name, Absent):
            return name
        return known[name].rotational if name in known else Absent("no disk is known")

    return Row(
        mount.mountpoint,
        {
            "mountpoint": mount.mountpoint,
            "source": mount.source,
            "fstype": mount.fstype,
            "options": mount.options,
            "network": mount.fstype in NETWORK,
            "memory": mount.fstype in IN_MEMORY,
            "image": mount.fstype in ("squashfs", "iso9660", "erofs", "udf", "cramfs")
            or "loop" in mount.source,
            "read_only": "ro" in mount.options,
            "asked_read_only": lambda: _asked(host, mount, "ro"),
            "in_fstab": lambda: _fstab(host, mount) is not None,
            "sync": "sync" in mount.options,
            "dirsync": "dirsync" in mount.options,
            "data": option("data"),
            "barrier": "nobarrier" not in mount.options and "barrier=0" not in mount.options,
            "atime": "strictatime" in mount.options or not {"noatime", "relatime", "ro"} & set(mount.options),
            "logbsize": option("logbsize"),
            "rsize": option("rsize"),
            "wsize": option("wsize"),
            "vers": option("vers") or option("nfsvers"),
            "proto": option("proto"),
            "soft": "soft" in mount.options,
            "actimeo0": "noac" in mount.options or option("actimeo") == "0",
            "used": lambda: _share(host, mount, "space"),
            "inodes": lambda: _share(host, mount, "inodes"),
            "free": lambda: _free(host, mount),
            "rotational": lambda: spins(device()),
            "errors": lambda: _ext4_errors(host, device()),
            "log_device": option("logdev"),
            "log_rotational": lambda: spins(source_device(host, option("logdev"))),
        },
    )


def _fstab(host: Host, mount: Mount) -> tuple[str, ...] | None:
    text = host.text("/etc/fstab")
    for line in text.splitlines() if present(text) else ():
        words = line.split()
        if (
            len(words) >= 4
            and not words[0].startswith("#")
            and words[1].rstrip("/") == mount.mountpoint.rstrip("/")
        ):
            return tuple(words[3].split(","))
    return None


def _asked(host: Host, mount: Mount, option: str) -> Value:
    asked = _fstab(host, mount)
    if asked is not None:
        return option in asked
    text = host.text("/etc/fstab")
    return (
        text
        if isinstance(text, Absent)
        else Absent(f"{mount.mountpoint} is not in /etc/fstab", "unsupported")
    )


def _share(host: Host, mount: Mount, what: str) -> Value:
    """Of what ordinary users may have; file systems without a number of inodes of their own have no such share."""
    found = host.statvfs(mount.mountpoint)
    if isinstance(found, Absent):
        return found
    if what == "inodes":
        if not found.f_files or mount.fstype in ("btrfs", "zfs", "vfat", "exfat", "ntfs3", "fuseblk"):
            return Absent(f"{mount.fstype} has no fixed number of inodes", "unsupported")
        return 1 - found.f_ffree / found.f_files
    used = found.f_blocks - found.f_bfree
    usable = used + found.f_bavail
    return used / usable if usable > 0 else Absent(f"{mount.mountpoint} tells no size", "unsupported")


def _free(host: Host, mount: Mount) -> Value:
    found = host.statvfs(mount.mountpoint)
    return found if isinstance(found, Absent) else found.f_bavail * found.f_frsize


def _ext4_errors(host: Host, device: Value) -> Value:
    if isinstance(device, Absent):
        return device
    return host.integer(f"/sys/fs/ext4/{device}/errors_count")


def pool_rows(host: Host) -> list[Row] | Absent:
    """One a thin pool of LVM: fill of data and metadata, 0..1 (root)."""
    found: dict[str, Row] = {}
    for device in host.once(block_devices).values():
        if device.kind != "lvm" and not device.name.startswith("dm-"):
            continue
        pool = thin_pool(host, device.name)
        if pool is not None:
            columns: dict[str, Value] = {
                "name": pool.name,
                "data": pool.data,
                "metadata": pool.metadata,
                "mode": pool.mode,
            }
            found.setdefault(pool.name, Row(pool.name, columns))
    return list(found.values())


def array_rows(host: Host) -> list[Row]:
    """One an md array."""
    rows = []
    for array in md_arrays(host):
        base = f"/sys/block/{array.name}/md"
        rows.append(
            Row(
                array.name,
                {
                    "name": array.name,
                    "level": array.level,
                    "disks": array.disks,
                    "missing": array.missing,
                    "action": array.action,
                    "mismatches": partial(host.integer, f"{base}/mismatch_cnt"),
                    "stripe_cache": partial(host.integer, f"{base}/stripe_cache_size"),
                    "bitmap": partial(_word, host, f"{base}/bitmap/location"),
                    "members": partial(leaves, host, array.name),
                },
                base,
            )
        )
    return rows


def multipath_rows(host: Host) -> list[Row] | Absent:
    """One a multipath device: paths by `multipath -ll`, else by sysfs. `groups` counts path groups."""
    text = host.command("multipath", "-ll")
    told = _multipath_text(text) if present(text) else {}
    rows = []
    for device in host.once(block_devices).values():
        if device.kind != "multipath":
            continue
        states = {s: _word(host, f"/sys/block/{s}/device/state") for s in device.slaves}
        kernel_bad = tuple(
            s for s, word in states.items() if word not in ("running", "live") and present(word)
        )
        told.setdefault(device.label or device.name, {"failed": kernel_bad, "paths": len(device.slaves)})
        told[device.label or device.name].setdefault("slaves", device.slaves)
    for name, values in told.items():
        columns = {
            "name": name,
            "paths": Absent("not told"),
            "failed": (),
            "groups": text if isinstance(text, Absent) else Absent("not told"),
            "policy": text if isinstance(text, Absent) else Absent("not told"),
            "alua": text if isinstance(text, Absent) else Absent("not told"),
            **values,
        }
        rows.append(Row(name, columns))
    return rows


def _multipath_text(text: str) -> dict[str, dict[str, Value]]:
    """multipath -ll: a map's line holds `dm-N`, its groups begin with `policy=`, its paths hold H:C:T:L."""
    found: dict[str, dict[str, Value]] = {}
    current: dict[str, Value] | None = None
    for line in text.splitlines():
        head = re.match(r"([^\s|`]\S*)(?: \([^)]*\))? dm-[0-9]+ ", line + " ")
        if head:
            current = {"paths": 0, "failed": (), "groups": 0, "policy": "", "alua": False, "states": ()}
            found[head[1]] = current
        elif current is None:
            continue
        elif "policy=" in line:
            current["groups"] += 1
            current["policy"] = (re.findall(r"policy='?([\w-]+)", line) or [""])[0]
        elif path := re.search(r"[0-9]+:[0-9]+:[0-9]+:[0-9]+ +(\S+) +\S+ +(\w+) +(\w+) +(\w+)", line):
            current["paths"] += 1
            if path[2] == "failed" or path[3] in ("faulty", "shaky") or path[4] == "offline":
                current["failed"] = (*current["failed"], path[1])
        elif "hwhandler=" in line:
            current["alua"] = "alua" in line
    return found
