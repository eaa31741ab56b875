"""md arrays, thin pools, multipath, network cards."""

from hostdx.probes.system.disk.arrays import parse_thin_status, thin_pool
from hostdx.probes.system.network.nic import read_nics
from hostdx.probes.types import Absent
from tests.every_case import every_case
from tests.fakes.hosts.tree import Tree

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
    pool = thin_pool(thin_stack(tree).host(), "dm-3")
    assert pool is not None and isinstance(pool.data, Absent) and isinstance(pool.metadata, Absent)
    failed = thin_pool(
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
