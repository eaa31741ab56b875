"""The flat list of facts: complete, plain data, and never an exception."""

from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hostdx.probes.reading.host import Host
from hostdx.probes.system.summary import MAX_DISKS, summary_facts
from hostdx.probes.types import Absent, Fact
from tests.fakes.hosts.facts import join_fact_name
from tests.fakes.hosts.tree import Tree


def split(host: Host) -> tuple[dict[str, Fact], dict[str, Absent]]:
    facts: dict[str, Fact] = {}
    reasons: dict[str, Absent] = {}
    for entry in summary_facts(host):
        if isinstance(entry, Fact):
            assert join_fact_name(entry) not in facts and entry.source
            facts[join_fact_name(entry)] = entry
        else:
            assert entry.absent.reason
            reasons[join_fact_name(entry)] = entry.absent
    assert not facts.keys() & reasons.keys()
    return facts, reasons


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
