"""Who trims by itself: systemd's timer in all its states, cron, and what fstab leaves out."""

from __future__ import annotations

from pathlib import Path

import pytest

from probes.system.disk.trim.trim_jobs import (
    TrimJob,
    explain_fstab_skip,
    explain_skip,
    find_calls,
    is_trim_refused,
    service_jobs,
)
from probes.system.disk.trim.trim_timer import (
    explain_timer_miss,
    explain_untrimmed,
    timer_schedule,
    trim_timer,
)
from probes.types import Absent
from tests.every_case import every_case
from tests.fakes.answering import Answering
from tests.fakes.hosts.tree import Tree

ASK = "systemctl show fstrim.timer -p LoadState,ActiveState,UnitFileState,LastTriggerUSec"
UNIT = "/usr/lib/systemd/system/fstrim.timer"
WEEKLY = "[Timer]\nOnCalendar=weekly\nAccuracySec=1h\nPersistent=true\n"


def answer(load: str, active: str, enabled: str, last: str) -> str:
    return f"LoadState={load}\nActiveState={active}\nUnitFileState={enabled}\nLastTriggerUSec={last}\n"


@every_case(
    ("said", "enabled", "active", "trims", "last"),
    [
        (answer("loaded", "active", "enabled", "Mon 2026-11-16 00:13:11 UTC"), True, True, True, "Mon 2026-11-16"),
        (answer("loaded", "inactive", "disabled", "n/a"), False, False, False, ""),
        (answer("loaded", "active", "disabled", "n/a"), False, True, True, ""),
        (answer("loaded", "inactive", "enabled", "n/a"), True, False, False, ""),
        (answer("not-found", "inactive", "", ""), False, False, False, ""),
    ],
)  # fmt: skip
def test_what_systemd_says(
    tmp_path: Path, said: str, enabled: bool, active: bool, trims: bool, last: str
) -> None:
    timer = trim_timer(Answering(tmp_path, {ASK: said}, {UNIT: WEEKLY}))
    assert (timer.enabled, timer.active, timer.is_timer_on) == (enabled, active, trims)
    assert str(timer.last).startswith(last) if last else isinstance(timer.last, Absent)


def test_without_systemd_running_the_link_tells(tree: Tree) -> None:
    tree.put(UNIT, WEEKLY)
    off = trim_timer(tree.host())
    assert off.enabled is False and off.is_timer_on is False and isinstance(off.active, Absent)
    tree.put("/etc/systemd/system/timers.target.wants/fstrim.timer", "")
    on = trim_timer(tree.host())
    assert on.enabled is True and on.is_timer_on is True


def test_a_dangling_link_of_a_capture_counts(tree: Tree) -> None:
    tree.put(UNIT, WEEKLY)
    tree.link("/etc/systemd/system/timers.target.wants/fstrim.timer", UNIT)
    assert trim_timer(tree.host()).enabled is True


def test_a_capture_without_units_knows_nothing(tree: Tree) -> None:
    timer = trim_timer(tree.host())
    assert isinstance(timer.enabled, Absent) and isinstance(timer.is_timer_on, Absent)


def test_a_drop_in_clears_and_replaces_the_schedule(tree: Tree) -> None:
    tree.put(UNIT, WEEKLY)
    assert timer_schedule(tree.host()) == "weekly"
    tree.put("/etc/systemd/system/fstrim.timer.d/override.conf", "[Timer]\nOnCalendar=\nOnCalendar=daily\n")
    assert timer_schedule(tree.host()) == "daily"


def test_a_cron_job_trims_but_not_a_commented_one(tree: Tree) -> None:
    tree.put(UNIT, WEEKLY).put("/etc/cron.weekly/fstrim", "#!/bin/sh\n/sbin/fstrim --all || true\n")
    tree.put("/etc/cron.d/other", "# fstrim -a would be nice\n0 1 * * * root true\n")
    timer = trim_timer(tree.host())
    assert timer.cron_files == ("/etc/cron.weekly/fstrim",)


FSTAB = """# comment
UUID=1 / ext4 defaults 0 1
UUID=2 /with\\040space xfs defaults 0 0
UUID=3 /not xfs defaults,X-fstrim.notrim 0 0
/x /bound none bind 0 0
"""


@pytest.mark.parametrize(
    ("mountpoint", "why"),
    [
        ("/", ""),
        ("/with space", ""),
        ("/not", "X-fstrim.notrim"),
        ("/bound", "not in /etc/fstab"),
        ("/by/hand", "not in /etc/fstab"),
    ],
)
def test_what_fstab_leaves_out(tree: Tree, mountpoint: str, why: str) -> None:
    found = explain_fstab_skip(tree.put("/etc/fstab", FSTAB).host(), (mountpoint,))
    assert why in found and bool(found) == bool(why)


@pytest.mark.parametrize("text", ["", "# nothing\n\n"])
def test_an_empty_fstab_leaves_nothing_out(tree: Tree, text: str) -> None:
    """fstrim --listed-in takes the next file then (fstrim(8))."""
    assert explain_fstab_skip(tree.put("/etc/fstab", text).host(), ("/data",)) == ""


def test_one_of_several_mount_points_is_enough(tree: Tree) -> None:
    host = tree.put("/etc/fstab", FSTAB).host()
    assert explain_fstab_skip(host, ("/by/hand", "/with space")) == ""
    assert explain_fstab_skip(host, ("/by/hand", "/")) == ""
    assert explain_fstab_skip(host, ("/by/hand", "/not")) == "X-fstrim.notrim in /etc/fstab"
    assert (
        is_trim_refused(host, ("/not",))
        and not is_trim_refused(host, ("/not", "/"))
        and not is_trim_refused(host, ("/by",))
    )


def test_the_root_is_trimmed_even_if_fstab_does_not_name_it(tree: Tree) -> None:
    assert explain_fstab_skip(tree.put("/etc/fstab", "UUID=2 /data xfs defaults 0 0\n").host(), ("/",)) == ""


@every_case(
    ("text", "found"),
    [
        ("fstrim -av", [("all", ())]),
        ("/sbin/fstrim --all || true", [("all", ())]),
        ("/usr/sbin/fstrim --listed-in /etc/fstab:/proc/self/mountinfo --verbose", [("listed", ())]),
        ("fstrim -I /proc/self/mountinfo", [("all", ())]),
        ("fstrim -A", [("listed", ())]),
        ("0 3 * * * root fstrim -v /data >> /var/log/trim 2>&1", [("paths", ("/data",))]),
        ("fstrim / && fstrim -m 1M /home", [("paths", ("/",)), ("paths", ("/home",))]),
        ("sh -c 'fstrim -v /data'", [("paths", ("/data",))]),
        ("for m in / /data; do fstrim -v $m; done", [("unknown", ())]),
        ("exec fstrim-all", [("all", ())]),
        ("[ -x /sbin/fstrim ] || exit 0\n/sbin/fstrim -v '/my data'", [("paths", ("/my data",))]),
        ("# fstrim -a", []),
        ("fstrim -n -a", [("unknown", ())]),
        ("fstrim 'unclosed", [("unknown", ())]),
    ],
)  # fmt: skip
def test_what_a_call_reaches(text: str, found: list[tuple[str, tuple[str, ...]]]) -> None:
    assert [(job.reach, job.paths) for job in find_calls(text, "x")] == found


SERVICE = "[Service]\nType=oneshot\nExecStart=/sbin/fstrim --listed-in /etc/fstab:/proc/self/mountinfo\n"
OWN = "/etc/systemd/system/fstrim.service.d/override.conf"


def test_drop_ins_of_the_service_count(tree: Tree) -> None:
    tree.put("/usr/lib/systemd/system/fstrim.service", SERVICE)
    assert [job.reach for job in service_jobs(tree.host())] == ["listed"]
    tree.put(OWN, "[Service]\nExecStart=\nExecStart=-/usr/sbin/fstrim -av --quiet-unsupported\n")
    assert [job.reach for job in service_jobs(tree.host())] == ["all"]
    tree.put(OWN, "[Service]\nExecStart=-/usr/sbin/fstrim -v \\\n  /data\n")
    assert [(job.reach, job.paths) for job in service_jobs(tree.host())] == [
        ("listed", ()),
        ("paths", ("/data",)),
    ]


def test_a_call_reaches_the_file_system_that_its_path_lies_on(tree: Tree) -> None:
    tree.put(
        "/proc/self/mountinfo", "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n2 1 8:2 / /data rw - xfs /dev/sda2 rw\n"
    )
    job = TrimJob(where="/etc/crontab", reach="paths", paths=("/data/deep",))
    assert explain_skip(tree.host(), job, ("/data",)) == ""
    assert explain_skip(tree.host(), job, ("/",)) == "/etc/crontab trims only /data/deep"


def test_why_nothing_trims_it(tree: Tree) -> None:
    tree.put(UNIT, WEEKLY).put("/usr/lib/systemd/system/fstrim.service", SERVICE).put("/etc/fstab", FSTAB)
    tree.put("/etc/cron.d/trim", "0 1 * * * root fstrim /\n")
    host = tree.host()
    timer = trim_timer(host)
    assert explain_untrimmed(host, timer, ("/",)) == ""
    why = str(explain_untrimmed(host, timer, ("/by/hand",)))
    assert "fstrim.timer is off" in why and "/etc/cron.d/trim trims only /" in why
    assert "not in /etc/fstab" in explain_timer_miss(host, timer, ("/by/hand",))
    assert explain_timer_miss(host, timer, ("/with space",)) == ""


def test_another_timer_of_the_admin_counts(tree: Tree) -> None:
    tree.put(UNIT, WEEKLY).put(
        "/etc/systemd/system/nightly.service", "[Service]\nExecStart=/sbin/fstrim -v /data\n"
    )
    assert trim_timer(tree.host()).jobs == ()
    tree.link("/etc/systemd/system/timers.target.wants/nightly.timer", "../nightly.timer")
    assert trim_timer(tree.host()).cron_files == ("nightly.service",)
