"""The PCI devices that move data (disks, controllers, cards, accelerators), on which NUMA node, over which link."""

import re
from typing import Literal, TypeAlias

import msgspec

from hostdx.probes.reading.host import Host, compute_once_per_host
from hostdx.probes.system.disk.drive.link import BusLink, pcie_link
from hostdx.probes.system.nodes.numa import NumaTable, read_numa
from hostdx.probes.system.processor.topology import read_cpus
from hostdx.probes.types import Absent, is_present

DEVICES = "/sys/bus/pci/devices"
DeviceKind: TypeAlias = Literal["NVMe", "SATA", "RAID", "HBA", "virtio disk", "NIC", "GPU", "accelerator"]

# Class codes (first three bytes): PCI Code and ID Assignment Specification.
_KINDS: tuple[tuple[str, DeviceKind], ...] = (
    ("0108", "NVMe"),
    ("0101", "SATA"),  # IDE: SATA in its old mode
    ("0104", "RAID"),
    ("0106", "SATA"),
    ("01", "HBA"),  # SCSI, SAS
    ("02", "NIC"),
    ("0c04", "HBA"),  # Fibre Channel
    ("0c06", "NIC"),  # InfiniBand
    ("03", "GPU"),
    ("0b40", "accelerator"),  # co-processor (Xeon Phi)
    ("12", "accelerator"),
)
STORAGE: frozenset[DeviceKind] = frozenset({"NVMe", "SATA", "RAID", "HBA", "virtio disk"})
_VIRTIO = "0x1af4"
# ASPEED, Matrox G200 and virtual display adapters draw a console; nobody computes on them.
_CONSOLES = {"0x1a03", "0x102b", "0x1234", "0x1b36", "0x1013", "0x15ad"}
_FOLDERS = (
    "nvme",
    "net",
    "infiniband",
    "drm",
    "scsi_host",
    "fc_host",
)  # what a driver makes below the device
_BLOCKS = re.compile(r"(nvme\d+n\d+|sd[a-z]+|vd[a-z]+)$")


class PciDevice(msgspec.Struct, frozen=True, kw_only=True):
    """`names` are what the system calls it (`nvme0`, `eth0`); empty without a driver. `node` by the device itself or
    the nearest bridge above it that tells one. `virtual_function`: an SR-IOV share of a card.
    """

    address: str
    kind: DeviceKind
    names: tuple[str, ...]
    driver: str
    node: int | Absent
    link: BusLink | Absent
    virtual_function: bool = False


@compute_once_per_host
def read_pci_devices(host: Host) -> tuple[PciDevice, ...] | Absent:
    """In the order of their addresses; only the kinds above, graphics of a management controller left out."""
    names = host.list_names(DEVICES)
    if isinstance(names, Absent):
        return names
    table = read_numa(host)
    devices = (_read_device_of_known_kind(host, name, table) for name in names)
    return tuple(device for device in devices if device is not None)


def _read_device_of_known_kind(host: Host, address: str, table: NumaTable | Absent) -> PciDevice | None:
    code = host.read_file_text(f"{DEVICES}/{address}/class", 64)
    digits = code.strip().lower().removeprefix("0x") if is_present(code) else ""
    kind = next((kind for start, kind in _KINDS if digits.startswith(start)), None)
    if kind is None:
        return None
    real = host.resolve_path(f"{DEVICES}/{address}")
    folder = real if is_present(real) else f"{DEVICES}/{address}"
    driver, vendor = host.read_link(f"{folder}/driver"), host.read_file_text(f"{folder}/vendor", 64)
    if kind in STORAGE and is_present(vendor) and vendor.strip() == _VIRTIO:
        kind = "virtio disk"  # whatever class it bears
    if kind == "GPU" and digits.startswith("0300") and is_present(vendor) and vendor.strip() in _CONSOLES:
        return None
    return PciDevice(
        address=address,
        kind=kind,
        names=_names_of_what_it_drives(host, folder),
        driver=driver.rsplit("/", 1)[-1] if is_present(driver) else "",
        node=_find_numa_node(host, folder, table),
        link=pcie_link(host, folder),
        virtual_function=host.path_exists(f"{folder}/physfn"),
    )


def _names_of_what_it_drives(host: Host, folder: str) -> tuple[str, ...]:
    names: list[str] = []
    for name in _FOLDERS:
        listed = host.list_names(f"{folder}/{name}")
        if is_present(listed):
            names += [n for n in listed if not n.startswith(("renderD", "controlD", "version"))]
    disks = [path.rsplit("/", 1)[-1] for path in host.glob_paths(f"{folder}/nvme/nvme*/nvme*n*")]
    names += [name for name in disks if _BLOCKS.fullmatch(name)]
    disks_below = ("*/host*/target*/*/block/*", "host*/target*/*/block/*", "virtio*/block/*", "block/*")
    for path in (path for pattern in disks_below for path in host.glob_paths(f"{folder}/{pattern}")):
        names.append(path.rsplit("/", 1)[-1])
    for path in host.glob_paths(f"{folder}/virtio*/net/*"):
        names.append(path.rsplit("/", 1)[-1])
    return tuple(dict.fromkeys(names))


def _find_numa_node(host: Host, folder: str, table: NumaTable | Absent) -> int | Absent:
    """-1 means that the firmware (_PXM) does not tell. With one node there is nothing to tell."""
    if isinstance(table, Absent):
        return table
    if table.doubt:
        return Absent(table.doubt, "invalid", folder)
    numbers = {node.number for node in table.nodes}
    at = folder
    while at.startswith("/sys/devices/") and at.count("/") > 2:
        number = host.read_integer(f"{at}/numa_node")
        if is_present(number) and number in numbers:
            return number
        at = at.rpartition("/")[0]
    # Of a device without a node the kernel shows its bus's CPUs: all of them where nothing tells that either.
    online = frozenset().union(*(node.cpus for node in table.nodes))
    near = read_cpus(host, folder, "local_cpulist", "local_cpus")
    if is_present(near) and near and len(numbers) > 1:
        for node in table.nodes:
            if node.cpus and near & online == node.cpus:
                return node.number
    if len(numbers) == 1:
        return next(iter(numbers))
    return Absent("the firmware does not report the device's node", "unsupported", f"{folder}/numa_node")
