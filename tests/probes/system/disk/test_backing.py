"""The disks below a loop device's backing file."""

from __future__ import annotations

from probes.system.disk.backing import below_words, disks_below
from probes.types import Absent
from tests.fakes.tree import Tree

DISK = "/sys/devices/pci0000:00/0000:00:1f.2/ata1/host0/target0:0:0/0:0:0:0/block/sda"
MOUNTS = """20 1 8:1 / / rw shared:1 - ext4 /dev/sda1 rw
21 20 7:0 / /loop rw shared:1 - ext4 /dev/loop0 rw
22 20 0:30 / /mem rw shared:1 - tmpfs tmpfs rw
"""


def host_with(tree: Tree, **loops: tuple[str, int]) -> Tree:
    """Loop devices by name: (backing file, direct I/O)."""
    tree.put("/proc/self/mountinfo", MOUNTS)
    tree.disk(DISK).partition(DISK, 1, "8:1")
    for number, (name, (file, dio)) in enumerate(loops.items()):
        tree.disk(f"/sys/devices/virtual/block/{name}", f"7:{number}")
        tree.files(f"/sys/devices/virtual/block/{name}/loop", backing_file=file, dio=dio)
    return tree


def test_a_cached_loop_is_followed_to_the_disk_below_its_file(tree: Tree) -> None:
    host = host_with(tree, loop0=("/images/a.img", 0)).host()
    assert disks_below(host, ("loop0",)) == ("sda",)
    assert below_words(host, ("loop0",), ("sda",)) == "sda, below the backing file of loop0"


def test_a_loop_in_a_loop_is_followed_to_the_end(tree: Tree) -> None:
    host = host_with(tree, loop0=("/images/a.img", 0), loop1=("/loop/b.img", 0)).host()
    assert disks_below(host, ("loop1", "sda")) == ("sda",)


def test_direct_loops_and_disks_are_checked_by_their_own_counters(tree: Tree) -> None:
    host = host_with(tree, loop0=("/images/a.img", 1)).host()
    assert disks_below(host, ("loop0",)) == ("loop0",)
    assert disks_below(host, ("sda",)) == ("sda",)
    assert below_words(host, ("loop0", "sda"), ("loop0", "sda")) == "the device"


def test_a_file_in_memory_or_unknown_is_absent_with_the_reason(tree: Tree) -> None:
    host = host_with(tree, loop0=("/mem/a.img", 0), loop1=("", 0)).host()
    memory, unknown = disks_below(host, ("loop0",)), disks_below(host, ("loop1",))
    assert isinstance(memory, Absent) and "loop0" in memory.reason
    assert isinstance(unknown, Absent) and unknown.reason != memory.reason
