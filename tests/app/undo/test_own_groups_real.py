"""Control groups for real: made, a command run and counted in one, removed with all that runs there."""

from __future__ import annotations

import asyncio
import subprocess
from pathlib import Path

import pytest

from app.failure import NotDone
from app.undo import effects, own_groups
from probes.action import Action
from probes.bench.supervised import Order, supervised
from probes.host import Host
from probes.types import Absent
from scenarios.workload.group import group_action, place

pytestmark = pytest.mark.real


def action(**limits: str) -> Action:
    root = place(Host())
    if isinstance(root, Absent):
        pytest.skip(root.reason)
    return group_action("a", root, limits)


def test_what_runs_in_it_ends_with_it() -> None:
    entry = effects.carry_out(effects.prepare(action(), "x"), ())
    group = Path(entry.value)
    with subprocess.Popen(["sleep", "60"]) as asleep:
        try:
            (group / "below").mkdir()
            (group / "below/cgroup.procs").write_text(str(asleep.pid))
            order = Order(
                argv=("sh", "-c", "cat /proc/self/cgroup"), cwd="/", env={}, keep=4096, group=str(group)
            )
            ran = asyncio.run(supervised(order))
            assert group.name in ran.output and ran.cpu_pressure_s is not None
            assert effects.revert(entry).state == "reverted" and not group.exists()
            assert asleep.wait(20) == -9
        finally:
            asleep.kill()
    assert effects.revert(entry).state == "reverted"  # twice does no harm


def test_killed_before_it_was_made() -> None:
    assert effects.revert(effects.prepare(action(), "x")).state == "reverted"


def test_a_limit_that_is_not_accepted_leaves_no_group() -> None:
    entry = effects.prepare(action(**{"no.such": "1"}), "x")
    with pytest.raises(NotDone, match=r"no\.such=1 was not accepted"):
        effects.carry_out(entry, ())
    assert not Path(entry.value).exists()


def test_what_is_not_ours_is_not_touched(tmp_path: Path) -> None:
    (tmp_path / "hostdx-1").mkdir()
    assert own_groups.remove(str(tmp_path)).state == "failed"
    assert own_groups.remove(str(tmp_path / "hostdx-1")).state == "failed"
    assert (tmp_path / "hostdx-1").exists()
    with pytest.raises(NotDone, match="no control group"):
        own_groups.make(str(tmp_path / "hostdx-2"), {})
    assert not (tmp_path / "hostdx-2").exists()
