"""The way of a discard: which layer swallows it, what the drive does with it, on small captured hosts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from probes.reading.host import Host
from probes.system.disk.trim.discard import DiscardChain, discard_chains
from probes.types import Absent, is_present
from tests.fakes.hosts.tree import Tree

ATA = "/sys/devices/pci0000:00/0000:00:17.0/ata3/host2/target2:0:0/2:0:0:0/block/sda"
SDB = "/sys/devices/pci0000:00/0000:00:17.0/ata4/host3/target3:0:0/3:0:0:0/block/sdb"
DM = "/sys/devices/virtual/block/dm-0"
TAKES: dict[str, Any] = {"discard_max_bytes": 2147450880, "discard_granularity": 512}
NOTHING: dict[str, Any] = {"discard_max_bytes": 0, "discard_granularity": 512}


def mounted(tree: Tree, *lines: str) -> Tree:
    return tree.put("/proc/self/mountinfo", "\n".join(lines) + "\n")


def only(host: Host) -> DiscardChain:
    found = discard_chains(host)
    assert is_present(found) and len(found) == 1, found
    return found[0]


def encrypted(tree: Tree, crypt: dict[str, Any], disk: dict[str, Any]) -> Host:
    tree.disk(ATA, **disk).partition(ATA, 2, "8:2")
    tree.disk(DM, "253:0", **crypt)
    tree.files(DM, dm__name="luks-home", dm__uuid="CRYPT-LUKS2-0123-luks-home")
    tree.link(f"{DM}/slaves/sda2", "../../../../pci0000:00/x")
    return mounted(tree, "30 1 253:0 / /home rw - xfs /dev/mapper/luks-home rw,attr2").host()


def test_a_plain_ssd_hears_everything(tree: Tree) -> None:
    mounted(tree.disk(ATA, **TAKES), "30 1 8:0 / /data rw,relatime - ext4 /dev/sda rw,discard")
    chain = only(tree.host())
    assert (chain.device, chain.leaves, chain.swallowed_by, chain.online) == ("sda", ("sda",), "", "discard")
    assert chain.are_limits_known and chain.layers[0].max_bytes == 2147450880


def test_a_granularity_alone_is_no_support(tree: Tree) -> None:
    """Red Hat's "Discarding unused blocks": only discard_max_bytes tells."""
    mounted(tree.disk(ATA, **NOTHING), "30 1 8:0 / /data rw - ext4 /dev/sda rw")
    assert only(tree.host()).swallowed_by == "sda"


def test_the_layer_that_swallows_is_named(tree: Tree) -> None:
    chain = only(encrypted(tree, NOTHING, TAKES))
    assert chain.swallowed_by == "dm-0"
    assert [layer.device for layer in chain.layers] == ["dm-0", "sda2", "sda"]
    assert next(layer.kind for layer in chain.layers if layer.swallows_discards) == "crypt"


def test_a_layer_that_lets_through_is_not_accused(tree: Tree) -> None:
    assert only(encrypted(tree, TAKES, TAKES)).swallowed_by == ""


def test_what_cannot_be_read_is_neither_yes_nor_no(tree: Tree) -> None:
    mounted(tree.disk(ATA), "30 1 8:0 / /data rw - ext4 /dev/sda rw")
    chain = only(tree.host())
    assert not chain.are_limits_known and chain.swallowed_by == ""
    assert isinstance(chain.layers[0].max_bytes, Absent)


def test_all_members_of_a_btrfs_count(tree: Tree) -> None:
    tree.disk(ATA, **TAKES).disk(SDB, "8:16", **NOTHING)
    for name in ("sda", "sdb"):
        tree.put(f"/sys/fs/btrfs/0f-1e/devices/{name}/size", "1\n")
    mounted(tree, "30 1 0:40 / /pool rw - btrfs /dev/sda rw,discard=async")
    chain = only(tree.host())
    assert chain.leaves == ("sda", "sdb") and chain.swallowed_by == "sdb" and chain.online == "discard=async"


@pytest.mark.parametrize("mode", ["queued", "unqueued", "forced_unqueued", "unsupported"])
def test_the_mode_of_a_sata_trim(tree: Tree, mode: str) -> None:
    tree.files("/sys/class/ata_device/dev3.0", trim=mode)
    mounted(tree.disk(ATA, **TAKES), "30 1 8:0 / /data rw - ext4 /dev/sda rw")
    assert only(tree.host()).queued == {"sda": mode}


def test_behind_a_port_multiplier_each_drive_has_its_own_mode(tree: Tree) -> None:
    path = ATA.replace("target2:0:0/2:0:0:0", "target2:1:0/2:1:0:0")
    tree.files("/sys/class/ata_device/dev3.0", trim="queued").files(
        "/sys/class/ata_device/dev3.1.0", trim="forced_unqueued"
    )
    mounted(tree.disk(path, **TAKES), "30 1 8:0 / /data rw - ext4 /dev/sda rw")
    assert only(tree.host()).queued == {"sda": "forced_unqueued"}


def test_file_systems_in_memory_and_strange_ones_are_no_chains(tree: Tree) -> None:
    mounted(
        tree.disk(ATA, **TAKES),
        "30 1 0:30 / /tmp rw - tmpfs tmpfs rw",
        "31 1 8:0 / /data rw - ext2 /dev/sda rw",
        "32 1 0:50 / /nfs rw - nfs4 server:/x rw",
    )
    assert discard_chains(tree.host()) == ()


def test_a_file_system_that_is_mounted_twice_is_one_chain(tree: Tree) -> None:
    line = "{} 1 8:0 /{} {} rw - ext4 /dev/sda rw"
    mounted(tree.disk(ATA, **TAKES), line.format(30, "", "/data"), line.format(31, "sub", "/srv"))
    assert only(tree.host()).mount.mountpoint == "/data"


def test_without_a_mount_table_it_is_absent(tmp_path: Path) -> None:
    assert isinstance(discard_chains(Tree(tmp_path).host()), Absent)
