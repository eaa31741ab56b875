"""Where a measurement is refused: one line each, on fakes; the live checks on this machine."""

import os
import tempfile
from pathlib import Path

import msgspec
import pytest

from hostdx.probes.engine.disk.refusals import (
    check_suitability,
    directory_refusal,
    file_system_refusal,
    health_refusal,
    indirect_file_system_words,
    is_smart_failing,
    stack_refusal,
    suitability_notes,
)
from hostdx.probes.reading.host import Host
from hostdx.probes.system.disk.mounts import Mount
from hostdx.probes.system.disk.topology import DirectoryPlacement
from hostdx.probes.types import Absent
from tests.every_case import every_case
from tests.fakes.hosts.tree import Tree
from tests.needs import ROOT, needs


def place_on(
    fstype: str, device: str = "sda", *, options: str = "rw", layers: tuple[str, ...] = ()
) -> DirectoryPlacement:
    mount = Mount(
        mountpoint="/data",
        root="/",
        devno="8:0",
        source="/dev/x",
        fstype=fstype,
        options=tuple(options.split(",")),
    )
    down = layers or (device,)
    return DirectoryPlacement(directory="/data/x", mount=mount, device=device, layers=down, leaves=down[-1:])


class ToolHost(Host):
    """A captured tree whose commands answer as they are told."""

    def __init__(self, root: str, answers: dict[str, str]) -> None:
        super().__init__(root)
        self.answers = answers

    def read_command(self, *argv: str, timeout_s: float = 2.0, any_status: bool = False) -> str | Absent:
        return self.answers.get(argv[0]) or Absent(f"{argv[0]} is not installed", "tool")


@every_case("explicit", [True, False])
@every_case("kind", ["tmpfs", "ramfs", "devtmpfs", "hugetlbfs", "rootfs", "proc", "cgroup2"])
def test_memory_and_the_kernel_s_own_are_always_refused(kind: str, explicit: bool) -> None:
    line = file_system_refusal(place_on(kind), explicit)
    assert line.startswith(f"/data/x is on {kind}")
    assert "name a directory on a disk" in line or "name another directory" in line


def test_compressed_memory_is_memory() -> None:
    assert "zram0: that is memory" in file_system_refusal(place_on("ext4", "zram0"), True)


@every_case(
    "kind", ["nfs4", "cifs", "lustre", "9p", "ceph", "fuse.sshfs", "fuseblk", "fuse", "ecryptfs", "aufs"]
)
def test_what_is_no_disk_of_ours_only_when_named_and_then_noted(kind: str) -> None:
    line = file_system_refusal(place_on(kind), False)
    assert f"/data/x is on {kind}, {indirect_file_system_words(kind)}: measured only when it is named" in line
    assert file_system_refusal(place_on(kind), True) == ""
    (note,) = suitability_notes(Host("/nonexistent"), place_on(kind))
    assert indirect_file_system_words(kind) in note


def test_a_container_s_root_is_measured_without_being_named_and_noted() -> None:
    assert file_system_refusal(place_on("overlay"), False) == ""
    assert len(list(suitability_notes(Host("/nonexistent"), place_on("overlay")))) == 1


@pytest.mark.parametrize("explicit", [True, False])
def test_an_overlay_over_memory_is_memory(explicit: bool) -> None:
    over_memory = msgspec.structs.replace(place_on("overlay"), memory="tmpfs")
    assert file_system_refusal(over_memory, explicit)


def test_a_read_only_mount_is_refused() -> None:
    assert "/data/x is mounted read-only (/data)" in file_system_refusal(
        place_on("ext4", options="ro,noatime"), True
    )


def md_refusal(tree: Tree, **values: str | int) -> str:
    tree.files("/sys/block/md0/md", level="raid1", array_state="clean", raid_disks=2, **values)
    return stack_refusal(tree.host(), place_on("ext4", "md0", layers=("md0", "sda")), True)


def test_a_degraded_array_is_refused(tree: Tree) -> None:
    line = md_refusal(tree, degraded=1, sync_action="idle")
    assert (
        line == "/data/x is on md0, which is degraded (1 member missing): repair it first (cat /proc/mdstat)"
    )


def test_an_array_that_is_rebuilt_is_refused(tree: Tree) -> None:
    line = md_refusal(tree, degraded=0, sync_action="recover", sync_completed="250 / 1000")
    assert line == "/data/x is on md0, which is in a recover, 25 % done: wait for its end"


def thin_refusal(tree: Tree, status: str | None, explicit: bool = True) -> str:
    tree.disk("/sys/devices/virtual/block/dm-3", "253:3").disk("/sys/devices/virtual/block/dm-2", "253:2")
    tree.files("/sys/devices/virtual/block/dm-3/dm", uuid="LVM-abc", name="vg-scratch")
    tree.files("/sys/devices/virtual/block/dm-2/dm", uuid="LVM-abc-tpool", name="vg-pool-tpool")
    tree.link("/sys/devices/virtual/block/dm-3/slaves/dm-2", "../../dm-2")
    answers = {} if status is None else {"dmsetup": f"vg-pool-tpool: 0 409600 thin-pool {status}"}
    tree.put("/sos_commands/.keep")
    host = ToolHost(str(tree.root), answers)
    return stack_refusal(host, place_on("xfs", "dm-3", layers=("dm-3", "dm-2")), explicit)


@pytest.mark.parametrize(
    ("status", "part"),
    [
        ("1 118/1024 2900/3200 - rw no_discard_passdown", "whose data is 91 % full (at most 80 %)"),
        ("1 900/1024 100/3200 - rw no_discard_passdown", "whose metadata is 88 % full (at most 80 %)"),
        ("1 118/1024 100/3200 - out_of_data_space no_discard_passdown", "in the mode out_of_data_space"),
    ],
)
def test_a_full_thin_pool_is_refused(tree: Tree, status: str, part: str) -> None:
    line = thin_refusal(tree, status)
    assert line.startswith("/data/x is on the thin pool vg-pool-tpool")
    assert part in line
    assert "\n" not in line


def test_a_thin_pool_of_unknown_fill_only_when_named(tree: Tree) -> None:
    assert "whose fill is unknown (dmsetup is not installed)" in thin_refusal(tree, None, explicit=False)
    (tree.root / "sys/devices/virtual/block").rename(tree.root / "again")
    assert thin_refusal(Tree(tree.root / "other"), None, explicit=True) == ""


def test_smart_is_believed_only_in_its_own_words() -> None:
    assert is_smart_failing('{"smart_status": {"passed": false}}')
    for answer in (
        '{"smart_status": {"passed": true}}',
        "{}",
        "[]",
        "not json",
        '{"smart_status": null}',
        "[" * 10**5,
    ):
        assert not is_smart_failing(answer)
    assert not is_smart_failing(Absent("smartctl is not installed", "tool"))


def test_a_failing_disk_is_refused_to_root(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    tree.disk("/sys/devices/pci0000:00/0000:00:1f.2/ata1/host0/target0:0:0/0:0:0:0/block/sda")
    host = ToolHost(str(tree.root), {"smartctl": '{"smart_status": {"passed": false}}'})
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert health_refusal(host, place_on("ext4")).startswith("/data/x is on sda, which SMART calls failing")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert health_refusal(host, place_on("ext4")) == ""


def test_a_directory_that_is_none(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    host = Host()
    suitability = check_suitability(host, str(tmp_path / "nope"), explicit=True)
    assert suitability.refusal == f"{tmp_path}/nope does not exist; name one that exists"
    assert check_suitability(host, str(tmp_path / "file"), explicit=True).refusal
    assert check_suitability(host, "/proc", explicit=True).refusal


def test_without_the_right_it_says_whose_and_which(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tmp_path.chmod(0o755)
    monkeypatch.setattr(os, "access", lambda *_a, **_k: False)
    monkeypatch.setattr(os, "geteuid", lambda: 12345678)
    line = directory_refusal(str(tmp_path))
    owner = tmp_path.owner()
    assert line.startswith(f"{tmp_path}: uid 12345678 may not write here (mode 0755, owner {owner}, group ")


@needs(ROOT)
def test_somebody_else_s_directory_is_refused_for_real() -> None:
    # pytest's own directories are closed to others already on the way down
    with tempfile.TemporaryDirectory(dir="/var/tmp") as directory:
        Path(directory).chmod(0o755)
        child = os.fork()
        if child == 0:  # the user id belongs to the whole process
            os.setresuid(65534, 65534, 65534)
            os._exit(0 if "may not write here (mode 0755, owner root" in directory_refusal(directory) else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_notes_tell_recorded_errors(tree: Tree) -> None:
    tree.files("/sys/fs/ext4/sda", errors_count=3)
    (note,) = suitability_notes(tree.host(), place_on("ext4"))
    assert note.startswith("ext4 on sda has recorded 3 errors")


@pytest.mark.parametrize(("dio", "count"), [(0, 1), (1, 0)])
def test_notes_tell_a_loop_device_behind_the_page_cache(tree: Tree, dio: int, count: int) -> None:
    tree.files("/sys/block/loop3/loop", dio=dio)
    notes = list(suitability_notes(tree.host(), place_on("ext4", "loop3")))
    assert len(notes) == count
    assert all("loop3" in note for note in notes)
