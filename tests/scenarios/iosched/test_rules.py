"""The scheduler rules on captured trees: the right ones speak, their neighbours are silent."""

import shutil
from pathlib import Path

import pytest

from hostdx.probes.reading.host import Host
from hostdx.probes.system.disk.scheduler import read_scheduler_state
from hostdx.probes.system.disk.scheduler_origin import find_scheduler_origin
from hostdx.probes.types import Absent
from hostdx.scenarios.contract.finding import Finding
from hostdx.scenarios.dstate.rules import RULES as HANG_RULES
from hostdx.scenarios.iosched.rules import RULES
from tests.every_case import every_case

DATA = Path(__file__).parents[2] / "data" / "kernel_log"
CHECKS = {rule.id: rule.check for rule in (*RULES, *HANG_RULES)}


def host_of(
    root: Path,
    *,
    scheduler: str = "[mq-deadline] none bfq kyber",
    queues: int = 1,
    release: str = "6.12.0",
    rotational: int = 1,
    wbt: int = 75000,
    more: dict[str, str] | None = None,
) -> Host:
    """A host with one SATA disk, sda."""
    real = "sys/devices/pci0000:00/0000:00:1f.2/ata1/host0/target0:0:0/0:0:0:0/block/sda"
    files = {
        f"{real}/size": "2000000",
        f"{real}/dev": "8:0",
        f"{real}/queue/scheduler": scheduler,
        f"{real}/queue/rotational": str(rotational),
        f"{real}/queue/zoned": "none",
        f"{real}/queue/nr_requests": "256",
        f"{real}/queue/wbt_lat_usec": str(wbt),
        f"{real}/queue/iosched/fifo_batch": "16",
        f"{real}/device/model": "HUH721212ALE600 ",
        "proc/sys/kernel/osrelease": release,
        "proc/sys/kernel/hung_task_warnings": "10",
        "proc/sys/kernel/hung_task_timeout_secs": "120",
        **{f"{real}/mq/{n}/nr_tags": "62" for n in range(queues)},
        **(more or {}),
    }
    for path, text in files.items():
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text + "\n")
    (root / "sys/block").mkdir()
    (root / "sys/block/sda").symlink_to("../devices/" + real.removeprefix("sys/devices/"))
    return Host(str(root))


def check(host: Host, rule: str) -> list[Finding]:
    return list(CHECKS[rule](host))


EL8_5 = "4.18.0-348.7.1.el8_5.x86_64"


@every_case(
    ("release", "scheduler", "queues", "severity"),
    [
        (EL8_5, "mq-deadline [bfq]", 8, "warning"),
        (EL8_5, "[mq-deadline] bfq", 8, ""),  # another scheduler
        (EL8_5, "mq-deadline [bfq]", 1, ""),  # one queue cannot postpone the others
        # its neighbours are not known to stall, nor to be mended
        ("4.18.0-358.el8.x86_64", "mq-deadline [bfq]", 8, "notice"),
        ("4.18.0-347.el8.x86_64", "mq-deadline [bfq]", 8, "notice"),
        ("4.18.0-372.el8.x86_64", "mq-deadline [bfq]", 8, ""),
        ("5.17.4", "mq-deadline [bfq]", 8, "notice"),
        ("5.18.0", "mq-deadline [bfq]", 8, ""),
    ],
)
def test_a_kernel_known_to_stall(
    tmp_path: Path, release: str, scheduler: str, queues: int, severity: str
) -> None:
    findings = check(
        host_of(tmp_path, release=release, scheduler=scheduler, queues=queues), "iosched.known-stall"
    )
    assert [f.severity for f in findings] == ([severity] if severity else [])
    for finding in findings:
        assert finding.subject == "sda" and finding.remedy and finding.references


@every_case(
    ("release", "speaks"),
    [
        ("4.18.0-331.el8.x86_64", True),
        ("4.18.0-338.el8.x86_64", True),
        ("4.18.0-330.el8.x86_64", False),
        ("4.18.0-348.el8.x86_64", False),
    ],
)
def test_a_kernel_known_to_crash(tmp_path: Path, release: str, speaks: bool) -> None:
    assert bool(check(host_of(tmp_path, release=release), "iosched.known-crash")) == speaks


def test_the_remedy_is_a_tuned_profile_where_tuned_sets_a_scheduler(tmp_path: Path) -> None:
    more = {
        "etc/tuned/active_profile": "throughput-performance ours hostdx-sda",
        "usr/lib/tuned/profiles/ours/tuned.conf": "[disk]\nelevator=none\n",
    }
    (finding,) = check(host_of(tmp_path, scheduler="[none] mq-deadline", more=more), "iosched.choice")
    remedy = finding.remedy[0]
    text = "\n".join(remedy.persistent)
    assert "/etc/tuned/profiles/hostdx-sda/tuned.conf" in text and "devices=sda" in text
    # every active profile stays, none includes itself, and the undo is tuned's as well
    assert "tuned-adm profile throughput-performance ours hostdx-sda" in remedy.persistent
    assert "include=" not in text and "udev" not in text
    assert remedy.undo[1:] == (
        "tuned-adm profile throughput-performance ours",
        "rm -r /etc/tuned/profiles/hostdx-sda",
    )
    assert "ours/tuned.conf" in remedy.warning


@pytest.mark.parametrize("active", ["cfq", "deadline"])
def test_defaults_of_the_single_queue_layer(tmp_path: Path, active: str) -> None:
    offered = " ".join(f"[{s}]" if s == active else s for s in ("noop", "deadline", "cfq"))
    host = host_of(tmp_path, scheduler=offered, queues=0, release="3.10.0-1160.el7.x86_64")
    state = read_scheduler_state(host, "sda")
    assert not isinstance(state, Absent) and find_scheduler_origin(host, state).kind == "default"


def test_a_rule_that_does_not_hold(tmp_path: Path) -> None:
    rule = 'ACTION=="add|change", KERNEL=="sd*", ATTR{queue/scheduler}="bfq"'
    host = host_of(tmp_path, more={"etc/udev/rules.d/60-x.rules": rule})
    (finding,) = check(host, "iosched.conflict")
    assert all(word in finding.title for word in ("bfq", "sda", "mq-deadline"))


@every_case(
    ("section", "speaks"),
    [
        ("[disk]\nelevator=bfq\n", True),
        ("[ours]\ntype=disk\ndevices=sd*\nelevator=bfq\n", True),
        ("[disk]\ndevices=sdz\nelevator=bfq\n", False),  # for another disk
        ("[disk]\ndevices=!sda\nelevator=bfq\n", False),
        ("[disk]\nelevator=mq-deadline\n", False),  # that is what is active
    ],
)
def test_a_profile_that_does_not_hold(tmp_path: Path, section: str, speaks: bool) -> None:
    more = {"etc/tuned/active_profile": "ours", "etc/tuned/ours/tuned.conf": section}
    findings = check(host_of(tmp_path, more=more), "iosched.conflict")
    assert bool(findings) == speaks
    if findings:
        assert all(word in findings[0].title for word in ("tuned", "bfq", "sda"))
        assert findings[0].evidence[0].source == "/etc/tuned/ours/tuned.conf"


def test_the_talks_log_leads_to_the_stall(tmp_path: Path) -> None:
    host = host_of(tmp_path, release=EL8_5, scheduler="mq-deadline [bfq]", queues=8)
    (tmp_path / "var/log").mkdir(parents=True)
    shutil.copy(DATA / "bfq-stall.txt", tmp_path / "var/log/messages")
    findings = {f.id: f for f in check(host, "iosched.hung-tasks")}
    assert set(findings) == {"iosched.hung-tasks", "iosched.stalled"}
    assert findings["iosched.stalled"].severity == "critical"
    assert any(
        "xrootd (13150)" in e.text and "blk_mq_get_tag" in e.text
        for e in findings["iosched.stalled"].evidence
    )


def test_the_null_pointer_is_found_with_its_fix(tmp_path: Path) -> None:
    host = host_of(tmp_path, release="4.18.0-338.el8.x86_64")
    (tmp_path / "var/log").mkdir(parents=True)
    shutil.copy(DATA / "null-dereference.txt", tmp_path / "var/log/dmesg")
    (finding,) = check(host, "iosched.null-pointer")
    assert finding.severity == "critical" and "4.18.0-348" in finding.remedy[0].title


def test_tasks_in_d_are_listed_with_what_they_wait_for(tmp_path: Path) -> None:
    host = host_of(tmp_path)
    folder = tmp_path / "proc/20/task/20"
    folder.mkdir(parents=True)
    line = "20 (x[bold]\x1b) D " + " ".join(["1"] * 5 + ["0"] + ["1"] * 44)
    for place in (folder, folder.parent.parent):
        (place / "stat").write_text(line)
        (place / "wchan").write_text("rpc_wait_bit_killable")
    (finding,) = check(host, "iosched.tasks-in-d")
    assert (finding.id, finding.severity) == ("iosched.tasks-in-d", "notice")
