"""Which nodes are peers: by hardware, not by what a setting or a kernel decides."""

from __future__ import annotations

from probes.types import Json
from scenarios.analysis.compare.run_summary import FactKey
from scenarios.analysis.peers.node import fold_names, hardware_of

GIB = 1 << 30
FACTS: dict[FactKey, Json] = {
    ("cpu", "model"): "AMD EPYC 7451",
    ("cpu", "sockets"): 2,
    ("cpu", "threads"): 96,
    ("kernel", "release"): "6.1.0",
    ("memory", "total"): 251 * GIB,
    ("disk:sda", "kind"): "disk",
    ("disk:sda", "model"): "ST9250610NS",
    ("disk:sda", "size"): 250059350016,
    ("nic:eth0", "driver"): "igb",
    ("nic:eth0", "speed"): 1000,
}


def test_settings_kernels_and_device_names_make_no_other_hardware() -> None:
    other = {
        (subject.replace("sda", "sdb").replace("eth0", "eno1"), name): value
        for (subject, name), value in FACTS.items()
    }
    other |= {("cpu", "threads"): 48, ("kernel", "release"): "6.12.0", ("nic:eno1", "speed"): 100}
    other[("memory", "total")] = 248 * GIB  # a crash kernel
    assert hardware_of(other) == hardware_of(FACTS)


def test_cpus_modules_disks_and_cards_do() -> None:
    changes: list[dict[FactKey, Json]] = [
        {("cpu", "model"): "AMD EPYC 7551"},
        {("cpu", "sockets"): 1},
        {("memory", "total"): 188 * GIB},
        {("disk:sda", "model"): "another"},
        {("disk:sdb", "kind"): "disk", ("disk:sdb", "size"): 1},
        {("nic:eth0", "driver"): "ixgbe"},
    ]
    for change in changes:
        assert hardware_of(FACTS | change) != hardware_of(FACTS)


def test_wild_values_are_no_error() -> None:
    wild: dict[FactKey, Json] = {
        ("cpu", "model"): 7, ("memory", "total"): -1, ("cpu", "sockets"): "two", ("disk:x", "kind"): "disk",
        ("disk:x", "size"): ["a"], ("nic:", "driver"): "x",
    }  # fmt: skip
    assert hardware_of(wild)


def test_names_that_differ_in_a_number_alone_are_one_list() -> None:
    assert (
        fold_names(["node003", "node001", "node002", "node010", "gpu3", "login"])
        == "gpu3, login, node[001-003,010]"
    )
    assert fold_names(["w9.site.org", "w10.site.org", "w11.site.org"]) == "w9.site.org, w[10-11].site.org"
    assert fold_names(["a\nb7", "7", "node1"]) == "7, a\nb7, node1"


def test_sizes_are_those_of_modules_and_disks_as_they_are_sold() -> None:
    told = dict(
        hardware_of(
            {
                ("memory", "total"): 25276063744,
                ("disk:vda", "kind"): "disk",
                ("disk:vda", "size"): 1920383410176,
            }
        )
    )
    assert told == {"memory": "24 GiB", "disk": " 1.92 TB"}
