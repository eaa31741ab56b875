"""Block devices, arrays and what lies below them."""

import struct

import pytest

from hostdx.probes.system.disk.arrays import parse_thin_status, thin_pool_under
from hostdx.probes.system.disk.backing import disks_beneath, served_by_memory_reason
from hostdx.probes.system.disk.block import block_devices
from hostdx.probes.system.disk.drive.ebs import COUNTED, FIELDS, MAGIC, parse_ebs_log_page
from hostdx.probes.system.network.nic import read_nics
from hostdx.probes.types import Absent, is_present
from tests.every_case import every_case
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


VIRTUAL = "/sys/devices/virtual/block"
# Lines of `dmsetup status` as Documentation/admin-guide/device-mapper/thin-provisioning.rst describes them.
POOL = "0 409600 thin-pool 1 118/1024 2600/3200 - rw no_discard_passdown queue_if_no_space - 1024"


@every_case(
    ("line", "parsed"),
    [
        (POOL, (2600 / 3200, 118 / 1024, "rw")),
        (POOL.replace(" rw ", " out_of_data_space "), (2600 / 3200, 118 / 1024, "out_of_data_space")),
        ("0 409600 thin-pool Fail", None),
        ("0 409600 thin-pool 1 0/0 0/0 - rw", None),
        ("0 409600 linear", None),
        ("", None),
    ],
)
def test_a_pools_status(line: str, parsed: tuple[float, float, str] | None) -> None:
    assert parse_thin_status(line) == parsed


def thin_stack(tree: Tree) -> Tree:
    """LVM's stack: thin volume, its pool, the pool's data and metadata volumes."""
    names = {
        "dm-3": ("vg-thin", ""),
        "dm-2": ("vg-pool-tpool", "-tpool"),
        "dm-1": ("vg-pool_tdata", "-tdata"),
    }
    for number, (name, (label, suffix)) in enumerate(names.items()):
        path = f"{VIRTUAL}/{name}"
        tree.disk(path, f"253:{3 - number}").files(path, dm__uuid=f"LVM-abc{suffix}", dm__name=label)
    for upper, lower in (("dm-3", "dm-2"), ("dm-2", "dm-1")):
        tree.link(f"{VIRTUAL}/{upper}/slaves/{lower}", f"../../{lower}")
    return tree


def test_a_pool_whose_fill_cannot_be_read_is_not_taken_for_empty(tree: Tree) -> None:
    pool = thin_pool_under(thin_stack(tree).host(), "dm-3")
    assert pool is not None and isinstance(pool.data, Absent) and isinstance(pool.metadata, Absent)
    failed = thin_pool_under(
        tree.put("/sos_commands/dm/dmsetup_status", "vg-pool-tpool: 0 1 thin-pool Fail\n").host(), "dm-3"
    )
    assert failed is not None and isinstance(failed.data, Absent) and "Fail" in failed.data.reason


CARD = "/sys/devices/pci0000:00/0000:00:01.1/0000:02:00.0"


def add_interface(tree: Tree, path: str, **files: str | int) -> Tree:
    name = path.rsplit("/", 1)[-1]
    tree.files(path, **({"ifindex": 2, "type": 1, "mtu": 1500, "operstate": "up"} | files))
    return tree.link(f"/sys/class/net/{name}", f"../../..{path}")


def test_a_tree_without_the_links_between(tree: Tree) -> None:
    add_interface(tree, f"{CARD}/net/eth0", speed=1000).put(f"{CARD}/uevent", "DRIVER=igb\nPCI_CLASS=20000\n")
    card = read_nics(tree.host())["eth0"]
    assert (card.physical, card.driver, card.bus) == (True, "igb", "0000:02:00.0")


def test_software_is_no_card(tree: Tree) -> None:
    add_interface(tree, "/sys/devices/virtual/net/bond0", lower_eth0__x=0, uevent="DEVTYPE=bond")
    add_interface(tree, "/sys/devices/virtual/net/lo", type=772)
    tree.put("/sys/class/net/bonding_masters", "bond0")
    nics = read_nics(tree.host())
    assert sorted(nics) == ["bond0", "lo"]
    assert (nics["bond0"].physical, nics["bond0"].kind, nics["bond0"].below) == (False, "bond", ("eth0",))
    assert nics["lo"].kind == "loopback"


BACKING_DISK = "/sys/devices/pci0000:00/0000:00:1f.2/ata1/host0/target0:0:0/0:0:0:0/block/sda"
MOUNTS = """20 1 8:1 / / rw shared:1 - ext4 /dev/sda1 rw
21 20 7:0 / /loop rw shared:1 - ext4 /dev/loop0 rw
22 20 0:30 / /mem rw shared:1 - tmpfs tmpfs rw
"""


def host_with(tree: Tree, **loops: tuple[str, int]) -> Tree:
    """Loop devices by name: (backing file, direct I/O)."""
    tree.put("/proc/self/mountinfo", MOUNTS)
    tree.disk(BACKING_DISK).partition(BACKING_DISK, 1, "8:1")
    for number, (name, (file, dio)) in enumerate(loops.items()):
        tree.disk(f"/sys/devices/virtual/block/{name}", f"7:{number}")
        tree.files(f"/sys/devices/virtual/block/{name}/loop", backing_file=file, dio=dio)
    return tree


@pytest.mark.parametrize(
    ("loops", "leaves", "guilty"),
    [
        ({"loop0": ("/images/a.img", 0)}, ("loop0",), "loop0"),
        ({"loop0": ("/images/a.img", 0)}, ("sda", "loop0"), "loop0"),
        ({"loop0": ("/images/a.img", 1)}, ("loop0",), ""),
        ({"loop0": ("/images/a.img", 0), "loop1": ("/loop/b.img", 1)}, ("loop1",), "loop0"),
        ({"loop0": ("/images/a.img", 1), "loop1": ("/loop/b.img", 1)}, ("loop1", "sda"), ""),
        ({"loop0": ("/mem/a.img", 1)}, ("loop0",), "tmpfs"),
        ({"loop0": ("", 0)}, ("loop0",), "loop0"),
        ({"loop0": ("/images/a.img", 0)}, ("sda",), ""),
        ({}, ("sda", "zram0"), "zram0"),
        ({}, ("ram1",), "ram1"),
    ],
)
def test_the_whole_stack_is_looked_through_for_a_loop_without_direct_io(
    tree: Tree, loops: dict[str, tuple[str, int]], leaves: tuple[str, ...], guilty: str
) -> None:
    reason = served_by_memory_reason(host_with(tree, **loops).host(), leaves)
    assert guilty in reason and bool(reason) == bool(guilty)


@pytest.mark.parametrize(
    ("loops", "leaves", "beneath"),
    [
        ({"loop0": ("/images/a.img", 1)}, ("loop0",), ("sda",)),
        ({"loop0": ("/images/a.img", 1)}, ("sda", "loop0"), ("sda",)),
        ({"loop0": ("/images/a.img", 1), "loop1": ("/loop/b.img", 1)}, ("loop1",), ("sda",)),
        ({"loop0": ("/images/a.img", 0), "loop1": ("/loop/b.img", 1)}, ("loop1",), ("loop0",)),
        ({"loop0": ("/mem/a.img", 1)}, ("loop0",), ("loop0",)),
        ({"loop0": ("", 1)}, ("loop0",), ("loop0",)),
    ],
)
def test_what_goes_through_a_loop_with_direct_io_shows_on_the_disk_of_its_file(
    tree: Tree, loops: dict[str, tuple[str, int]], leaves: tuple[str, ...], beneath: tuple[str, ...]
) -> None:
    assert disks_beneath(host_with(tree, **loops).host(), leaves) == beneath


PAGE = FIELDS.pack(MAGIC, 0, 11, 12, 13, 14, 15, 16, 2_500_000, 300_000, 0, 40_000).ljust(4096, b"\0")


def test_the_four_times_are_seconds() -> None:
    assert parse_ebs_log_page(PAGE) == dict(zip(COUNTED, (2.5, 0.3, 0.0, 0.04), strict=True))
    assert struct.unpack_from("<Q", PAGE, 56) == (2_500_000,)  # where nvme-cli's struct has it


def test_what_is_no_such_page_is_absent() -> None:
    assert isinstance(parse_ebs_log_page(b"\0" * 4096), Absent)
    assert isinstance(parse_ebs_log_page(PAGE[:40]), Absent)
