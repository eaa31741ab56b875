"""The read-only rules on trimming: what they say on small captured hosts, and that they accuse nobody wrongly."""

import subprocess
from pathlib import Path
from typing import Any

import pytest

from hostdx.scenarios.contract.rule import FactUnreadable
from hostdx.scenarios.fstrim.remedies import timer_service_remedy
from hostdx.scenarios.fstrim.rules import (
    RULES,
    online_unqueued_findings,
    swallowed_findings,
    untrimmed_findings,
)
from tests.fakes.hosts.tree import Tree

ATA = "/sys/devices/pci0000:00/0000:00:17.0/ata3/host2/target2:0:0/2:0:0:0/block/sda"
DM = "/sys/devices/virtual/block/dm-0"
UNIT = "/usr/lib/systemd/system/fstrim.timer"
WANTS = "/etc/systemd/system/timers.target.wants/fstrim.timer"
TAKES: dict[str, Any] = {"discard_max_bytes": 2147450880, "discard_granularity": 512}
NOTHING: dict[str, Any] = {"discard_max_bytes": 0}


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path)


def put_ssd(tree: Tree, options: str = "rw", timer: bool = False, written: int = 0, **queue: Any) -> Tree:
    tree.disk(ATA, **(queue or TAKES)).put(UNIT, "[Timer]\nOnCalendar=weekly\n")
    if timer:
        tree.put(WANTS, "")
    tree.put("/proc/self/mountinfo", f"30 1 8:0 / /data rw,relatime - xfs /dev/sda {options}\n")
    sectors = written // 512
    tree.put("/proc/diskstats", f"   8       0 sda 10 0 80 5 10 0 {sectors} 5 0 9 10 0 0 0 0 0 0\n")
    return tree.put("/etc/fstab", "/dev/sda /data xfs defaults 0 0\n")


OTHER = "/dev/sdb / ext4 defaults 0 1\n"


@pytest.mark.parametrize("mountpoint", ["/my data", '/a"b', "/50%", "/a'b"])
def test_a_strange_mount_point_is_quoted_for_shell_and_unit(tree: Tree, mountpoint: str) -> None:
    remedy = timer_service_remedy(tree.host(), mountpoint)
    for command in remedy.commands[:2]:
        subprocess.run(["sh", "-c", command.replace("/etc/systemd", f"{tree.root}/etc/systemd")], check=True)
    [written] = (tree.root / "etc/systemd/system/fstrim.service.d").iterdir()
    section, call = written.read_text().splitlines()
    assert section == "[Service]" and call.startswith('ExecStart=-/usr/sbin/fstrim -v "/')
    assert "50%%" in call or "%" not in mountpoint


@pytest.mark.parametrize(
    "files",
    [
        {"/etc/systemd/system/fstrim.service.d/x.conf": "[Service]\nExecStart=\nExecStart=/usr/sbin/fstrim -av\n"},
        {"/etc/cron.weekly/trim": "#!/bin/sh\nfstrim -v /data\n"},
        {"/proc/self/mountinfo": "30 1 8:0 / /data ro,relatime - xfs /dev/sda rw\n"},
        {"/proc/self/mountinfo": "30 1 8:0 / /mnt rw - xfs /dev/sda rw\n31 1 8:0 / /there rw - xfs /dev/sda rw\n",
         "/etc/fstab": "/dev/sda /there xfs defaults 0 0\n"},
    ],
    ids=["drop-in", "cron", "read-only", "mounted twice"],
)  # fmt: skip
def test_nobody_is_accused_wrongly(tree: Tree, files: dict[str, str]) -> None:
    put_ssd(tree, timer=True).put("/etc/fstab", OTHER)
    for path, text in files.items():
        tree.put(path, text)
    assert list(untrimmed_findings(tree.host())) == []


def test_a_timer_that_is_off_and_would_pass_over_it_needs_both(tree: Tree) -> None:
    [untrimmed_finding] = untrimmed_findings(put_ssd(tree).put("/etc/fstab", OTHER).host())
    assert [remedy.title for remedy in untrimmed_finding.remedy] == [
        "Trim once a week",
        "Let the timer trim /data too",
    ]


@pytest.mark.parametrize("timer", [False, True])
def test_the_admins_own_choice_is_respected(tree: Tree, timer: bool) -> None:
    put_ssd(tree, timer=timer, written=2048 * 512).put(
        "/etc/fstab", "/dev/sda /data xfs rw,X-fstrim.notrim 0 0\n"
    )
    [untrimmed_finding] = untrimmed_findings(tree.host())
    assert (untrimmed_finding.confidence, untrimmed_finding.severity, untrimmed_finding.remedy) == (
        "hint",
        "notice",
        (),
    )
    assert "/etc/fstab" in untrimmed_finding.title


def test_an_unknown_timer_is_not_guessed(tree: Tree) -> None:
    put_ssd(tree)
    (tree.root / UNIT.lstrip("/")).unlink()
    with pytest.raises(FactUnreadable):
        list(untrimmed_findings(tree.host()))


@pytest.mark.parametrize(("mode", "options", "speaks"), [
    ("forced_unqueued", "rw,discard", True),
    ("unqueued", "rw,discard", True),
    ("queued", "rw,discard", False),
    ("forced_unqueued", "rw", False),
    ("forced_unqueued", "rw,discard=async", False),
])  # fmt: skip
def test_online_discard_without_queued_trim(tree: Tree, mode: str, options: str, speaks: bool) -> None:
    put_ssd(tree, options=options).files("/sys/class/ata_device/dev3.0", trim=mode)
    findings = list(online_unqueued_findings(tree.host()))
    assert bool(findings) == speaks
    if speaks:
        assert (
            findings[0].severity == "warning"
            and "mount -o remount,nodiscard /data" in findings[0].remedy[1].commands
        )


def test_no_rule_ever_tells_to_discard_a_device(tree: Tree) -> None:
    host = put_ssd(tree, options="rw,discard").files("/sys/class/ata_device/dev3.0", trim="unqueued").host()
    for rule in RULES:
        for finding in rule.check(host):
            for remedy in finding.remedy:
                text = " ".join((*remedy.commands, *remedy.persistent))
                assert "blkdiscard" not in text and "hdparm" not in text


def on_crypt(tree: Tree, below: dict[str, Any]) -> Tree:
    """A file system on LUKS on a partition of an SSD."""
    tree.disk(ATA, **below).partition(ATA, 1, "8:1")
    tree.disk(DM, "253:0", **NOTHING).files(f"{DM}/dm", uuid="CRYPT-LUKS2-x", name="root")
    tree.link(f"{DM}/slaves/sda1", f"../../../../..{ATA}/sda1")
    return tree.put("/proc/self/mountinfo", "30 1 253:0 / / rw - xfs /dev/mapper/root rw\n")


@pytest.mark.parametrize(("below", "guilty"), [(TAKES, "dm-0"), (NOTHING, "sda")])
def test_the_lowest_layer_that_takes_none_is_the_one(tree: Tree, below: dict[str, Any], guilty: str) -> None:
    findings = list(swallowed_findings(on_crypt(tree, below).host()))
    assert [f.evidence[0].source for f in findings] == [f"/sys/block/{guilty}/queue/discard_max_bytes"]
    assert "allow-discards" not in " ".join(c for f in findings for r in f.remedy for c in r.commands)


@pytest.mark.parametrize(("level", "by_parity"), [("raid1", False), ("raid6", True), ("", True)])
def test_a_mirror_is_not_told_of_parity(tree: Tree, level: str, by_parity: bool) -> None:
    md = "/devices/virtual/block/md0"
    tree.disk(ATA, **TAKES).disk(md, "9:0", **NOTHING).files(f"{md}/md", level=level)
    tree.link(f"{md}/slaves/sda", f"../../../../..{ATA}")
    host = tree.put("/proc/self/mountinfo", "30 1 9:0 / / rw - xfs /dev/md0 rw\n").host()
    [swallowed_finding] = swallowed_findings(host)
    assert any("raid456" in command for command in swallowed_finding.remedy[0].commands) is by_parity


def test_whether_discards_are_taken_is_unknown_not_fine(tree: Tree) -> None:
    host = put_ssd(tree, rotational=0).host()
    for rule in (swallowed_findings, untrimmed_findings):
        with pytest.raises(FactUnreadable, match="discard"):
            list(rule(host))
