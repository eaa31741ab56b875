"""The read-only rules on trimming: what they say on small captured hosts, and that they accuse nobody wrongly."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from scenarios.rules.fstrim import RULES, online_unqueued, swallowed, untrimmed
from scenarios.rules.rule import Inapplicable, Unreadable
from tests.fakes.tree import Tree

ATA = "/sys/devices/pci0000:00/0000:00:17.0/ata3/host2/target2:0:0/2:0:0:0/block/sda"
DM = "/sys/devices/virtual/block/dm-0"
UNIT = "/usr/lib/systemd/system/fstrim.timer"
WANTS = "/etc/systemd/system/timers.target.wants/fstrim.timer"
TAKES: dict[str, Any] = {"discard_max_bytes": 2147450880, "discard_granularity": 512}
NOTHING: dict[str, Any] = {"discard_max_bytes": 0}


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path)


def ssd(tree: Tree, options: str = "rw", timer: bool = False, written: int = 0, **queue: Any) -> Tree:
    tree.disk(ATA, **(queue or TAKES)).put(UNIT, "[Timer]\nOnCalendar=weekly\n")
    if timer:
        tree.put(WANTS, "")
    tree.put("/proc/self/mountinfo", f"30 1 8:0 / /data rw,relatime - xfs /dev/sda {options}\n")
    sectors = written // 512
    tree.put("/proc/diskstats", f"   8       0 sda 10 0 80 5 10 0 {sectors} 5 0 9 10 0 0 0 0 0 0\n")
    return tree.put("/etc/fstab", "/dev/sda /data xfs defaults 0 0\n")


def test_an_ssd_that_nobody_trims(tree: Tree) -> None:
    [found] = untrimmed(ssd(tree).host())
    assert (found.id, found.severity, found.subject) == ("fstrim.never", "notice", "/data")
    assert found.remedy[0].commands == ("systemctl enable --now fstrim.timer",)
    assert found.remedy[0].undo and found.remedy[0].verify
    assert (found.prove, found.prove_options) == ("fstrim", ("--dir", "/data"))


def test_written_over_and_over_it_is_a_warning(tree: Tree) -> None:
    [found] = untrimmed(ssd(tree, written=2048 * 512).host())  # the fake's disk is so large
    assert found.severity == "warning"
    assert "1.00 times the size" in found.evidence[1].text


@pytest.mark.parametrize(
    "given", [{"timer": True}, {"options": "rw,discard"}, {"discard_max_bytes": 0}], ids=["timer", "online", "none"]
)  # fmt: skip
def test_it_stays_silent(tree: Tree, given: dict[str, Any]) -> None:
    assert list(untrimmed(ssd(tree, **given).host())) == []


def test_the_timer_that_passes_over_a_mount(tree: Tree) -> None:
    ssd(tree, timer=True).put("/etc/fstab", "/dev/sdb / ext4 defaults 0 1\n")
    [found] = untrimmed(tree.host())
    assert "not in /etc/fstab" in found.evidence[0].text
    assert found.remedy[0].commands == ("systemctl edit fstrim.service",)
    assert "ExecStart=/usr/sbin/fstrim -av --quiet-unsupported" in found.remedy[0].persistent


def test_an_unknown_timer_is_not_guessed(tree: Tree) -> None:
    ssd(tree)
    (tree.root / UNIT.lstrip("/")).unlink()
    with pytest.raises(Unreadable):
        list(untrimmed(tree.host()))


def test_a_hard_disk_and_a_virtual_disk_are_not_accused(tree: Tree) -> None:
    ssd(tree, rotational=1, discard_max_bytes=0)
    with pytest.raises(Inapplicable):
        list(untrimmed(tree.host()))


def crypt(tree: Tree) -> Tree:
    tree.disk(ATA, **TAKES).disk(DM, "253:0", **NOTHING)
    tree.files(DM, dm__name="luks-home", dm__uuid="CRYPT-LUKS2-0123-luks-home")
    tree.link(f"{DM}/slaves/sda", "../../../../x")
    return tree.put("/proc/self/mountinfo", "30 1 253:0 / /home rw - xfs /dev/mapper/luks-home rw\n")


def test_encryption_that_swallows_discards(tree: Tree) -> None:
    [found] = swallowed(crypt(tree).host())
    assert "dm-0 (crypt)" in found.evidence[0].text
    assert found.remedy[0].commands == ("cryptsetup refresh --allow-discards --persistent luks-home",)


def test_a_drive_that_takes_none(tree: Tree) -> None:
    [found] = swallowed(ssd(tree, **NOTHING).host())
    assert "the drive (or what stands before it" in found.evidence[0].text and found.remedy == ()


@pytest.mark.parametrize(("mode", "options", "speaks"), [
    ("forced_unqueued", "rw,discard", True),
    ("unqueued", "rw,discard", True),
    ("queued", "rw,discard", False),
    ("forced_unqueued", "rw", False),
    ("forced_unqueued", "rw,discard=async", False),
])  # fmt: skip
def test_online_discard_without_queued_trim(tree: Tree, mode: str, options: str, speaks: bool) -> None:
    ssd(tree, options=options).files("/sys/class/ata_device/dev3.0", trim=mode)
    found = list(online_unqueued(tree.host()))
    assert bool(found) == speaks
    if speaks:
        assert (
            found[0].severity == "warning"
            and "mount -o remount,nodiscard /data" in found[0].remedy[1].commands
        )


def test_no_rule_ever_tells_to_discard_a_device(tree: Tree) -> None:
    host = ssd(tree, options="rw,discard").files("/sys/class/ata_device/dev3.0", trim="unqueued").host()
    for rule in RULES:
        for found in rule.check(host):
            for remedy in found.remedy:
                text = " ".join((*remedy.commands, *remedy.persistent))
                assert "blkdiscard" not in text and "hdparm" not in text
