"""md arrays, thin pools, multipath, network cards."""

from __future__ import annotations

import pytest

from probes.reading.host import Host
from probes.system.disk.arrays import md_array, md_arrays, parse_thin_status, thin_pool
from probes.system.network.nic import read_nics
from probes.types import Absent, is_present
from tests.every_case import every_case
from tests.fakes.hosts.tree import Tree

VIRTUAL = "/sys/devices/virtual/block"
# Lines of `dmsetup status` as Documentation/admin-guide/device-mapper/thin-provisioning.rst describes them.
POOL = "0 409600 thin-pool 1 118/1024 2600/3200 - rw no_discard_passdown queue_if_no_space - 1024"


def array(tree: Tree, **files: str | int) -> Tree:
    return tree.disk(f"{VIRTUAL}/md0", "9:0").files(f"{VIRTUAL}/md0/md", **files)


def test_a_healthy_array(tree: Tree) -> None:
    array(
        tree,
        level="raid1",
        array_state="clean",
        degraded=0,
        sync_action="idle",
        sync_completed="none",
        raid_disks=2,
    )
    it = md_array(tree.host(), "md0")
    assert (it.level, it.state, it.disks, it.is_degraded, it.is_busy) == ("raid1", "clean", 2, False, False)
    assert isinstance(it.done, Absent)


def test_an_array_that_lacks_a_disk_and_rebuilds(tree: Tree) -> None:
    array(tree, level="raid5", degraded=1, sync_action="recover", sync_completed="250 / 1000")
    (it,) = md_arrays(tree.host())
    assert (it.is_degraded, it.is_busy, it.done, it.missing) == (True, True, 0.25, 1)


def test_an_array_without_redundancy_has_no_such_state(tree: Tree) -> None:
    it = md_array(array(tree, level="raid0", array_state="clean").host(), "md0")
    assert (it.is_degraded, it.is_busy) == (False, False) and isinstance(it.missing, Absent)


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


def thin(tree: Tree) -> Tree:
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


def test_the_pool_under_a_thin_volume(tree: Tree) -> None:
    status = f"vg-thin: 0 4096 thin 2048 4095\nvg-pool-tpool: {POOL}\nvg-pool_tdata: 0 409600 linear\n"
    host = thin(tree).put("/sos_commands/devicemapper/dmsetup_status", status).host()
    it = thin_pool(host, "dm-3")
    assert is_present(it) and it is not None
    assert (it.name, it.device, it.mode, it.data) == ("vg-pool-tpool", "dm-2", "rw", 2600 / 3200)
    assert thin_pool(host, "dm-1") is None


def test_a_pool_whose_fill_cannot_be_read_is_not_taken_for_empty(tree: Tree) -> None:
    it = thin_pool(thin(tree).host(), "dm-3")
    assert it is not None and isinstance(it.data, Absent) and isinstance(it.metadata, Absent)
    failed = thin_pool(
        tree.put("/sos_commands/dm/dmsetup_status", "vg-pool-tpool: 0 1 thin-pool Fail\n").host(), "dm-3"
    )
    assert failed is not None and isinstance(failed.data, Absent) and "Fail" in failed.data.reason


CARD = "/sys/devices/pci0000:00/0000:00:01.1/0000:02:00.0"


def interface(tree: Tree, path: str, **files: str | int) -> Tree:
    name = path.rsplit("/", 1)[-1]
    tree.files(path, **({"ifindex": 2, "type": 1, "mtu": 1500, "operstate": "up"} | files))
    return tree.link(f"/sys/class/net/{name}", f"../../..{path}")


def test_a_card(tree: Tree) -> None:
    interface(
        tree,
        f"{CARD}/net/eth0",
        speed=10000,
        **{"queues__rx-0__x": 0, "queues__rx-1__x": 0, "queues__tx-0__x": 0},
    )
    tree.link(f"{CARD}/net/eth0/device", "../..").link(f"{CARD}/driver", "../../../../bus/pci/drivers/ixgbe")
    it = read_nics(tree.files(CARD, numa_node=1).host())["eth0"]
    assert (it.physical, it.driver, it.bus, it.speed_mbit, it.mtu) == (
        True,
        "ixgbe",
        "0000:02:00.0",
        10000,
        1500,
    )
    assert (it.numa_node, it.queues_rx, it.kind) == (1, 2, "ethernet")


def test_a_tree_without_the_links_between(tree: Tree) -> None:
    interface(tree, f"{CARD}/net/eth0", speed=1000).put(f"{CARD}/uevent", "DRIVER=igb\nPCI_CLASS=20000\n")
    it = read_nics(tree.host())["eth0"]
    assert (it.physical, it.driver, it.bus) == (True, "igb", "0000:02:00.0")


def test_software_is_no_card(tree: Tree) -> None:
    interface(tree, "/sys/devices/virtual/net/bond0", lower_eth0__x=0, uevent="DEVTYPE=bond")
    interface(tree, "/sys/devices/virtual/net/lo", type=772)
    tree.put("/sys/class/net/bonding_masters", "bond0")
    found = read_nics(tree.host())
    assert sorted(found) == ["bond0", "lo"]
    assert (found["bond0"].physical, found["bond0"].kind, found["bond0"].below) == (False, "bond", ("eth0",))
    assert found["lo"].kind == "loopback"


@pytest.mark.parametrize("speed", [-1, 4294967295, 0])
def test_a_speed_that_is_none(tree: Tree, speed: int) -> None:
    assert isinstance(
        read_nics(interface(tree, f"{CARD}/net/eth0", speed=speed).host())["eth0"].speed_mbit, Absent
    )


def test_this_machine_has_its_loopback() -> None:
    assert read_nics(Host())["lo"].kind == "loopback"
