"""Block devices: what they are, how they are attached, and how they are stacked on each other."""

import re
from collections.abc import Mapping
from typing import TypeAlias

import msgspec

from probes.host import Host, once
from probes.system.disk.drive.ata import ata_port
from probes.system.disk.drive.link import Link, device_node, pcie_link, sas_link, sata_link
from probes.system.disk.drive.transport import controllers, kind, transport, virtual
from probes.system.disk.drive.udev import udev_property
from probes.system.disk.queue import QueueLimits, queue_limits
from probes.system.disk.scheduler import bracketed
from probes.types import Absent, present

SECTOR_BYTES = 512  # sysfs counts in these whatever the device's own block is
SCSI_MODEL_LENGTH = 16  # INQUIRY data has no room for more; udev asks the drive itself
_IN_MEMORY = ("zram", "ram", "pmem")


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
    link: Link | Absent
    slaves: tuple[str, ...] = ()
    parent: str = ""
    label: str = ""  # the name that people know: the device-mapper name, the md name
    backing_file: str = ""  # of a loop device
    paths: tuple[str, ...] = ()  # controllers of an NVMe namespace
    read_only: bool = False


Devices: TypeAlias = Mapping[str, BlockDevice]


@once
def block_devices(host: Host) -> dict[str, BlockDevice]:
    """Every disk and partition by kernel name, read once. Hidden NVMe paths are left out."""
    found: dict[str, BlockDevice] = {}
    for name, path in _disk_folders(host):
        if host.text(f"{path}/hidden") == "1":
            continue
        disk = _disk(host, name, path)
        found[name] = disk
        for part in _partitions(host, disk):
            found[part.name] = part
    return found


def device_name(host: Host, devno: str) -> str | Absent:
    """The kernel name of a `major:minor`."""
    path = host.real(f"/sys/dev/block/{devno}")
    if present(path):
        return path.rsplit("/", 1)[-1]
    return next((d.name for d in block_devices(host).values() if d.devno == devno), path)


def layers(devices: Devices, name: str) -> tuple[str, ...]:
    """The device and everything under it, from the top to the leaves, each once. A loop device is a leaf."""
    order: dict[str, None] = {}
    level = [name]
    while level:  # ends even on a tree whose links go round: each name is followed once
        fresh = [n for n in level if n not in order]
        order.update(dict.fromkeys(fresh))
        level = [below for n in fresh for below in under(devices, n)]
    return tuple(order)


def leaves(devices: Devices, name: str) -> tuple[str, ...]:
    """The devices at the bottom: disks, and loop devices, whose file lies on another stack."""
    return tuple(n for n in layers(devices, name) if not under(devices, n))


def under(devices: Devices, name: str) -> tuple[str, ...]:
    """What a device is directly built on: a partition's disk, the slaves of LVM, md, dm-crypt, multipath."""
    device = devices.get(name)
    if device is None:
        return ()
    return (device.parent,) if device.parent else device.slaves


def _disk_folders(host: Host) -> list[tuple[str, str]]:
    """Names and real folders. Some captured trees hold a device in only one of the two places."""
    found: dict[str, str] = {}
    for place in ("/sys/block", "/sys/class/block"):
        names = host.listing(place)
        for name in names if present(names) else ():
            path = host.real(f"{place}/{name}")
            if name not in found and present(path) and not host.exists(f"{path}/partition"):
                found[name] = path
    return sorted(found.items())


def _disk(host: Host, name: str, path: str) -> BlockDevice:
    what = kind(host, name, path)
    how = transport(host, name, path, what)
    folders = controllers(host, path) if name.startswith("nvme") else ()
    model = _model(host, name, path, folders)
    listed = host.text(f"{path}/queue/scheduler")
    active, offered = (listed, ()) if isinstance(listed, Absent) else bracketed(listed)
    size = host.integer(f"{path}/size")
    slaves = host.listing(f"{path}/slaves")
    label = host.text(f"{path}/dm/name")
    backing = host.text(f"{path}/loop/backing_file")
    return BlockDevice(
        name=name,
        devno=_devno(host, path),
        path=path,
        kind=what,
        transport=how,
        model=model,
        size_bytes=size if isinstance(size, Absent) else size * SECTOR_BYTES,
        rotational=_rotational(host, path, what, how, model),
        scheduler=active,
        schedulers=offered,
        queue=queue_limits(host, path),
        numa_node=device_node(host, folders[0] if folders else path),
        link=_link(host, path, how, folders),
        slaves=slaves if present(slaves) and what != "loop" else (),
        label=label if present(label) else "",
        backing_file=backing if present(backing) else "",
        paths=tuple(n for folder in folders if (n := folder.rsplit("/", 1)[-1]).startswith("nvme")),
        read_only=host.text(f"{path}/ro") == "1",
    )


def _partitions(host: Host, disk: BlockDevice) -> list[BlockDevice]:
    names = host.listing(disk.path)
    parts = []
    for name in names if present(names) else ():
        path = f"{disk.path}/{name}"
        if not name.startswith(disk.name) or not host.exists(f"{path}/partition"):
            continue
        size = host.integer(f"{path}/size")
        changes = {
            "name": name,
            "devno": _devno(host, path),
            "path": path,
            "kind": "partition",
            "size_bytes": size if isinstance(size, Absent) else size * SECTOR_BYTES,
            "slaves": (),
            "parent": disk.name,
            "label": "",
            "read_only": host.text(f"{path}/ro") == "1",
        }
        parts.append(msgspec.structs.replace(disk, **changes))
    return parts


def _devno(host: Host, path: str) -> str:
    text = host.word(f"{path}/dev")
    return text if present(text) else ""


def _model(host: Host, name: str, path: str, folders: tuple[str, ...]) -> str | Absent:
    if "/ata" in path and present(port := ata_port(host, path)) and port.model:
        return port.model
    for source in (*(f"{folder}/model" for folder in folders), f"{path}/device/model"):
        text = host.text(source)
        if present(text) and text.strip():
            short = " ".join(text.split())
            full = len(text.strip()) >= SCSI_MODEL_LENGTH and udev_property(host, name, "ID_MODEL_ENC")
            return full if isinstance(full, str) and full.startswith(short) else short
    card = host.text(f"{path}/device/name") if "/mmc_host/" in path else Absent("no card")
    if present(card):
        return card.strip()
    return Absent(f"{name} reports no model", "unsupported", f"{path}/device/model")


def _rotational(host: Host, path: str, what: str, how: str | Absent, model: str | Absent) -> bool | Absent:
    """The flag, where it can be believed: virtio says 1 on flash, a loop device copies it from its file's."""
    source = f"{path}/queue/rotational"
    if what in _IN_MEMORY or how == "pmem" or (present(how) and how.startswith("nvme")):
        return False
    if virtual(how, model):
        return Absent(
            "a virtual disk: its rotational flag says nothing of what lies under it", "unsupported", source
        )
    if what == "loop":
        return Absent("a loop device only copies the flag of what lies under its file", "unsupported", source)
    flag = host.integer(source)
    if isinstance(flag, Absent):
        return flag
    if how == "raid" and flag:
        return Absent("RAID controllers say rotational for flash as well", "unsupported", source)
    slaves = host.listing(f"{path}/slaves")
    for slave in slaves if present(slaves) else ():
        under = host.real(f"/sys/class/block/{slave}")
        if isinstance(under, Absent):
            under = host.real(f"{path}/slaves/{slave}")
        if present(under) and re.search(r"/virtio\d+/|/vbd-|/VMBUS:|/loop\d+$", under):
            return Absent(f"built on {slave}, whose rotational flag says nothing", "unsupported", source)
    return bool(flag)


def _link(host: Host, path: str, how: str | Absent, folders: tuple[str, ...]) -> Link | Absent:
    if how == "nvme" and folders:
        controller = folders[0].rsplit("/", 1)[-1].startswith("nvme")
        device = host.real(f"{folders[0]}/device") if controller else folders[0]
        return pcie_link(host, device if present(device) else re.sub(r"/nvme/nvme\d+$", "", folders[0]))
    if how == "sata":
        return sata_link(host, path)
    if how == "sas":
        return sas_link(host, path)
    return Absent("its transport has no link that can be read", "unsupported", path)
