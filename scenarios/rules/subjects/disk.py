"""Rows about disks, file systems, arrays and pools."""

from functools import partial

from probes.host import Host
from probes.system.disk.block import BlockDevice, block_devices
from probes.system.disk.diskstats import disk_counters
from probes.system.disk.drive.ata import ata_port
from probes.system.disk.drive.transport import emulated, virtual
from probes.system.disk.mounts import IN_MEMORY, NETWORK, Mount, mounts
from probes.system.disk.smart import Smart, smart_reports
from probes.system.disk.topology import source_device
from probes.system.disk.trim.trim_jobs import fstab_entries
from probes.system.virtualisation import virtualisation
from probes.types import Absent, present
from scenarios.rules.expression import Value
from scenarios.rules.table import SubjectRow, part

_NO_DISKS = frozenset({"ram", "zram", "rom", "floppy", "loop"})


def disk_rows(host: Host) -> list[SubjectRow] | Absent:
    """One row per whole disk with a size, in order of names: nothing that is built on others, no loops."""
    names = host.listing("/sys/block")
    if isinstance(names, Absent) and not block_devices(host):
        return names
    return [
        _disk(host, d)
        for d in block_devices(host).values()
        if not d.parent
        and not d.slaves
        and d.kind not in _NO_DISKS
        and present(d.size_bytes)
        and d.size_bytes > 0
        and not d.name.startswith(("dm-", "md"))
    ]


def _disk(host: Host, d: BlockDevice) -> SubjectRow:
    base = f"/sys/block/{d.name}"
    guest = virtualisation(host).virtual
    counters = partial(_counter, host, d.name)
    return SubjectRow(
        d.name,
        {
            "name": d.name,
            "model": d.model,
            "transport": d.transport,
            # Emulated, or a volume that a hypervisor shows: its flags say nothing of what lies under it.
            "virtual": virtual(d.transport, d.model),
            "guest": guest,
            "rotational": d.rotational,
            "size": d.size_bytes,
            "scheduler": d.scheduler,
            "schedulers": d.schedulers,
            "nr_requests": d.queue.nr_requests,
            "read_ahead": _kib(d.queue.read_ahead_kb),
            "max_sectors": _kib(d.queue.max_sectors_kb),
            "max_hw_sectors": lambda: _kib(host.integer(f"{base}/queue/max_hw_sectors_kb")),
            "write_cache": lambda: _write_cache(host, d, base),
            "wbt_us": d.queue.wbt_lat_usec,
            "depth": d.queue.device_queue_depth,
            "hw_queues": d.queue.hw_queues,
            "logical": d.queue.logical_block_bytes,
            "physical": d.queue.physical_block_bytes,
            "node": d.numa_node,
            "state": lambda: host.word(f"{base}/device/state"),
            "io_errors": lambda: host.integer(f"{base}/device/ioerr_cnt"),
            "timeouts": lambda: host.integer(f"{base}/device/iotmo_cnt"),
            "nomerges": lambda: host.integer(f"{base}/queue/nomerges"),
            "rq_affinity": lambda: host.integer(f"{base}/queue/rq_affinity"),
            "iostats": lambda: host.integer(f"{base}/queue/iostats"),
            "read_only": d.read_only,
            "link": part(d.link, "now"),
            "link_most": part(d.link, "at_most"),
            "link_source": part(d.link, "source"),
            "degraded": _degraded(d),
            "device_most": part(d.link, "device_most"),
            "port_most": part(d.link, "port_most"),
            "limited_by": part(d.link, "limited_by"),
            "controller": lambda: _ata(host, d, "controller"),
            "queues": lambda: _ata(host, d, "queues"),
            "downshifts": lambda: _ata(host, d, "downshifts"),
            "downshifts_source": lambda: _ata(host, d, "downshifts_source"),
            "sata_bits": lambda: _ata(host, d, "now", 1e9),
            "likes_wait": lambda: _likes_wait(host, d),
            "read_wait": lambda: counters("read"),
            "write_wait": lambda: counters("write"),
            "in_flight": lambda: _in_flight(host, d.name),
        },
        base,
    )


def _degraded(d: BlockDevice) -> Value:
    if isinstance(d.link, Absent) or d.link.degraded:
        return part(d.link, "degraded")
    both = d.link.device_most and d.link.port_most
    return False if both else Absent("one end of its link does not report its maximum", "unsupported")


def _kib(found: int | Absent) -> Value:
    return found if isinstance(found, Absent) else found * 1024


def _write_cache(host: Host, d: BlockDevice, base: str) -> Value:
    """By the queue; kernels before 4.7 tell it of SCSI disks only (Documentation/scsi: cache_type)."""
    told = d.queue.write_cache
    if present(told):
        return told.strip()
    for path in host.glob(f"{base}/device/scsi_disk/*/cache_type"):
        return host.word(path)
    return told


def _likes_wait(host: Host, d: BlockDevice) -> Value:
    """The median of the mean read times, in ns, of at least two other disks of its model."""
    waits = host.once(_waits_by_model).get(d.model if present(d.model) else "", [])
    others = sorted(wait for name, wait in waits if name != d.name)
    return (
        others[len(others) // 2]
        if len(others) >= 2
        else Absent("no two other disks of its model", "unsupported")
    )


def _waits_by_model(host: Host) -> dict[str, list[tuple[str, float]]]:
    found: dict[str, list[tuple[str, float]]] = {}
    for d in block_devices(host).values():
        if present(d.model) and d.model and not d.parent and not d.slaves:
            wait = _counter(host, d.name, "read")
            if present(wait):
                found.setdefault(d.model, []).append((d.name, wait))
    return found


def _ata(host: Host, d: BlockDevice, name: str, factor: float | None = None) -> Value:
    value = part(ata_port(host, d.path), name)
    if value is None or (value == 0.0 and name == "controller"):
        return Absent("the SATA port does not report it")
    return value if factor is None or isinstance(value, Absent) else value * factor


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


def partition_rows(host: Host) -> list[SubjectRow]:
    """One row per partition of a disk that tells its blocks; `start` in sectors of 512 bytes."""
    rows = []
    for d in block_devices(host).values():
        if d.parent and not emulated(d.model) and present(d.queue.physical_block_bytes):
            columns: dict[str, Value] = {
                "start": partial(host.integer, f"{d.path}/start"),
                "offset": partial(host.integer, f"{d.path}/alignment_offset"),
                "physical": d.queue.physical_block_bytes,
                "disk": d.parent,
            }
            rows.append(SubjectRow(d.name, columns, d.path))
    return rows


def mount_rows(host: Host) -> list[SubjectRow] | Absent:
    """One row per file system that is mounted, by device (bind mounts once). Shares are 0..1."""
    table = mounts(host)
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


def _mount(host: Host, mount: Mount) -> SubjectRow:
    def option(name: str) -> Value:
        return next((o.partition("=")[2] for o in mount.options if o.split("=", 1)[0] == name), "")

    device = partial(source_device, host, mount.source)

    def spins(name: Value) -> Value:
        known = block_devices(host)
        if isinstance(name, Absent):
            return name
        return known[name].rotational if name in known else Absent("no disk is known")

    return SubjectRow(
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
            "devno": mount.devno or Absent("mountinfo was not captured", "captured"),
            "remote_read_ahead": lambda: _kib(host.integer(f"/sys/class/bdi/{mount.devno}/read_ahead_kb")),
            "rsize": option("rsize"),
            "wsize": option("wsize"),
            "vers": option("vers") or option("nfsvers"),
            "proto": option("proto"),
            "soft": "soft" in mount.options,
            "actimeo0": "noac" in mount.options or option("actimeo") == "0",
            "used": lambda: _share(host, mount, "space"),
            "inodes": lambda: _share(host, mount, "inodes"),
            "free": lambda: _share(host, mount, "free"),
            "rotational": lambda: spins(device()),
            "device": device,
            "disk": lambda: _whole_disk(host, device()),
            "errors": lambda: _ext4_errors(host, device()),
            "log_device": option("logdev"),
            "log_rotational": lambda: spins(source_device(host, option("logdev"))),
        },
    )


def _whole_disk(host: Host, device: Value) -> Value:
    """The disk of a partition, or of what is built on exactly one."""
    known = block_devices(host)
    while present(device) and device in known and (known[device].parent or len(known[device].slaves) == 1):
        device = known[device].parent or known[device].slaves[0]
    return device if isinstance(device, Absent) or device in known else Absent(f"{device} is not known")


def _fstab(host: Host, mount: Mount) -> tuple[str, ...] | None:
    place = mount.mountpoint.rstrip("/") or "/"
    return next((options for named, options in fstab_entries(host) if named == place), None)


def _asked(host: Host, mount: Mount, option: str) -> Value:
    asked, text = _fstab(host, mount), host.text("/etc/fstab")
    if asked is not None:
        return option in asked
    unsaid = Absent(f"{mount.mountpoint} is not in /etc/fstab", "unsupported")
    return text if isinstance(text, Absent) else unsaid


def _share(host: Host, mount: Mount, what: str) -> Value:
    """Of what ordinary users may have; `free` in bytes. File systems without a number of inodes have no such share."""
    found = host.statvfs(mount.mountpoint)
    if isinstance(found, Absent):
        return found
    if what == "free":
        return found.f_bavail * found.f_frsize
    if what == "inodes":
        if not found.f_files or mount.fstype in ("btrfs", "zfs", "vfat", "exfat", "ntfs3", "fuseblk"):
            return Absent(f"{mount.fstype} has no fixed number of inodes", "unsupported")
        return 1 - found.f_ffree / found.f_files
    used = found.f_blocks - found.f_bfree
    usable = used + found.f_bavail
    return used / usable if usable > 0 else Absent(f"{mount.mountpoint} reports no size", "unsupported")


def _ext4_errors(host: Host, device: Value) -> Value:
    if isinstance(device, Absent):
        return device
    return host.integer(f"/sys/fs/ext4/{device}/errors_count")


def smart_rows(host: Host) -> list[SubjectRow] | Absent:
    """One row per physical disk; what smartctl did not tell is absent with its reason. Shares are 0..1."""
    return [
        SubjectRow(
            name,
            # absent where the disk could not be asked: then nothing is known, which is not "it does not tell"
            {"name": name, "silent": report if isinstance(report, Absent) else False}
            | {
                field: report if isinstance(report, Absent) else getattr(report, field)
                for field in Smart.__struct_fields__
            },
        )
        for name, report in host.once(smart_reports).items()
    ]
