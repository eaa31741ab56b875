"""What the storage scenario concludes beside its verdicts, from levels and links that are given."""

from pathlib import Path
from types import SimpleNamespace

import msgspec
import pytest

from hostdx.probes.reading.host import Host
from hostdx.probes.system.disk.block import BlockDevice, QueueLimits, block_devices
from hostdx.probes.system.disk.drive.link import BusLink
from hostdx.probes.system.disk.mounts import Mount
from hostdx.probes.system.disk.topology import DirectoryPlacement
from hostdx.probes.types import Absent
from hostdx.scenarios.contract.events import RunVerdict
from hostdx.scenarios.contract.plan import Plan, PlannedWrite, Variant
from hostdx.scenarios.experiment.files.places import ComparedDirectory
from hostdx.scenarios.storage.findings import (
    build_level,
    disk_cost_finding,
    drift_findings,
    link_findings,
    speed_findings,
    wait_finding,
)
from hostdx.scenarios.storage.plan import describe_yardsticks_of_single_target, extra_plan_sentences
from hostdx.scenarios.storage.scenario import scope_words
from hostdx.scenarios.storage.targets import are_on_same_device, filled_share, list_differences, make_variant
from hostdx.scenarios.triage.knowledge.disks import endurance_share
from tests.fakes.hosts.tree import Tree

NONE = Absent("not told")
QUEUE = QueueLimits(**dict.fromkeys(QueueLimits.__struct_fields__, NONE))
SATA = BusLink(kind="sata", now="3.0 Gb/s", at_most="6.0 Gb/s", bytes_per_s=300_000_000, most_bytes_per_s=600_000_000,
            degraded=True, source="/sys/class/ata_link/link1/sata_spd")  # fmt: skip
DISK = BlockDevice(
    name="sda", devno="8:0", path="/sys/devices/x", kind="disk", transport="sata", model="Samsung SSD 870 EVO 1TB",
    size_bytes=10**12, rotational=False, scheduler="mq-deadline", schedulers=("mq-deadline",), queue=QUEUE,
    numa_node=NONE, link=SATA,
)  # fmt: skip


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path / "host")


def target(device: BlockDevice = DISK, letter: str = "A") -> ComparedDirectory:
    mount = Mount(
        mountpoint="/data", root="/", devno="8:1", source="/dev/sda1", fstype="xfs", options=("rw",)
    )
    place = DirectoryPlacement(
        directory="/data", mount=mount, device="sda1", layers=("sda1", device.name), leaves=(device.name,)
    )
    return ComparedDirectory(letter=letter, directory="/data", place=place, devices=(device,))


def test_a_stream_beyond_its_link_says_nothing_of_the_link() -> None:
    """Seen on an emulated NVMe: 1059 % of what its link was said to carry."""
    stream = build_level(target(), "read-1m-qd8", "MB/s", "MB/s", 1400.0, None, 9, [])
    assert stream.link_share is None
    assert "storage.link-bound" not in {f.id for f in link_findings([target()], [stream])}


def test_a_degraded_link_is_a_finding_of_its_own_with_what_is_reached_of_it() -> None:
    stream = build_level(target(), "read-1m-qd8", "MB/s", "MB/s", 280.0, (270.0, 290.0), 20, [])
    link_findings_by_id = {f.id: f for f in link_findings([target()], [stream])}
    assert set(link_findings_by_id) == {"storage.sata-link", "storage.link-bound"}
    assert link_findings_by_id["storage.sata-link"].confidence == "measured"
    assert any("93 %" in e.text for e in link_findings_by_id["storage.sata-link"].evidence)


def test_a_link_as_it_should_be_is_not_accused() -> None:
    healthy = msgspec.structs.replace(DISK, link=msgspec.structs.replace(SATA, degraded=False))
    slow = build_level(target(healthy), "read-1m-qd8", "MB/s", "MB/s", 100.0, None, 20, [])
    assert link_findings([target(healthy)], [slow]) == []


def test_below_its_class_is_a_hint_only_when_the_whole_interval_is() -> None:
    low = build_level(target(), "randread-4k-qd1", "IOPS", "IOPS", 900.0, (800.0, 1000.0), 20, [])
    wide = build_level(target(), "randread-4k-qd1", "IOPS", "IOPS", 4900.0, (4000.0, 5800.0), 20, [])
    assert [f.confidence for f in speed_findings([low], [target()])] == ["hint"]
    assert speed_findings([wide], [target()]) == []


def test_endurance_is_the_makers_figure_or_unknown() -> None:
    share = endurance_share(DISK, 6 * 10**12)
    assert share is not None and abs(share - 0.01) < 1e-9
    assert endurance_share(msgspec.structs.replace(DISK, model="Nobody's disk"), 1) is None
    assert endurance_share(msgspec.structs.replace(DISK, size_bytes=0), 1) is None


def test_the_job_that_waited_four_per_cent_gains_at_most_two() -> None:
    finding = wait_finding(0.04, (0.03, 0.05), "pid 7", 200)
    assert "4 %" in finding.title and "2 %" in finding.title and finding.severity == "notice"
    assert wait_finding(0.4, (0.3, 0.5), "pid 7", 200).severity == "warning"


def verdict(word: str, ratio: float | None, *, control: bool = False) -> RunVerdict:
    return RunVerdict(
        t=1.0, workload="fsync-4k-qd1", metric="IOPS", baseline="A", variant="B", verdict=word, ratio=ratio,
        control=control, explain="12 pairs",
    )  # fmt: skip


def test_the_lesson_needs_a_slower_side_and_never_the_control() -> None:
    assert disk_cost_finding([verdict("no material difference", 1.0), verdict("inconclusive", 0.9)]) is None
    assert disk_cost_finding([verdict("slower", 0.5, control=True)]) is None
    finding = disk_cost_finding([verdict("slower", 0.1), verdict("slower", 0.5)])
    assert finding is not None and "9 %" in finding.title


def test_what_differs_beside_the_disk_turns_disk_into_stack() -> None:
    variant = Variant(id="A", label="/a", facts={"file system": "ext4", "model": "x", "filled": "10 %"})
    unlike = Variant(id="B", label="/b", facts={"file system": "xfs", "model": "y", "filled": "15 %"})
    assert list_differences([variant, unlike]) == ("file system: A ext4, B xfs",)
    full = msgspec.structs.replace(variant, id="B", facts=variant.facts | {"model": "y", "filled": "90 %"})
    assert list_differences([variant, full]) == ("filled: A 10 %, B 90 %",)
    assert list_differences([variant, msgspec.structs.replace(variant, id="B")]) == ()


def test_the_fill_level_is_the_one_that_df_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    # 100 blocks, 60 of them free, 20 of those for anybody: 40 of the 60 that a user has are taken
    state = SimpleNamespace(f_blocks=100, f_bfree=60, f_bavail=20)
    host = Host()
    monkeypatch.setattr(host, "read_statvfs", lambda _: state)
    assert filled_share(host, "/x") == pytest.approx(40 / 60)
    state.f_blocks = state.f_bfree = state.f_bavail = 0  # a file system that counts no blocks
    assert filled_share(host, "/x") is None


def test_same_leaves_are_noticed() -> None:
    other = msgspec.structs.replace(DISK, name="sdb")
    assert are_on_same_device([target(), target(letter="B")])
    assert not are_on_same_device([target(), target(other, "B")])
    plan = Plan(scenario="storage", title="", question="")
    assert scope_words(plan, [target(), target(letter="B")]) == "this directory, not the disk"
    assert scope_words(plan, [target(), target(other, "B")]) == "this disk"
    unlike = msgspec.structs.replace(plan, differs=("file system: A xfs, B ext4",))
    assert scope_words(unlike, [target(), target(other, "B")]) == "this stack"


def target_on(kind: str, letter: str, *devices: BlockDevice) -> ComparedDirectory:
    base = target(letter=letter)
    mount = msgspec.structs.replace(base.place.mount, fstype=kind)
    place = msgspec.structs.replace(base.place, mount=mount, leaves=tuple(d.name for d in devices))
    return msgspec.structs.replace(base, place=place, devices=devices)


def test_a_loop_device_is_no_disk() -> None:
    loop = msgspec.structs.replace(DISK, name="loop0", kind="loop")
    other = msgspec.structs.replace(DISK, name="loop1", kind="loop")
    plan = Plan(scenario="storage", title="", question="")
    assert scope_words(plan, [target_on("ext4", "A", loop), target_on("ext4", "B", other)]).startswith(
        "this stack"
    )


def make_stacked(tree: Tree, letter: str, *names: str) -> Variant:
    """What a target with these layers shows, the leaf last."""
    host = tree.host()
    devices = block_devices(host)
    mount = msgspec.structs.replace(target().place.mount, fstype="ext4")
    place = DirectoryPlacement(directory="/d", mount=mount, device=names[0], layers=names, leaves=names[-1:])
    compared_directory = ComparedDirectory(
        letter=letter, directory=f"/{letter}", place=place, devices=(devices[names[-1]],)
    )
    return make_variant(host, compared_directory)


def test_two_partitioned_disks_are_compared_as_disks_and_encryption_is_named(tree: Tree) -> None:
    for letter, minor in (("a", 0), ("b", 16)):
        disk = f"/sys/devices/pci0000:00/0000:00:1f.2/ata1/host0/target0:0:0/0:0:0:0/block/sd{letter}"
        tree.disk(disk, f"8:{minor}").partition(disk, 1, f"8:{minor + 1}")
    crypt, array = "/sys/devices/virtual/block/dm-0", "/sys/devices/virtual/block/md0"
    tree.disk(crypt, "253:0").files(f"{crypt}/dm", uuid="CRYPT-LUKS2-0011-home")
    tree.disk(array, "9:0").files(f"{array}/md", level="raid1")
    plain = make_stacked(tree, "A", "sda1", "sda")
    assert list_differences([plain, make_stacked(tree, "B", "sdb1", "sdb")]) == ()
    encrypted = make_stacked(tree, "B", "dm-0", "sdb1", "sdb")
    assert list_differences([plain, encrypted]) == ("layers: A partition, B crypt on partition",)
    mirrored = make_stacked(tree, "B", "md0", "sdb1", "sda1", "sdb")
    assert list_differences([plain, mirrored]) == ("layers: A partition, B raid1 on partition",)


def test_a_single_directory_is_promised_only_what_can_be_held_against_it() -> None:
    yardsticks = describe_yardsticks_of_single_target(target())
    assert "SATA SSD" in yardsticks and "3.0 Gb/s" in yardsticks
    virtual = msgspec.structs.replace(DISK, name="vda", transport="virtio", rotational=NONE, link=NONE)
    unknown = describe_yardsticks_of_single_target(target(virtual))
    assert "vda" in unknown and "SSD" not in unknown and "Gb/s" not in unknown


def test_what_is_written_to_two_devices_is_said_once_for_both() -> None:
    writes = tuple(PlannedWrite(device=name, bytes=8 << 30) for name in ("vda", "loop0"))
    plan = Plan(scenario="storage", title="", question="", writes=writes)
    together = "the limit of writing is for all devices together"
    sentences = extra_plan_sentences(plan, 64 << 20, 16, [])
    assert together in sentences
    assert not any("GiB" in line for line in sentences)  # `writes` says it
    assert together not in extra_plan_sentences(
        msgspec.structs.replace(plan, writes=writes[:1]), 64 << 20, 16, []
    )


def test_a_side_that_falls_while_it_is_measured_is_a_finding_of_its_own() -> None:
    verdict = RunVerdict(
        t=30.0, workload="metadata", metric="ops/s", baseline="A", variant="B", verdict="not applicable",
        reason="A falls", delta_unit="ops/s", seconds=21.0, drift={"A": (340_000.0, 56_000.0)},
    )  # fmt: skip
    [drift_finding] = drift_findings([verdict], ["/var/tmp", "/mnt/a disk"])
    assert drift_finding.id == "storage.drift"
    assert all(figure in drift_finding.title for figure in ("340 k", "56 k ops/s", "21 s"))
    assert drift_finding.remedy[0].commands == (
        "hostdx run storage --dir /var/tmp --dir '/mnt/a disk' --budget 300",
    )
    assert drift_findings([msgspec.structs.replace(verdict, drift={})], []) == []
