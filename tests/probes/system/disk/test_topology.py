"""How file systems lie on devices: one value a host, which a mount that comes later does not change."""

from __future__ import annotations

from probes.system.disk.mounts import find_mount, read_mounts_now
from probes.system.disk.topology import find_placement, read_disk_topology
from probes.types import is_present
from tests.fakes.hosts.tree import Tree

DISK = "/sys/devices/pci0000:00/0000:00:1f.2/ata1/host0/target0:0:0/0:0:0:0/block/sda"
ROOT = "20 1 8:0 / / rw - ext4 /dev/sda rw\n"
DATA = "21 20 8:0 / /data rw - xfs /dev/sda rw\n"


def test_made_once_while_the_table_can_be_read_anew(tree: Tree) -> None:
    tree.put("/proc/self/mountinfo", ROOT).put(f"{DISK}/dev", "8:0").link("/sys/block/sda", DISK)
    host = tree.host()
    host.is_static = False
    first = read_disk_topology(host)
    tree.put("/proc/self/mountinfo", ROOT + DATA)
    placed, now = find_placement(host, "/data"), find_mount(read_mounts_now(host), "/data")
    assert read_disk_topology(host) is first
    assert is_present(placed) and (placed.mount.mountpoint, placed.leaves) == ("/", ("sda",))
    assert is_present(now) and now.mountpoint == "/data"


def test_a_device_that_sysfs_does_not_number_is_told_by_its_source(tree: Tree) -> None:
    tree.put("/proc/self/mountinfo", ROOT).put(f"{DISK}/size", "8").link("/sys/block/sda", DISK)
    disks = read_disk_topology(tree.host())
    assert is_present(disks.mounts) and disks.devices_directly_under(disks.mounts[0]) == ("sda",)
    assert disks.file_systems() == {"sda": ("ext4",)}
