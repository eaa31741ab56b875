"""Block devices in every attachment that we know, told by small trees of their sysfs paths."""

from __future__ import annotations

import pytest

from probes.system.disk.block import block_devices, device_name, list_layers, list_leaves
from probes.types import Absent, is_present
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


@pytest.mark.parametrize("fabric", ["tcp", "rdma", "fc", "loop"])
def test_nvme_over_fabrics_is_not_local(tree: Tree, fabric: str) -> None:
    folder = "/sys/devices/virtual/nvme-fabrics/ctl/nvme1"
    tree.files(folder, transport=fabric, model="Linux   ").disk(f"{folder}/nvme1n1")
    device = block_devices(tree.host())["nvme1n1"]
    assert (device.transport, device.model, device.paths) == (f"nvme-{fabric}", "Linux", ("nvme1",))
    assert isinstance(device.link, Absent)


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


@pytest.mark.parametrize("flag", [0, 1])
def test_a_real_disk_does(tree: Tree, flag: int) -> None:
    tree.disk(f"{PCI}/ata1/host0/{DISK}", rotational=flag).files(
        f"{PCI}/ata1/host0/{DISK}/device", model="WDC WD800JD-00MS"
    )
    assert block_devices(tree.host())["sda"].rotational is bool(flag)


def test_raid_controllers_say_rotational_for_flash(tree: Tree) -> None:
    tree.files(f"{PCI}/host4/scsi_host/host4", proc_name="megaraid_sas")
    host = tree.disk(f"{PCI}/host4/target4:0:0/4:0:0:0/block/sda", rotational=1).host()
    assert isinstance(block_devices(host)["sda"].rotational, Absent)


def test_fields_of_a_disk_and_its_partition(tree: Tree) -> None:
    disk = f"{PCI}/ata1/host0/{DISK}"
    tree.disk(disk, "8:0", scheduler="none [mq-deadline] kyber bfq", nr_requests=32, write_cache="write back")
    tree.files(f"{disk}/device", model="KINGSTON SH103S3  ", queue_depth=31).files(PCI, numa_node=1)
    tree.files(f"{disk}/queue", discard_max_bytes=2147450880, discard_granularity=512, wbt_lat_usec=2000)
    tree.files(f"{disk}/mq", **{"0__nr_tags": 31, "1__nr_tags": 31})
    devices = block_devices(tree.partition(disk, 2, "8:2").host())
    sda, part = devices["sda"], devices["sda2"]
    assert (sda.devno, sda.kind, sda.size_bytes, sda.model) == ("8:0", "disk", 2048 * 512, "KINGSTON SH103S3")
    assert (sda.scheduler, sda.schedulers) == ("mq-deadline", ("none", "mq-deadline", "kyber", "bfq"))
    assert (sda.queue.nr_requests, sda.queue.hw_queues, sda.queue.device_queue_depth) == (32, 2, 31)
    assert (sda.queue.discard_max_bytes, sda.queue.wbt_lat_usec, sda.queue.write_cache) == (
        2147450880,
        2000,
        "write back",
    )
    assert sda.numa_node == 1
    assert (part.kind, part.parent, part.size_bytes, part.devno) == ("partition", "sda", 1024 * 512, "8:2")
    assert (part.transport, part.queue) == ("sata", sda.queue)


def test_what_the_firmware_does_not_know_is_no_node(tree: Tree) -> None:
    host = tree.disk(f"{PCI}/ata1/host0/{DISK}").files(PCI, numa_node=-1).host()
    node = block_devices(host)["sda"].numa_node
    assert isinstance(node, Absent) and "-1" in node.reason


@pytest.mark.parametrize(
    ("text", "active"), [("[none]", "none"), ("none", "none"), ("noop deadline [cfq]", "cfq")]
)
def test_schedulers_of_all_ages(tree: Tree, text: str, active: str) -> None:
    assert (
        block_devices(tree.disk(f"{PCI}/ata1/host0/{DISK}", scheduler=text).host())["sda"].scheduler == active
    )


def virtual(tree: Tree, name: str, devno: str, *slaves: str, uuid: str = "", label: str = "") -> str:
    path = f"/sys/devices/virtual/block/{name}"
    tree.disk(path, devno)
    if uuid:
        tree.files(path, dm__uuid=uuid, dm__name=label)
    for slave in slaves:
        tree.link(f"{path}/slaves/{slave.rsplit('/', 1)[-1]}", f"../../../../..{slave}")
    return path


def test_stacks_down_to_their_leaves(tree: Tree) -> None:
    """An encrypted volume on LVM on an array of a partition and a multipath disk, and a plain loop device."""
    a = f"{PCI}/ata1/host0/{DISK}"
    b, c = (f"{PCI}/host1/rport-1:0-{n}/target1:0:{n}/1:0:{n}:0/block/sd{'bc'[n]}" for n in (0, 1))
    for path, devno in ((a, "8:0"), (b, "8:16"), (c, "8:32")):
        tree.disk(path, devno)
    tree.partition(a, 1, "8:1")
    mpath = virtual(tree, "dm-0", "253:0", b, c, uuid="mpath-3600508b4", label="mpatha")
    array = virtual(tree, "md0", "9:0", f"{a}/sda1", mpath)
    volume = virtual(tree, "dm-1", "253:1", array, uuid="LVM-abc", label="vg-scratch")
    virtual(tree, "dm-2", "253:2", volume, uuid="CRYPT-LUKS2-123-crypt", label="crypt")
    virtual(tree, "loop0", "7:0")
    tree.files("/sys/devices/virtual/block/loop0", loop__backing_file="/var/disk.img")
    host = tree.host()
    devices = block_devices(host)
    assert list_layers(devices, "dm-2") == ("dm-2", "dm-1", "md0", "dm-0", "sda1", "sdb", "sdc", "sda")
    assert list_leaves(devices, "dm-2") == ("sdb", "sdc", "sda")
    assert list_leaves(devices, "sda1") == ("sda",)
    assert list_layers(devices, "loop0") == list_leaves(devices, "loop0") == ("loop0",)
    assert list_leaves(devices, "not-there") == ("not-there",)
    devices = block_devices(host)
    assert [devices[n].kind for n in ("dm-0", "dm-1", "dm-2", "md0")] == ["multipath", "lvm", "crypt", "md"]
    assert devices["dm-1"].label == "vg-scratch"
    assert devices["loop0"].backing_file == "/var/disk.img"
    assert device_name(host, "8:1") == "sda1"
    assert isinstance(device_name(host, "8:99"), Absent)


def test_a_stack_that_goes_round_ends(tree: Tree) -> None:
    first = virtual(tree, "dm-0", "253:0", "/sys/devices/virtual/block/dm-1")
    virtual(tree, "dm-1", "253:1", first)
    assert list_layers(block_devices(tree.host()), "dm-0") == ("dm-0", "dm-1")
    assert list_leaves(block_devices(tree.host()), "dm-0") == ()


def test_an_empty_host_has_no_devices(tree: Tree) -> None:
    assert block_devices(tree.host()) == {}


def test_a_device_whose_files_are_gone_is_still_named(tree: Tree) -> None:
    """A disk that dies leaves its folder for a while, and reading fails."""
    tree.put(f"{PCI}/ata1/host0/{DISK}/uevent").link("/sys/block/sda", f"../../..{PCI}/ata1/host0/{DISK}")
    device = block_devices(tree.host())["sda"]
    assert device.transport == "sata" and isinstance(device.size_bytes, Absent) and device.devno == ""
