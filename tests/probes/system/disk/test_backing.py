"""What lies below a loop device: memory, or the disks that its traffic shows on."""

import pytest

from hostdx.probes.system.disk.backing import disks_beneath, served_by_memory_reason
from tests.fakes.hosts.tree import Tree

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
