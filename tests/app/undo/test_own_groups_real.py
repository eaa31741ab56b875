"""Control groups for real: made, a command run and counted in one, removed with all that runs there."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

from hostdx.app.terminal.failure import ChangeNotMade
from hostdx.app.undo import effects
from hostdx.app.undo.kinds import own_groups
from hostdx.probes.engine.command.supervised import CommandOrder, Supervisors
from hostdx.probes.reading.host import Host
from hostdx.probes.types import Absent
from hostdx.scenarios.contract.action import Action
from hostdx.scenarios.workload.group import find_group_root, group_action
from tests.needs import ROOT, needs, not_here

pytestmark = [pytest.mark.real]
USER = 65534


def action(**limits: str) -> Action:
    root = find_group_root(Host())
    if isinstance(root, Absent):
        not_here(root.reason)
    return group_action("a", root, limits)


def test_what_runs_in_it_ends_with_it(supervisors: Supervisors) -> None:
    entry = effects.carry_out_entry(effects.prepare_entry(action(), "x"), ())
    group = Path(entry.value)
    with subprocess.Popen(["sleep", "60"]) as asleep:
        try:
            (group / "below").mkdir()
            (group / "below/cgroup.procs").write_text(str(asleep.pid))
            order = CommandOrder(
                argv=("sh", "-c", "cat /proc/self/cgroup"), cwd="/", env={}, kept_bytes=4096, group=str(group)
            )
            run = asyncio.run(supervisors.run(order))
            assert group.name in run.output and run.cpu_pressure_s is not None
            assert effects.revert_entry(entry).state == "reverted" and not group.exists()
            assert asleep.wait(20) == -9
        finally:
            asleep.kill()
    assert effects.revert_entry(entry).state == "reverted"  # twice does no harm


def test_killed_before_it_was_made() -> None:
    assert effects.revert_entry(effects.prepare_entry(action(), "x")).state == "reverted"


def test_a_limit_that_is_not_accepted_leaves_no_group() -> None:
    entry = effects.prepare_entry(action(**{"no.such": "1"}), "x")
    with pytest.raises(ChangeNotMade, match=r"no\.such=1 was not accepted"):
        effects.carry_out_entry(entry, ())
    assert not Path(entry.value).exists()


def test_what_is_not_ours_is_not_touched(tmp_path: Path) -> None:
    (tmp_path / "hostdx-1").mkdir()
    assert own_groups.remove_group(str(tmp_path)).state == "failed"
    assert own_groups.remove_group(str(tmp_path / "hostdx-1")).state == "failed"
    assert (tmp_path / "hostdx-1").exists()
    with pytest.raises(ChangeNotMade, match="no control group"):
        own_groups.make_group(str(tmp_path / "hostdx-2"), {})
    assert not (tmp_path / "hostdx-2").exists()


# In a group below the delegated one that argv[1] names, as an unprivileged user: a group is made, entered, removed.
AS_USER = f"""
import os, subprocess, sys
from pathlib import Path
from hostdx.app.undo import effects
from hostdx.probes.engine.command.group_counters import enter_group
from hostdx.probes.reading.host import Host
from hostdx.scenarios.workload.group import limits_problem, find_group_root, group_action
enter_group(sys.argv[1] + "/shell")
os.setgroups([]); os.setgid({USER}); os.setuid({USER})
root = find_group_root(Host())
limits = {{"pids.max": "77"}} if not limits_problem(Host(), root, {{"pids.max": "77"}}) else {{}}
entry = effects.carry_out_entry(effects.prepare_entry(group_action("a", root, limits), "x"), ())
told = Path("/proc/self/cgroup")
subprocess.run(["cat", str(told)], preexec_fn=lambda: enter_group(entry.value), check=True)
held = [Path(entry.value, name).read_text().strip() for name in limits]
state = effects.revert_entry(entry).state
print(root, entry.value, state, os.path.exists(entry.value), *held)
"""


@needs(ROOT)
def test_a_users_delegated_group_holds_the_variants() -> None:
    """As systemd's Delegate= and Documentation/admin-guide/cgroup-v2.rst do it: the folder and three of its files."""
    mount = find_group_root(Host())
    if isinstance(mount, Absent):
        not_here(mount.reason)
    delegated = Path(mount, f"hostdx-test-{os.getpid()}")
    shell = delegated / "shell"
    shell.mkdir(parents=True)
    try:
        for path in (delegated, shell):
            for name in ("", "cgroup.procs", "cgroup.threads", "cgroup.subtree_control"):
                os.chown(path / name, USER, USER)
        offered = (delegated / "cgroup.controllers").read_text().split()
        if "pids" in offered:
            (delegated / "cgroup.subtree_control").write_text("+pids")
        done = subprocess.run(
            [sys.executable, "-P", "-c", AS_USER, str(delegated)], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        *inside, last_line = done.stdout.splitlines()
        root, group, state, remains, *pids = last_line.split()
        assert root == str(
            delegated if "pids" in offered else shell
        )  # the nearest of those with most controllers
        assert (state, remains) == ("reverted", "False")
        assert any(line.endswith(Path(group).name) for line in inside)
        assert pids == (["77"] if "pids" in offered else [])
    finally:
        for folder in (*delegated.glob("hostdx-*"), *shell.glob("hostdx-*"), shell, delegated):
            folder.rmdir()
