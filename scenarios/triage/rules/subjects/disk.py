"""Rows about disks, file systems, arrays and pools."""

from functools import partial

from hostdx.probes.reading.host import Host
from hostdx.probes.system.disk.block import BlockDevice, block_devices
from hostdx.probes.system.disk.diskstats import disk_counters
from hostdx.probes.system.disk.drive.ata import ata_port
from hostdx.probes.system.disk.drive.transport import is_emulated, is_virtual_disk
from hostdx.probes.system.disk.mounts import IN_MEMORY, NETWORK, Mount, read_mounts
from hostdx.probes.system.disk.smart import SmartHealth, smart_reports
from hostdx.probes.system.disk.topology import device_behind
from hostdx.probes.system.disk.trim.trim_jobs import fstab_entries
from hostdx.probes.system.virtualisation import read_virtualisation
from hostdx.probes.types import Absent, is_present
from hostdx.scenarios.triage.rules.expression import Value
from hostdx.scenarios.triage.rules.table import SubjectRow, field_value

_NO_DISKS = frozenset({"ram", "zram", "rom", "floppy", "loop"})


def disk_rows(host: Host) -> list[SubjectRow] | Absent:
    """One row per whole disk but an empty drive, in order of names: nothing that is built on others, no loops."""
    names = host.list_names("/sys/block")
    if isinstance(names, Absent) and not block_devices(host):
        return names
    return [
        _disk_row(host, d)
        for d in block_devices(host).values()
        if not d.parent
        and not d.slaves
        and d.kind not in _NO_DISKS
        and d.size_bytes != 0
        and not d.name.startswith(("dm-", "md"))
    ]


def _disk_row(host: Host, d: BlockDevice) -> SubjectRow:
    base = f"/sys/block/{d.name}"
    guest = read_virtualisation(host).is_virtual
    counters = partial(_mean_request_ns, host, d.name)
    return SubjectRow(
        d.name,
        {
            "name": d.name,
            "model": d.model,
            "transport": d.transport,
            # Emulated, or a volume that a hypervisor shows: its flags say nothing of what lies under it.
            "virtual": is_virtual_disk(d.transport, d.model),
            "guest": guest,
            "rotational": d.rotational,
            "size": d.size_bytes,
            "scheduler": d.scheduler,
            "schedulers": d.schedulers,
            "nr_requests": d.queue.nr_requests,
            "read_ahead": _kib_to_bytes(d.queue.read_ahead_kb),
            "max_sectors": _kib_to_bytes(d.queue.max_sectors_kb),
            "max_hw_sectors": lambda: _kib_to_bytes(host.read_integer(f"{base}/queue/max_hw_sectors_kb")),
            "write_cache": lambda: _write_cache_mode(host, d, base),
            "wbt_us": d.queue.wbt_lat_usec,
            "depth": d.queue.device_queue_depth,
            "hw_queues": d.queue.hw_queues,
            "logical": d.queue.logical_block_bytes,
            "physical": d.queue.physical_block_bytes,
            "node": d.numa_node,
            "state": lambda: host.read_word(f"{base}/device/state"),
            "io_errors": lambda: host.read_integer(f"{base}/device/ioerr_cnt"),
            "timeouts": lambda: host.read_integer(f"{base}/device/iotmo_cnt"),
            "nomerges": lambda: host.read_integer(f"{base}/queue/nomerges"),
            "rq_affinity": lambda: host.read_integer(f"{base}/queue/rq_affinity"),
            "iostats": lambda: host.read_integer(f"{base}/queue/iostats"),
            "read_only": d.read_only,
            "link": field_value(d.link, "now"),
            "link_most": field_value(d.link, "at_most"),
            "link_source": field_value(d.link, "source"),
            "degraded": _is_link_degraded(d),
            "device_most": field_value(d.link, "device_most"),
            "port_most": field_value(d.link, "port_most"),
            "limited_by": field_value(d.link, "limited_by"),
            "controller": lambda: _ata_port_value(host, d, "controller"),
            "queues": lambda: _ata_port_value(host, d, "queues"),
            "downshifts": lambda: _ata_port_value(host, d, "downshifts"),
            "downshifts_source": lambda: _ata_port_value(host, d, "downshifts_source"),
            "sata_bits": lambda: _ata_port_value(host, d, "now", 1e9),
            "likes_wait": lambda: _median_read_ns_of_peers(host, d),
            "read_wait": lambda: counters("read"),
            "write_wait": lambda: counters("write"),
            "in_flight": lambda: _requests_in_flight(host, d.name),
            "tail": lambda: _bytes_behind_partitions(host, d),
        },
        base,
    )


def _bytes_behind_partitions(host: Host, d: BlockDevice) -> Value:
    """Return how much of the disk lies behind its last partition."""
    ends = [0]
    for part in block_devices(host).values():
        if part.parent == d.name:
            start = host.read_integer(f"{d.path}/{part.name}/start")
            if isinstance(start, Absent) or isinstance(part.size_bytes, Absent):
                return start if isinstance(start, Absent) else part.size_bytes
            ends.append(start * 512 + part.size_bytes)
    return d.size_bytes if isinstance(d.size_bytes, Absent) else d.size_bytes - max(ends)


def _is_link_degraded(d: BlockDevice) -> Value:
    if isinstance(d.link, Absent) or d.link.degraded:
        return field_value(d.link, "degraded")
    both = d.link.device_most and d.link.port_most
    return False if both else Absent("one end of its link does not report its maximum", "unsupported")


def _kib_to_bytes(kib: int | Absent) -> Value:
    return kib if isinstance(kib, Absent) else kib * 1024


def _write_cache_mode(host: Host, d: BlockDevice, base: str) -> Value:
    """By the queue; kernels before 4.7 tell it of SCSI disks only (Documentation/scsi: cache_type)."""
    cache_mode = d.queue.write_cache
    if is_present(cache_mode):
        return cache_mode.strip()
    for path in host.glob_paths(f"{base}/device/scsi_disk/*/cache_type"):
        return host.read_word(path)
    return cache_mode


def _median_read_ns_of_peers(host: Host, d: BlockDevice) -> Value:
    """The median of the mean read times, in ns, of at least two other disks of its model."""
    waits = host.compute_once(_read_ns_by_model).get(d.model if is_present(d.model) else "", [])
    others = sorted(wait for name, wait in waits if name != d.name)
    return (
        others[len(others) // 2]
        if len(others) >= 2
        else Absent("no two other disks of its model", "unsupported")
    )


def _read_ns_by_model(host: Host) -> dict[str, list[tuple[str, float]]]:
    waits: dict[str, list[tuple[str, float]]] = {}
    for d in block_devices(host).values():
        if is_present(d.model) and d.model and not d.parent and not d.slaves:
            wait = _mean_request_ns(host, d.name, "read")
            if is_present(wait):
                waits.setdefault(d.model, []).append((d.name, wait))
    return waits


def _ata_port_value(host: Host, d: BlockDevice, name: str, factor: float | None = None) -> Value:
    value = field_value(ata_port(host, d.path), name)
    if value is None or (value == 0.0 and name == "controller"):
        return Absent("the SATA port does not report it")
    return value if factor is None or isinstance(value, Absent) else value * factor


def _mean_request_ns(host: Host, name: str, direction: str) -> Value:
    """Mean time of a request since boot, in ns."""
    counters = host.compute_once(disk_counters)
    if isinstance(counters, Absent):
        return counters
    disk = counters.get(name)
    if disk is None:
        return Absent(f"/proc/diskstats has no {name}")
    count, wait = (disk.reads, disk.read_wait_s) if direction == "read" else (disk.writes, disk.write_wait_s)
    return wait / count * 1e9 if count >= 1000 else Absent(f"{name} has served too few requests")


def _requests_in_flight(host: Host, name: str) -> Value:
    counters = host.compute_once(disk_counters)
    if isinstance(counters, Absent):
        return counters
    return counters[name].in_flight if name in counters else Absent(f"/proc/diskstats has no {name}")


def partition_rows(host: Host) -> list[SubjectRow]:
    """One row per partition of a disk that tells its blocks; `start` in sectors of 512 bytes."""
    rows = []
    for d in block_devices(host).values():
        if d.parent and not is_emulated(d.model) and is_present(d.queue.physical_block_bytes):
            columns: dict[str, Value] = {
                "start": partial(host.read_integer, f"{d.path}/start"),
                "offset": partial(host.read_integer, f"{d.path}/alignment_offset"),
                "physical": d.queue.physical_block_bytes,
                "disk": d.parent,
            }
            rows.append(SubjectRow(d.name, columns, d.path))
    return rows


def mount_rows(host: Host) -> list[SubjectRow] | Absent:
    """One row per file system that is mounted, by device (bind mounts once). Shares are 0..1."""
    table = read_mounts(host)
    if isinstance(table, Absent):
        return table
    mounts: dict[tuple[str, str, str], Mount] = {}
    for mount in table:
        real = (
            mount.source.startswith("/dev/")
            or mount.fstype in NETWORK
            or mount.fstype in ("zfs", "btrfs", "tmpfs")
        )
        if real:
            key = (mount.source, mount.fstype, mount.mountpoint if mount.fstype == "tmpfs" else "")
            mounts.setdefault(key, mount)
    return [_mount_row(host, mount) for mount in mounts.values()]


def _io_size_of_device(host: Host, mount: Mount, name: str) -> Value:
    """What the device asks requests to be multiples of, in bytes: chunk and full stripe of an array
    (Documentation/ABI/stable/sysfs-block).
    """
    device = device_behind(host, mount.source)
    return device if isinstance(device, Absent) else host.read_integer(f"/sys/block/{device}/queue/{name}")


def _mount_row(host: Host, mount: Mount) -> SubjectRow:
    def option_value(name: str) -> Value:
        return next((o.partition("=")[2] for o in mount.options if o.split("=", 1)[0] == name), "")

    device = partial(device_behind, host, mount.source)

    def is_rotational(name: Value) -> Value:
        devices = block_devices(host)
        if isinstance(name, Absent):
            return name
        return devices[name].rotational if name in devices else Absent("no disk is known")

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
            "asked_read_only": lambda: _is_option_in_fstab(host, mount, "ro"),
            "in_fstab": lambda: _fstab_options(host, mount) is not None,
            "sync": "sync" in mount.options,
            "dirsync": "dirsync" in mount.options,
            "data": option_value("data"),
            "barrier": "nobarrier" not in mount.options and "barrier=0" not in mount.options,
            "atime": "strictatime" in mount.options or not {"noatime", "relatime", "ro"} & set(mount.options),
            "logbsize": option_value("logbsize"),
            **{f"has_{name}": option_value(name) for name in ("sunit", "swidth")},
            "chunk": lambda: _io_size_of_device(host, mount, "minimum_io_size"),
            "full_stripe": lambda: _io_size_of_device(host, mount, "optimal_io_size"),
            "devno": mount.devno or Absent("mountinfo was not captured", "captured"),
            "remote_read_ahead": lambda: _kib_to_bytes(
                host.read_integer(f"/sys/class/bdi/{mount.devno}/read_ahead_kb")
            ),
            "rsize": option_value("rsize"),
            "wsize": option_value("wsize"),
            "vers": option_value("vers") or option_value("nfsvers"),
            "proto": option_value("proto"),
            "soft": "soft" in mount.options,
            "actimeo0": "noac" in mount.options or option_value("actimeo") == "0",
            "used": lambda: _space_quantity(host, mount, "space"),
            "inodes": lambda: _space_quantity(host, mount, "inodes"),
            "free": lambda: _space_quantity(host, mount, "free"),
            "size": lambda: _space_quantity(host, mount, "size"),
            "rotational": lambda: is_rotational(device()),
            "device": device,
            "disk": lambda: _disk_or_only_one_below(host, device()),
            "errors": lambda: _ext4_errors(host, device()),
            "log_device": option_value("logdev"),
            "log_rotational": lambda: is_rotational(device_behind(host, option_value("logdev"))),
        },
    )


def _disk_or_only_one_below(host: Host, device: Value) -> Value:
    """The disk of a partition, or of what is built on exactly one."""
    devices = block_devices(host)
    while (
        is_present(device)
        and device in devices
        and (devices[device].parent or len(devices[device].slaves) == 1)
    ):
        device = devices[device].parent or devices[device].slaves[0]
    return device if isinstance(device, Absent) or device in devices else Absent(f"{device} is not known")


def _fstab_options(host: Host, mount: Mount) -> tuple[str, ...] | None:
    place = mount.mountpoint.rstrip("/") or "/"
    return next((options for directory, options in fstab_entries(host) if directory == place), None)


def _is_option_in_fstab(host: Host, mount: Mount, option: str) -> Value:
    asked, text = _fstab_options(host, mount), host.read_file_text("/etc/fstab")
    if asked is not None:
        return option in asked
    unsaid = Absent(f"{mount.mountpoint} is not in /etc/fstab", "unsupported")
    return text if isinstance(text, Absent) else unsaid


def _space_quantity(host: Host, mount: Mount, quantity: str) -> Value:
    """Of what ordinary users may have; `free` and `size` in bytes. A file system without a number of inodes has no such
    share.
    """
    space = host.read_statvfs(mount.mountpoint)
    if isinstance(space, Absent):
        return space
    if quantity == "free":
        return space.f_bavail * space.f_frsize
    if quantity == "inodes":
        if not space.f_files or mount.fstype in ("btrfs", "zfs", "vfat", "exfat", "ntfs3", "fuseblk"):
            return Absent(f"{mount.fstype} has no fixed number of inodes", "unsupported")
        return 1 - space.f_ffree / space.f_files
    used = space.f_blocks - space.f_bfree
    usable = used + space.f_bavail
    if quantity == "size":
        return usable * space.f_frsize
    return used / usable if usable > 0 else Absent(f"{mount.mountpoint} reports no size", "unsupported")


def _ext4_errors(host: Host, device: Value) -> Value:
    if isinstance(device, Absent):
        return device
    return host.read_integer(f"/sys/fs/ext4/{device}/errors_count")


def smart_rows(host: Host) -> list[SubjectRow] | Absent:
    """One row per physical disk; what smartctl did not tell is absent with its reason. Shares are 0..1."""
    return [
        SubjectRow(
            name,
            # absent where the disk could not be asked: then nothing is known, which is not "it does not tell"
            {"name": name, "silent": report if isinstance(report, Absent) else False}
            | {
                field: report if isinstance(report, Absent) else getattr(report, field)
                for field in SmartHealth.__struct_fields__
            },
        )
        for name, report in host.compute_once(smart_reports).items()
    ]
