"""How a block device is attached, told by its real sysfs path: right on every kernel, unlike ID_BUS."""

import re

from hostdx.probes.reading.host import Host
from hostdx.probes.types import Absent

# The drivers of controllers that show a volume of theirs instead of the disks behind it.
_RAID_DRIVERS = (
    "megaraid",
    "aacraid",
    "hpsa",
    "smartpqi",
    "arcmsr",
    "3w-",
    "mpi3mr",
    "cciss",
    "ips",
    "isci-raid",
)
# What emulates a disk: its flags and names are made up.
VIRTUAL_TRANSPORTS = frozenset({"virtio", "virtio-scsi", "xen", "hyperv", "vmware"})
_EMULATED = re.compile(
    r"QEMU|VBOX|VMware|Virtual|Msft|EMULATED|KVM|Elastic Block Stor|PersistentDisk|nvme_card-pd",
    re.IGNORECASE,
)

# First match wins. A USB or SAS disk may carry an ATA name, so the bus comes before the protocol.
_BY_PATH: tuple[tuple[str, str], ...] = (
    (r"/virtio\d+/host\d+/", "virtio-scsi"),
    (r"/virtio\d+/", "virtio"),
    (r"/usb\d+/", "usb"),
    (r"/mmc_host/", "mmc"),
    (r"/ufshc|\.ufs/", "ufs"),
    (r"/session\d+/", "iscsi"),
    (r"/rport-\d+:", "fc"),
    (r"/end_device-\d+:", "sas"),
    (r"/vbd-\d+", "xen"),
    (r"/VMBUS:|/MSFT1000:|/vmbus", "hyperv"),
    (r"/nd\w*\d+/.*pmem|/pmem\d+$", "pmem"),
    (r"/devices/rbd/|/rbd\d+$", "rbd"),
    (r"/firewire|/fw\d+", "firewire"),
    (r"/ide\d+/", "ata"),
)
_BY_NAME: tuple[tuple[str, str], ...] = (
    ("loop", "loop"),
    ("zram", "zram"),
    ("ram", "ram"),
    ("dm-", "dm"),
    ("md", "md"),
    ("nbd", "nbd"),
    ("drbd", "drbd"),
    ("bcache", "bcache"),
    ("rbd", "rbd"),
    ("zd", "zvol"),
    ("sr", "rom"),
    ("fd", "floppy"),
)
_DM_KINDS = (
    ("LVM-", "lvm"),
    ("CRYPT-", "crypt"),
    ("mpath-", "multipath"),
    ("VDO-", "vdo"),
    ("DMRAID-", "raid"),
)


def device_kind_of(host: Host, name: str, sysfs_path: str) -> str:
    """Return what the device is: disk, loop, zram, ram, lvm, crypt, multipath, dm, md, rom, nbd, ..."""
    device_kind = next((word for start, word in _BY_NAME if name.startswith(start)), "disk")
    if device_kind != "dm":
        return device_kind
    uuid = host.read_file_text(f"{sysfs_path}/dm/uuid")
    if isinstance(uuid, Absent):
        return "dm"
    return next((word for start, word in _DM_KINDS if uuid.startswith(start)), "dm")


def read_transport(host: Host, name: str, sysfs_path: str, device_kind: str) -> str | Absent:
    """nvme (PCIe), nvme-tcp, nvme-rdma, nvme-fc, nvme-loop, sata, ata, sas, usb, iscsi, fc, mmc, virtio,
    virtio-scsi, xen, hyperv, vmware, raid, scsi, pmem, rbd; for what is no physical disk its kind.
    """
    if name.startswith("nvme"):
        return _nvme_transport(host, sysfs_path)
    if device_kind not in ("disk", "rom"):
        return device_kind
    for pattern, word in _BY_PATH:
        if re.search(pattern, sysfs_path):
            return word
    if ata := re.search(r"/ata(\d+)/", sysfs_path):
        return _libata_transport(host, sysfs_path[: ata.end()], ata[1])
    if scsi := re.search(r"/host(\d+)/", sysfs_path):
        return _transport_by_driver(host, sysfs_path[: scsi.end()], scsi[1])
    return Absent(f"{sysfs_path} shows no bus that is known", "unsupported", sysfs_path)


def is_emulated(model: str | Absent) -> bool:
    """True where the disk's name says that a hypervisor made it up."""
    return isinstance(model, str) and bool(_EMULATED.search(model))


def is_virtual_disk(transport_name: str | Absent, model: str | Absent) -> bool:
    """True for a hypervisor's or a cloud's disk, by its transport or its name."""
    return (isinstance(transport_name, str) and transport_name in VIRTUAL_TRANSPORTS) or is_emulated(model)


def nvme_controller_folders(host: Host, sysfs_path: str) -> tuple[str, ...]:
    """The sysfs folders of an NVMe namespace's controllers; several with native multipath.

    There the block device lies in nvme-subsystem/nvme-subsysN, which links to its controllers.
    """
    above = sysfs_path.rsplit("/", 1)[0]
    if "/nvme-subsystem/" not in sysfs_path:
        return (above.removesuffix("/block"),)  # kernel 3.x: the namespace lies right in the PCI device
    names = host.list_names(above)
    links = (f"{above}/{n}" for n in names if re.fullmatch(r"nvme\d+", n)) if isinstance(names, tuple) else ()
    real = (host.resolve_path(link) for link in links)
    return tuple(folder for folder in real if isinstance(folder, str))


def _nvme_transport(host: Host, path: str) -> str | Absent:
    for folder in nvme_controller_folders(host, path):
        text = host.read_file_text(f"{folder}/transport")
        if isinstance(text, str):
            return "nvme" if text.strip() == "pcie" else f"nvme-{text.strip()}"
    # Kernels before 4.15 have no such file, and PCIe was all they knew.
    if re.search(r"/pci[0-9a-f:]+/", path):
        return "nvme"
    return Absent(f"{path} names no controller", "missing", path)


def _libata_transport(host: Host, folder: str, number: str) -> str:
    """libata drives SATA and old parallel ATA ports; a parallel one has no SATA control registers."""
    driver = host.read_file_text(f"{folder}host{int(number) - 1}/scsi_host/host{int(number) - 1}/proc_name")
    if isinstance(driver, str) and (driver.startswith("pata_") or driver.strip() == "ata_generic"):
        return "ata"
    if isinstance(driver, str) and driver.strip() == "ata_piix" and not _has_sata_speed(host, folder, number):
        return "ata"  # it drives both; a parallel port has no speed to tell
    return "sata"


def _has_sata_speed(host: Host, folder: str, number: str) -> bool:
    for place in (f"{folder}link{number}/ata_link/link{number}", f"/sys/class/ata_link/link{number}"):
        text = host.read_file_text(f"{place}/sata_spd")
        if isinstance(text, str):
            return "Gb" in text
    return False


def _transport_by_driver(host: Host, folder: str, number: str) -> str:
    driver = host.read_file_text(f"{folder}scsi_host/host{number}/proc_name")
    if isinstance(driver, Absent):
        driver = host.read_file_text(f"/sys/class/scsi_host/host{number}/proc_name")
    name = driver.strip() if isinstance(driver, str) else ""
    if name.startswith(("ahci", "sata_")):
        return "sata"
    if name.startswith(("ata_", "pata_")):
        return "ata"
    if name.startswith("iscsi"):
        return "iscsi"
    if name in ("usb-storage", "uas"):
        return "usb"
    if name in ("vmw_pvscsi", "pvscsi"):
        return "vmware"
    if name.startswith("storvsc"):
        return "hyperv"
    if name.startswith(_RAID_DRIVERS):
        return "raid"
    return "scsi"
