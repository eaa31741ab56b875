"""The flat list of facts: complete, plain data, and never an exception."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from probes.reading.host import Host
from probes.system.summary import MAX_DISKS, summary_facts
from probes.types import Absent, Fact
from tests.fakes.hosts.facts import short
from tests.fakes.hosts.tree import Tree


def split(host: Host) -> tuple[dict[str, Fact], dict[str, Absent]]:
    facts: dict[str, Fact] = {}
    reasons: dict[str, Absent] = {}
    for entry in summary_facts(host):
        if isinstance(entry, Fact):
            assert short(entry) not in facts and entry.source
            facts[short(entry)] = entry
        else:
            assert entry.absent.reason
            reasons[short(entry)] = entry.absent
    assert not facts.keys() & reasons.keys()
    return facts, reasons


def test_this_machine() -> None:
    facts, reasons = split(Host())
    assert facts["kernel.release"].value == os.uname().release
    threads = facts["cpu.threads"].value
    assert isinstance(threads, int) and threads >= len(os.sched_getaffinity(0))
    assert {"memory.total", "cgroup.version"} <= facts.keys()
    assert "disk" in reasons or any(name.startswith("disk.") for name in facts)
    assert msgspec.json.decode(msgspec.json.encode(list(facts.values())))


def test_an_empty_tree_gives_reasons_only(tree: Tree) -> None:
    facts, reasons = split(tree.host())
    assert facts == {}
    assert {
        "cpu.model",
        "memory.total",
        "kernel.release",
        "os.name",
        "disk.devices",
        "mount.mount",
        "numa.nodes",
    } <= reasons.keys()
    assert {reason.kind for reason in reasons.values()} <= {"captured", "missing"}


def test_a_small_host(tree: Tree) -> None:
    card = "/sys/devices/pci0000:40/0000:41:00.0"
    tree.disk(f"{card}/nvme/nvme0/nvme0n1", "259:0").files(f"{card}/nvme/nvme0", transport="pcie", model="X")
    tree.files(card, current_link_speed="8.0 GT/s PCIe", current_link_width=4, numa_node=1)
    tree.link(f"{card}/nvme/nvme0/device", "../..")
    for number in range(3):
        tree.disk(f"/sys/devices/virtual/block/loop{number}", f"7:{number}")
    tree.files("/sys/devices/virtual/block/loop1", loop__backing_file="/var/image")
    tree.put(
        "/proc/self/mountinfo",
        "20 1 259:0 / / rw - xfs /dev/nvme0n1 rw\n21 20 0:5 / /proc rw - proc proc rw\n",
    )
    facts, _ = split(tree.host())
    assert facts["disk.nvme0n1.transport"].value == "nvme"
    assert facts["disk.nvme0n1.link"].value == "8.0 GT/s x4"
    assert facts["disk.nvme0n1.size"] == Fact(
        "disk:nvme0n1", "size", 2048 * 512, f"{card}/nvme/nvme0/nvme0n1/size", "B"
    )
    assert facts["disk.loop1.backing_file"].value == "/var/image"
    assert "disk.loop0.kind" not in facts and "mount./proc.type" not in facts
    assert [facts[f"mount./.{n}"].value for n in ("type", "source", "options")] == [
        "xfs",
        "/dev/nvme0n1",
        "rw",
    ]
    assert facts["disk.nvme0n1.file_systems"].value == ["xfs"] and "disk.loop1.file_systems" not in facts


def test_a_doubtful_node_table_is_no_fact(tree: Tree) -> None:
    for node in (0, 1):
        tree.files(f"/sys/devices/system/node/node{node}", cpulist="0-1")
    facts, reasons = split(tree.host())
    assert "numa.nodes" not in facts and reasons["numa.nodes"].kind == "invalid"


def test_a_san_does_not_flood_the_recording(tree: Tree) -> None:
    for number in range(MAX_DISKS + 5):
        tree.disk(f"/sys/devices/virtual/block/nbd{number}", f"43:{number}")
    facts, _ = split(tree.host())
    assert sum(1 for name in facts if name.endswith(".kind")) == MAX_DISKS
    assert facts["disk.others"].value == 5


PLACES = [
    "/proc/cpuinfo",
    "/proc/meminfo",
    "/proc/self/mountinfo",
    "/proc/self/cgroup",
    "/proc/version",
    "/etc/os-release",
    "/sys/devices/system/cpu/online",
    "/sys/devices/system/cpu/cpu0/topology/thread_siblings_list",
    "/sys/devices/system/cpu/cpu0/topology/physical_package_id",
    "/sys/devices/system/node/node0/cpulist",
    "/sys/devices/system/node/node0/distance",
    "/sys/devices/virtual/block/dm-0/size",
    "/sys/devices/virtual/block/dm-0/dm/uuid",
    "/sys/devices/virtual/block/dm-0/queue/scheduler",
    "/sys/devices/virtual/block/dm-0/queue/rotational",
    "/sys/devices/virtual/block/md0/md/sync_completed",
    "/sys/class/net/eth0/speed",
    "/sys/class/net/eth0/ifindex",
]


@settings(max_examples=60, deadline=None)
@given(st.dictionaries(st.sampled_from(PLACES), st.binary(max_size=60), max_size=len(PLACES)))
def test_no_content_raises(tmp_path_factory: pytest.TempPathFactory, contents: dict[str, bytes]) -> None:
    folder: Path = tmp_path_factory.mktemp("host")
    tree = Tree(folder).link("/sys/block/dm-0", "../devices/virtual/block/dm-0")
    tree.link("/sys/block/md0", "../devices/virtual/block/md0")
    for path, content in contents.items():
        tree.put(path, content)
    msgspec.json.encode(summary_facts(tree.host()))
