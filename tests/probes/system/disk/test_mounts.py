"""Mounts and what a network file system moves."""

import os

from hypothesis import given
from hypothesis import strategies as st

from hostdx.probes.system.disk.mounts import (
    find_mount,
    find_visible_mount,
    nfs_bytes_since_mount,
    parse_mountinfo,
    parse_mtab_line,
    read_mounts,
    unescape_mount_text,
)
from hostdx.probes.system.disk.topology import find_placement
from hostdx.probes.types import is_present
from tests.fakes.hosts.tree import Tree

DISK = "/sys/devices/pci0000:00/0000:00:1f.2/ata1/host0/target0:0:0/0:0:0:0/block/sda"
ROOT = "20 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw,errors=remount-ro"


def put_mounts(tree: Tree, *lines: str) -> Tree:
    return tree.put("/proc/self/mountinfo", "\n".join((ROOT, *lines)) + "\n")


def mount_of(tree: Tree, path: str) -> tuple[str, str]:
    mount = find_mount(read_mounts(tree.host()), path)
    assert is_present(mount), mount
    return mount.mountpoint, mount.source


@given(st.text(max_size=60))
def test_no_line_raises(line: str) -> None:
    parse_mountinfo(line)
    parse_mtab_line(line, 1)
    unescape_mount_text(line)


def test_octal_escapes(tree: Tree) -> None:
    put_mounts(tree, r"30 20 8:17 / /mnt/a\040b\011c\134d rw - xfs /dev/sdb1 rw")
    assert mount_of(tree, "/mnt/a b\tc\\d/file")[0] == "/mnt/a b\tc\\d"


def test_a_mount_point_that_is_no_utf_8_is_the_path_that_can_be_opened(tree: Tree) -> None:
    raw = rb"30 20 8:17 / /mnt/r\xe9s\134xe9 rw - xfs /dev/sdb1 rw".replace(rb"\xe9", b"\xe9", 1)
    tree.put("/proc/self/mountinfo", ROOT.encode() + b"\n" + raw + b"\n")
    path = os.fsdecode(b"/mnt/r\xe9s\\xe9")
    assert mount_of(tree, path + "/file")[0] == path
    assert mount_of(tree, "/mnt/r\\xe9s\\xe9")[0] == "/"  # a backslash in the name: another one


def test_a_table_that_goes_round_ends() -> None:
    line = "{} {} 8:1 / / rw - ext4 /dev/sda1 rw"
    rows = tuple(
        m for m in (parse_mountinfo(line.format(1, 2)), parse_mountinfo(line.format(2, 1))) if m is not None
    )
    assert len(rows) == 2 and find_visible_mount(rows, "/x") is None
    assert find_visible_mount((), "/x") is None


def test_only_proc_mounts_was_captured(tree: Tree) -> None:
    tree.put(
        "/proc/mounts",
        "rootfs / rootfs rw 0 0\n/dev/sda1 / ext3 rw,noatime 0 0\n/dev/sda2 /var\\040x ext3 rw 0 0\n",
    )
    host = tree.disk(DISK).partition(DISK, 2, "8:2").host()
    placement = find_placement(host, "/var x/spool")
    assert is_present(placement) and (placement.mount.fstype, placement.mount.devno, placement.device) == (
        "ext3",
        "",
        "sda2",
    )


def test_btrfs_over_several_devices(tree: Tree) -> None:
    """Its device number is anonymous: the source and /sys/fs/btrfs tell."""
    put_mounts(tree, "30 20 0:45 /home /home rw - btrfs /dev/sdb rw,subvolid=256,subvol=/home")
    for name, devno in (("sdb", "8:16"), ("sdc", "8:32")):
        path = DISK.replace("sda", name).replace("ata1", f"ata{name}")
        tree.disk(path, devno).link(f"/sys/fs/btrfs/0d1e-44/devices/{name}", f"../../../../../{path}")
    tree.put("/sys/fs/btrfs/features/x")
    placement = find_placement(tree.host(), "/home/user")
    assert is_present(placement) and (placement.device, placement.leaves) == ("sdb", ("sdb", "sdc"))


def test_btrfs_on_a_mapper_name(tree: Tree) -> None:
    put_mounts(tree, "30 20 0:45 / /home rw - btrfs /dev/mapper/vg-home rw")
    tree.disk("/sys/devices/virtual/block/dm-3", "253:3").files(
        "/sys/devices/virtual/block/dm-3", dm__name="vg-home"
    )
    placement = find_placement(tree.host(), "/home")
    assert is_present(placement) and placement.device == "dm-3"


STATS = """device /dev/sda1 mounted on / with fstype ext4
device srv:/home mounted on /home with fstype nfs4 statvers=1.1
\topts:\trw,vers=4.2
\tbytes:\t900 20 400 3 1000 23 1 1
\tRPC iostats version: 1.1  p/v: 100003/4 (nfs)
device srv:/data mounted on /data with fstype nfs4 statvers=1.1
\tbytes:\t0 0 0 0 5 0 0 0
device srv:/odd mounted on /odd with fstype nfs4 statvers=1.1
\tbytes:\t7
"""


def test_what_was_asked_of_the_servers_and_what_became_dirty(tree: Tree) -> None:
    assert nfs_bytes_since_mount(tree.host()) == 0
    tree.put("/proc/self/mountstats", STATS)
    assert nfs_bytes_since_mount(tree.host()) == 1000 + 20 + 3 + 5
