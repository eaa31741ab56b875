"""Block devices in every attachment that we know, told by small trees of their sysfs paths."""

import pytest

from hostdx.probes.system.disk.block import block_devices
from hostdx.probes.types import Absent, is_present
from tests.fakes.hosts.tree import Tree

PCI = "/sys/devices/pci0000:00/0000:00:1f.2"
DISK = "target0:0:0/0:0:0:0/block/sda"
PATHS = [
    (f"{PCI}/ata1/host0/{DISK}", "sata"),
    (f"{PCI}/host0/port-0:0/end_device-0:0/{DISK}", "sas"),
    (f"{PCI}/host0/port-0:0/expander-0:0/port-0:0:5/end_device-0:0:5/{DISK}", "sas"),
    (f"{PCI}/usb2/2-1/2-1:1.0/host0/{DISK}", "usb"),
    (f"/sys/devices/platform/host0/session1/{DISK}", "iscsi"),
    (f"{PCI}/host0/rport-0:0-2/{DISK}", "fc"),
    (f"{PCI}/virtio1/block/vda", "virtio"),
    (f"{PCI}/virtio1/host0/{DISK}", "virtio-scsi"),
    ("/sys/devices/vbd-51712/block/xvda", "xen"),
    (f"/sys/devices/LNXSYSTM:00/VMBUS:01/00000000-0001/host0/{DISK}", "hyperv"),
    ("/sys/devices/pci0000:00/0000:00:1a.0/mmc_host/mmc0/mmc0:0001/block/mmcblk0", "mmc"),
    ("/sys/devices/LNXSYSTM:00/ACPI0012:00/ndbus0/region0/namespace0.0/block/pmem0", "pmem"),
    (f"{PCI}/nvme/nvme0/nvme0n1", "nvme"),
    ("/sys/devices/virtual/block/loop0", "loop"),
    ("/sys/devices/virtual/block/zram0", "zram"),
    ("/sys/devices/virtual/block/md127", "md"),
    ("/sys/devices/virtual/block/nbd0", "nbd"),
    ("/sys/devices/rbd/0/block/rbd0", "rbd"),
    (f"/sys/devices/LNXSYSTM:00/ACPI0004:00/MSFT1000:00/5620e0c7/host0/{DISK}", "hyperv"),
    ("/sys/devices/pci0000:00/0000:00:1f.1/ide0/0.0/block/hda", "ata"),
]


@pytest.mark.parametrize(("path", "transport"), PATHS)
def test_transport_by_path(tree: Tree, path: str, transport: str) -> None:
    devices = block_devices(tree.disk(path).host())
    assert [d.transport for d in devices.values()] == [transport]
    assert next(iter(devices.values())).path == path


@pytest.mark.parametrize(
    ("driver", "transport"),
    [
        ("ahci", "sata"),
        ("sata_nv", "sata"),
        ("ata_piix", "ata"),
        ("megaraid_sas", "raid"),
        ("smartpqi", "raid"),
        ("vmw_pvscsi", "vmware"),
        ("storvsc_host_t", "hyperv"),
        ("uas", "usb"),
        ("iscsi_tcp", "iscsi"),
        ("mpt3sas", "scsi"),
    ],
)
def test_transport_by_driver_where_the_path_does_not_tell(tree: Tree, driver: str, transport: str) -> None:
    """Kernels before 2.6.37 have no ata folders, hardware RAID never."""
    tree.files(f"{PCI}/host4/scsi_host/host4", proc_name=driver)
    host = tree.disk(f"{PCI}/host4/target4:0:0/4:0:0:0/block/sda").host()
    assert block_devices(host)["sda"].transport == transport


def test_native_multipath_goes_by_its_controllers(tree: Tree) -> None:
    """There the block device is virtual, and the hidden path devices must not show up as disks."""
    system = "/sys/devices/virtual/nvme-subsystem/nvme-subsys0"
    for number, pci in enumerate(("0000:41:00.0", "0000:81:00.0")):
        card = f"/sys/devices/pci0000:40/{pci}"
        tree.files(f"{card}/nvme/nvme{number}", transport="pcie", model="PM1733  ", numa_node=number)
        tree.files(card, current_link_speed="16.0 GT/s PCIe", current_link_width=4, max_link_width=4)
        tree.files(card, max_link_speed="16.0 GT/s PCIe", numa_node=number)
        tree.link(f"{card}/nvme/nvme{number}/device", "../..")
        tree.link(f"{system}/nvme{number}", f"../../../pci0000:40/{pci}/nvme/nvme{number}")
        tree.disk(f"{card}/nvme/nvme{number}/nvme0c{number}n1", f"259:{number + 1}")
        tree.files(f"{card}/nvme/nvme{number}/nvme0c{number}n1", hidden=1)
    devices = block_devices(tree.disk(f"{system}/nvme0n1", "259:0").host())
    assert list(devices) == ["nvme0n1"]
    disk = devices["nvme0n1"]
    assert (disk.transport, disk.model, disk.paths, disk.numa_node) == (
        "nvme",
        "PM1733",
        ("nvme0", "nvme1"),
        0,
    )
    assert is_present(disk.link) and disk.link.now == "16.0 GT/s x4"


def test_a_virtual_disk_does_not_tell_whether_it_rotates(tree: Tree) -> None:
    tree.disk(f"{PCI}/virtio1/block/vda", "254:0", rotational=1)
    tree.disk(f"{PCI}/ata1/host0/{DISK}", "8:0", rotational=1).files(
        f"{PCI}/ata1/host0/{DISK}/device", model="QEMU HARDDISK"
    )
    tree.disk("/sys/devices/virtual/block/loop0", "7:0", rotational=1)
    tree.disk("/sys/devices/virtual/block/dm-0", "253:0", rotational=1).link(
        "/sys/devices/virtual/block/dm-0/slaves/vda", f"../../../../..{PCI}/virtio1/block/vda"
    )
    tree.disk("/sys/devices/virtual/block/zram0", "252:0", rotational=1)
    devices = block_devices(tree.host())
    for name in ("vda", "sda", "loop0", "dm-0"):
        assert isinstance(devices[name].rotational, Absent), name
    assert devices["zram0"].rotational is False


def test_raid_controllers_say_rotational_for_flash(tree: Tree) -> None:
    tree.files(f"{PCI}/host4/scsi_host/host4", proc_name="megaraid_sas")
    host = tree.disk(f"{PCI}/host4/target4:0:0/4:0:0:0/block/sda", rotational=1).host()
    assert isinstance(block_devices(host)["sda"].rotational, Absent)
