"""Who trims by itself: systemd's timer in all its states, cron, and what fstab leaves out."""

from __future__ import annotations

from pathlib import Path

import pytest

from probes.system.trim_timer import left_out_by_fstab, timer_schedule, trim_timer
from probes.types import Absent
from tests.fakes.answering import Answering
from tests.fakes.tree import Tree

ASK = "systemctl show fstrim.timer -p LoadState,ActiveState,UnitFileState,LastTriggerUSec"
UNIT = "/usr/lib/systemd/system/fstrim.timer"
WEEKLY = "[Timer]\nOnCalendar=weekly\nAccuracySec=1h\nPersistent=true\n"


def answer(load: str, active: str, enabled: str, last: str) -> str:
    return f"LoadState={load}\nActiveState={active}\nUnitFileState={enabled}\nLastTriggerUSec={last}\n"


@pytest.mark.parametrize(
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
    assert (timer.enabled, timer.active, timer.trims) == (enabled, active, trims)
    assert str(timer.last).startswith(last) if last else isinstance(timer.last, Absent)


def test_without_systemd_running_the_link_tells(tree: Tree) -> None:
    tree.put(UNIT, WEEKLY)
    off = trim_timer(tree.host())
    assert off.enabled is False and off.trims is False and isinstance(off.active, Absent)
    tree.put("/etc/systemd/system/timers.target.wants/fstrim.timer", "")
    on = trim_timer(tree.host())
    assert on.enabled is True and on.trims is True


def test_a_dangling_link_of_a_capture_counts(tree: Tree) -> None:
    tree.put(UNIT, WEEKLY)
    tree.link("/etc/systemd/system/timers.target.wants/fstrim.timer", UNIT)
    assert trim_timer(tree.host()).enabled is True


def test_a_capture_without_units_knows_nothing(tree: Tree) -> None:
    timer = trim_timer(tree.host())
    assert isinstance(timer.enabled, Absent) and isinstance(timer.trims, Absent)


def test_a_drop_in_clears_and_replaces_the_schedule(tree: Tree) -> None:
    tree.put(UNIT, WEEKLY)
    assert timer_schedule(tree.host()) == "weekly"
    tree.put("/etc/systemd/system/fstrim.timer.d/override.conf", "[Timer]\nOnCalendar=\nOnCalendar=daily\n")
    assert timer_schedule(tree.host()) == "daily"


def test_a_cron_job_trims_but_not_a_commented_one(tree: Tree) -> None:
    tree.put(UNIT, WEEKLY).put("/etc/cron.weekly/fstrim", "#!/bin/sh\n/sbin/fstrim --all || true\n")
    tree.put("/etc/cron.d/other", "# fstrim -a would be nice\n0 1 * * * root true\n")
    timer = trim_timer(tree.host())
    assert timer.cron == ("/etc/cron.weekly/fstrim",) and timer.trims is True


FSTAB = """# comment
UUID=1 / ext4 defaults 0 1
UUID=2 /with\\040space xfs defaults 0 0
UUID=3 /not xfs defaults,X-fstrim.notrim 0 0
"""


@pytest.mark.parametrize(
    ("mountpoint", "why"),
    [("/", ""), ("/with space", ""), ("/not", "X-fstrim.notrim"), ("/by/hand", "not in /etc/fstab")],
)
def test_what_fstab_leaves_out(tree: Tree, mountpoint: str, why: str) -> None:
    found = left_out_by_fstab(tree.put("/etc/fstab", FSTAB).host(), mountpoint)
    assert why in found and bool(found) == bool(why)


@pytest.mark.parametrize("text", ["", "# nothing\n\n"])
def test_an_empty_fstab_leaves_nothing_out(tree: Tree, text: str) -> None:
    """fstrim --listed-in takes the next file then (fstrim(8))."""
    assert left_out_by_fstab(tree.put("/etc/fstab", text).host(), "/data") == ""
