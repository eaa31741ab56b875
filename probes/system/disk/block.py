"""Block devices: what they are, how they are attached, and how they are stacked on each other.

The udev database, where it knows more than sysfs: live hosts only, and empty where no udevd runs (containers).
"""

import re
from collections.abc import Mapping
from typing import TypeAlias

import msgspec

from hostdx.probes.reading.host import Host, compute_once_per_host
from hostdx.probes.system.disk.drive.ata import ata_port
from hostdx.probes.system.disk.drive.link import BusLink, numa_node_of_device, pcie_link, sas_link, sata_link
from hostdx.probes.system.disk.drive.transport import (
    device_kind_of,
    is_virtual_disk,
    nvme_controller_folders,
    read_transport,
)
from hostdx.probes.system.disk.scheduler import parse_active_and_offered
from hostdx.probes.types import Absent, is_present


def read_udev_property(host: Host, name: str, key: str) -> str | Absent:
    """A property of the block device `name`, with udev's `\\x20` escapes undone."""
    source = f"udev {name} {key}"
    if not host.live:
        return Absent("a captured tree holds no udev database", "captured", source)
    try:
        import pyudev  # 17 ms, and it needs libudev.so.1, which slim containers lack

        value = pyudev.Devices.from_name(pyudev.Context(), "block", name).properties.get(key)
    except ImportError as error:
        return Absent(f"libudev is not installed: {error}", "tool", source)
    except Exception as error:  # pyudev raises errors of its own for a device that has just gone
        return Absent(f"udev has no device {name}: {type(error).__name__}", "missing", source)
    if not isinstance(value, str):
        return Absent(f"udev has no {key} of {name}", "missing", source)
    return " ".join(re.sub(r"\\x([0-9a-f]{2})", lambda match: chr(int(match[1], 16)), value).split())


SECTOR_BYTES = 512  # sysfs counts in these whatever the device's own block is
SCSI_MODEL_LENGTH = 16  # INQUIRY data has no room for more; udev asks the drive itself
_IN_MEMORY = ("zram", "ram", "pmem")


class QueueLimits(msgspec.Struct, frozen=True, kw_only=True):
    """`write_cache` is what the kernel believes, not what the drive does; `hw_queues` a count."""

    nr_requests: int | Absent
    max_sectors_kb: int | Absent
    read_ahead_kb: int | Absent
    logical_block_bytes: int | Absent
    physical_block_bytes: int | Absent
    discard_max_bytes: int | Absent
    discard_granularity_bytes: int | Absent
    write_cache: str | Absent
    wbt_lat_usec: int | Absent
    hw_queues: int | Absent
    device_queue_depth: int | Absent  # SCSI only; 1 on SATA means that NCQ is off


class BlockDevice(msgspec.Struct, frozen=True, kw_only=True):
    """`path` is the real sysfs folder, `parent` the disk of a partition, `slaves` what it is built on.

    A partition shows its disk's transport, model, queue and link.
    """

    name: str
    devno: str
    path: str
    kind: str
    transport: str | Absent
    model: str | Absent
    size_bytes: int | Absent
    rotational: bool | Absent
    scheduler: str | Absent
    schedulers: tuple[str, ...]
    queue: QueueLimits
    numa_node: int | Absent
    link: BusLink | Absent
    slaves: tuple[str, ...] = ()
    parent: str = ""
    label: str = ""  # the name that people know: the device-mapper name, the md name
    backing_file: str = ""  # of a loop device
    paths: tuple[str, ...] = ()  # controllers of an NVMe namespace
    read_only: bool = False


Devices: TypeAlias = Mapping[str, BlockDevice]


@compute_once_per_host
def block_devices(host: Host) -> dict[str, BlockDevice]:
    """Every disk and partition by kernel name, read once. Hidden NVMe paths are left out."""
    devices: dict[str, BlockDevice] = {}
    for name, path in _disk_names_and_folders(host):
        if host.read_file_text(f"{path}/hidden") == "1":
            continue
        disk = _read_disk(host, name, path)
        devices[name] = disk
        for part in _read_partitions(host, disk):
            devices[part.name] = part
    return devices


def device_name(host: Host, devno: str) -> str | Absent:
    """The kernel name of a `major:minor`."""
    path = host.resolve_path(f"/sys/dev/block/{devno}")
    if is_present(path):
        return path.rsplit("/", 1)[-1]
    return next((d.name for d in block_devices(host).values() if d.devno == devno), path)


def device_and_layers_below(devices: Devices, name: str) -> tuple[str, ...]:
    """The device and everything under it, from the top to the leaves, each once. A loop device is a leaf."""
    order: dict[str, None] = {}
    level = [name]
    while level:  # ends even on a tree whose links go round: each name is followed once
        fresh = [n for n in level if n not in order]
        order.update(dict.fromkeys(fresh))
        level = [below for n in fresh for below in devices_directly_below(devices, n)]
    return tuple(order)


def bottom_devices_of(devices: Devices, name: str) -> tuple[str, ...]:
    """The devices at the bottom: disks, and loop devices, whose file lies on another stack."""
    return tuple(n for n in device_and_layers_below(devices, name) if not devices_directly_below(devices, n))


def devices_directly_below(devices: Devices, name: str) -> tuple[str, ...]:
    """Return what a device is directly built on: a partition's disk, the slaves of LVM, md, dm-crypt, multipath."""
    device = devices.get(name)
    if device is None:
        return ()
    return (device.parent,) if device.parent else device.slaves


def _disk_names_and_folders(host: Host) -> list[tuple[str, str]]:
    """Names and real folders. Some captured trees hold a device in only one of the two places."""
    folders: dict[str, str] = {}
    for place in ("/sys/block", "/sys/class/block"):
        names = host.list_names(place)
        for name in names if is_present(names) else ():
            path = host.resolve_path(f"{place}/{name}")
            if name not in folders and is_present(path) and not host.path_exists(f"{path}/partition"):
                folders[name] = path
    return sorted(folders.items())


def _read_disk(host: Host, name: str, path: str) -> BlockDevice:
    disk_kind = device_kind_of(host, name, path)
    disk_transport = read_transport(host, name, path, disk_kind)
    folders = nvme_controller_folders(host, path) if name.startswith("nvme") else ()
    model = _read_model(host, name, path, folders)
    listed = host.read_file_text(f"{path}/queue/scheduler")
    active, offered = (listed, ()) if isinstance(listed, Absent) else parse_active_and_offered(listed)
    size = host.read_integer(f"{path}/size")
    slaves = host.list_names(f"{path}/slaves")
    label = host.read_file_text(f"{path}/dm/name")
    backing = host.read_file_text(f"{path}/loop/backing_file")
    return BlockDevice(
        name=name,
        devno=_read_devno_or_empty(host, path),
        path=path,
        kind=disk_kind,
        transport=disk_transport,
        model=model,
        size_bytes=size if isinstance(size, Absent) else size * SECTOR_BYTES,
        rotational=_read_believable_rotational(host, path, disk_kind, disk_transport, model),
        scheduler=active,
        schedulers=offered,
        queue=queue_limits(host, path),
        numa_node=numa_node_of_device(host, folders[0] if folders else path),
        link=_bus_link(host, path, disk_transport, folders),
        slaves=slaves if is_present(slaves) and disk_kind != "loop" else (),
        label=label if is_present(label) else "",
        backing_file=backing if is_present(backing) else "",
        paths=tuple(n for folder in folders if (n := folder.rsplit("/", 1)[-1]).startswith("nvme")),
        read_only=host.read_file_text(f"{path}/ro") == "1",
    )


def _read_partitions(host: Host, disk: BlockDevice) -> list[BlockDevice]:
    names = host.list_names(disk.path)
    parts = []
    for name in names if is_present(names) else ():
        path = f"{disk.path}/{name}"
        if not name.startswith(disk.name) or not host.path_exists(f"{path}/partition"):
            continue
        size = host.read_integer(f"{path}/size")
        changes = {
            "name": name,
            "devno": _read_devno_or_empty(host, path),
            "path": path,
            "kind": "partition",
            "size_bytes": size if isinstance(size, Absent) else size * SECTOR_BYTES,
            "slaves": (),
            "parent": disk.name,
            "label": "",
            "read_only": host.read_file_text(f"{path}/ro") == "1",
        }
        parts.append(msgspec.structs.replace(disk, **changes))
    return parts


def _read_devno_or_empty(host: Host, path: str) -> str:
    text = host.read_word(f"{path}/dev")
    return text if is_present(text) else ""


def _read_model(host: Host, name: str, path: str, folders: tuple[str, ...]) -> str | Absent:
    if "/ata" in path and is_present(port := ata_port(host, path)) and port.model:
        return port.model
    for source in (*(f"{folder}/model" for folder in folders), f"{path}/device/model"):
        text = host.read_file_text(source)
        if is_present(text) and text.strip():
            short = " ".join(text.split())
            full = len(text.strip()) >= SCSI_MODEL_LENGTH and read_udev_property(host, name, "ID_MODEL_ENC")
            return full if isinstance(full, str) and full.startswith(short) else short
    card = host.read_file_text(f"{path}/device/name") if "/mmc_host/" in path else Absent("no card")
    if is_present(card):
        return card.strip()
    return Absent(f"{name} reports no model", "unsupported", f"{path}/device/model")


def _read_believable_rotational(
    host: Host, path: str, disk_kind: str, disk_transport: str | Absent, model: str | Absent
) -> bool | Absent:
    """The flag, where it can be believed: virtio says 1 on flash, a loop device copies it from its file's."""
    source = f"{path}/queue/rotational"
    if (
        disk_kind in _IN_MEMORY
        or disk_transport == "pmem"
        or (is_present(disk_transport) and disk_transport.startswith("nvme"))
    ):
        return False
    if is_virtual_disk(disk_transport, model):
        return Absent(
            "a virtual disk: its rotational flag says nothing about the physical disk", "unsupported", source
        )
    if disk_kind == "loop":
        return Absent(
            "a loop device only copies the flag of the disk that holds its file", "unsupported", source
        )
    flag = host.read_integer(source)
    if isinstance(flag, Absent):
        return flag
    if disk_transport == "raid" and flag:
        return Absent("RAID controllers say rotational for flash as well", "unsupported", source)
    slaves = host.list_names(f"{path}/slaves")
    for slave in slaves if is_present(slaves) else ():
        under = host.resolve_path(f"/sys/class/block/{slave}")
        if isinstance(under, Absent):
            under = host.resolve_path(f"{path}/slaves/{slave}")
        if is_present(under) and re.search(r"/virtio\d+/|/vbd-|/VMBUS:|/loop\d+$", under):
            return Absent(f"built on {slave}, whose rotational flag says nothing", "unsupported", source)
    return bool(flag)


def _bus_link(host: Host, path: str, transport: str | Absent, folders: tuple[str, ...]) -> BusLink | Absent:
    if transport == "nvme" and folders:
        controller = folders[0].rsplit("/", 1)[-1].startswith("nvme")
        device = host.resolve_path(f"{folders[0]}/device") if controller else folders[0]
        return pcie_link(host, device if is_present(device) else re.sub(r"/nvme/nvme\d+$", "", folders[0]))
    if transport == "sata":
        return sata_link(host, path)
    if transport == "sas":
        return sas_link(host, path)
    return Absent("its transport has no link that can be read", "unsupported", path)


def queue_limits(host: Host, sysfs_folder: str) -> QueueLimits:
    """Of the disk at the sysfs folder `sysfs_folder`."""
    queue = f"{sysfs_folder}/queue"
    names = host.list_names(f"{sysfs_folder}/mq")
    return QueueLimits(
        nr_requests=host.read_integer(f"{queue}/nr_requests"),
        max_sectors_kb=host.read_integer(f"{queue}/max_sectors_kb"),
        read_ahead_kb=host.read_integer(f"{queue}/read_ahead_kb"),
        logical_block_bytes=host.read_integer(f"{queue}/logical_block_size"),
        physical_block_bytes=host.read_integer(f"{queue}/physical_block_size"),
        discard_max_bytes=host.read_integer(f"{queue}/discard_max_bytes"),
        discard_granularity_bytes=host.read_integer(f"{queue}/discard_granularity"),
        write_cache=host.read_file_text(f"{queue}/write_cache"),
        wbt_lat_usec=host.read_integer(f"{queue}/wbt_lat_usec"),
        hw_queues=names if isinstance(names, Absent) else len(names),
        device_queue_depth=host.read_integer(f"{sysfs_folder}/device/queue_depth"),
    )
