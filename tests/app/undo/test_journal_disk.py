"""The journal and a disk that takes no more."""

import os
import subprocess
from pathlib import Path

import pytest

from hostdx.app.terminal.process import process_identity
from hostdx.app.undo.journal import SCHEMA, Journal, JournalEntry, JournalHeader, peek_journal, read_journal
from hostdx.app.undo.journal_disk import block_device_of_attribute, journal_on_device_reason
from hostdx.probes.reading.host import Host
from hostdx.probes.system.disk.backing import devices_with_loops_under
from hostdx.probes.system.disk.topology import find_placement
from hostdx.probes.types import Absent
from hostdx.scenarios.contract.action import Action
from tests.fakes.hosts.tree import Tree
from tests.needs import KNOWN_DISK, needs, not_here
from tests.real.trim_disk import TrimDisk, sh

ATA = "/sys/devices/pci0000:00/0000:00:1f.2/ata{0}/host{0}/target{0}:0:0/{0}:0:0:0/block/{1}"
MOUNTS = (
    "20 1 8:0 / / rw - ext4 /dev/sda rw",
    "21 20 8:16 / /data rw - ext4 /dev/sdb rw",
    "22 20 0:45 / /run rw - tmpfs tmpfs rw",
    "23 20 7:0 / /state rw - ext4 /dev/loop0 rw",
    "24 20 7:1 / /nested rw - ext4 /dev/loop1 rw",
    "25 20 7:2 / /cached rw - ext4 /dev/loop2 rw",
    "27 20 0:46 / /layered rw - overlay overlay rw,upperdir=/data/up",
    "28 20 0:47 / /far rw - nfs4 server:/export rw",
)
FILES = {"loop0": "/data/state.img", "loop1": "/state/inner.img", "loop2": "/run/state.img"}


@pytest.fixture
def host(tmp_path: Path) -> Host:
    tree = Tree(tmp_path).disk(ATA.format(1, "sda")).disk(ATA.format(2, "sdb"), "8:16")
    for number, (name, file) in enumerate(FILES.items()):
        tree.disk(f"/sys/devices/virtual/block/{name}", f"7:{number}")
        tree.files(f"/sys/devices/virtual/block/{name}/loop", backing_file=file)
    return tree.put("/proc/self/mountinfo", "\n".join(MOUNTS) + "\n").host()


@pytest.mark.parametrize(
    ("directory", "under"),
    [
        ("/var/lib", {"sda"}),
        ("/data/journal", {"sdb"}),
        ("/state", {"loop0", "sdb"}),
        ("/nested", {"loop1", "loop0", "sdb"}),
        ("/cached", {"loop2"}),
        ("/run", set()),
        ("/far", set()),
    ],
)
def test_every_device_that_writing_there_needs(host: Host, directory: str, under: set[str]) -> None:
    devices = devices_with_loops_under(host, directory)
    assert not isinstance(devices, Absent) and devices.keys() == under


def test_where_nobody_says_on_which_disk_it_is_not_guessed(host: Host) -> None:
    under = devices_with_loops_under(host, "/layered")
    assert isinstance(under, Absent)


@pytest.mark.parametrize(
    ("journal", "device", "part"),
    [
        (
            "/state",
            "sdb",
            "lies on sdb itself (through loop0, whose file is /data/state.img), and if sdb hangs",
        ),
        ("/nested", "sdb", "lies on sdb itself (through loop1, whose file is /state/inner.img), and"),
        ("/state", "loop0", "lies on loop0 itself, and if loop0 hangs"),
        ("/data", "sdb", "lies on sdb itself, and if sdb hangs"),
        ("/layered", "sdb", "whether the undo journal (/layered) lies on sdb cannot be known"),
        ("/state", "sda", ""),
        (
            "/data",
            "loop0",
            "",
        ),  # the other way round: a stuck loop device keeps no disk from being written to
        ("/run", "sda", ""),
    ],
)
def test_the_refusal_names_the_way_and_another_place(
    host: Host, monkeypatch: pytest.MonkeyPatch, journal: str, device: str, part: str
) -> None:
    monkeypatch.setattr("hostdx.app.undo.journal_disk.block_device_of_attribute", lambda target: device)
    monkeypatch.setattr("hostdx.app.undo.journal_disk.nearest_existing_folder", lambda directory: directory)
    reason = journal_on_device_reason(host, Path(journal), f"/sys/block/{device}/queue/scheduler")
    assert (part in reason) if part else not reason
    assert not reason or "set XDG_STATE_HOME to a directory on another disk" in reason


def test_on_this_machine() -> None:
    assert block_device_of_attribute("/sys/kernel/mm/transparent_hugepage/enabled") == ""
    place = find_placement(Host(), "/")
    if isinstance(place, Absent) or isinstance(place.device, Absent) or not place.leaves:
        not_here("this root file system lies on no block device")
    target = f"/sys/block/{place.leaves[0]}/queue/scheduler"
    assert block_device_of_attribute(target) == place.leaves[0]
    assert "XDG_STATE_HOME" in journal_on_device_reason(Host(), Path("/"), target)
    assert "XDG_STATE_HOME" in journal_on_device_reason(Host(), Path("/not/made/yet"), target)
    assert journal_on_device_reason(Host(), Path("/dev/shm"), target) == ""
    assert journal_on_device_reason(Host(), Path("/"), "/proc/sys/net/ipv4/ip_forward") == ""


@pytest.mark.real("cpu")
@needs(KNOWN_DISK)
def test_a_journal_on_a_loop_device_whose_file_lies_on_the_disk_under_test(tmp_path: Path) -> None:
    with TrimDisk(tmp_path, "ext4", gib=1) as disk:
        image, inner = disk.mountpoint / "inner.img", tmp_path / "inner"
        inner.mkdir()
        sh("truncate", "-s", "32M", str(image))
        sh("mkfs.ext4", "-q", str(image))
        loop = sh("losetup", "--direct-io=on", "--find", "--show", str(image))
        try:
            sh("mount", loop, str(inner))
            (inner / "journal").mkdir()
            outer = f"/sys/block/{disk.device}/queue/scheduler"
            journal = journal_on_device_reason(Host(), inner / "journal", outer)
            assert f"lies on {disk.device} itself (through {loop.removeprefix('/dev/')}" in journal
            assert journal_on_device_reason(Host(), tmp_path, outer) == ""
        finally:
            subprocess.run(["umount", str(inner)], check=False, capture_output=True)
            subprocess.run(["losetup", "-d", loop], check=False, capture_output=True)
    assert str(image) not in sh("losetup", "-a") and not os.path.ismount(inner)


def test_a_line_is_on_the_disk_before_anything_is_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    header = JournalHeader(
        schema=SCHEMA, run="r", who=process_identity(), command=[], recording="", began_s=0.0
    )
    book = Journal.create_new(tmp_path / "r.jsonl", header)
    synced: list[bytes] = []
    fsync = os.fsync

    def note_and_sync(descriptor: int) -> None:
        assert descriptor == book.descriptor
        synced.append(read_journal(descriptor))
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", note_and_sync)
    book.record_intent(
        JournalEntry(id="1", action=Action(kind="attribute", title="set", target="/x", new="1"), value="1")
    )
    assert synced == [book.path.read_bytes()]
    assert [entry.id for entry in peek_journal(book.path)[1]] == ["1"]
    os.close(book.descriptor)
