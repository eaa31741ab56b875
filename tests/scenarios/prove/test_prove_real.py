"""Real proofs on objects of the test's own: two control groups that share a core."""

import json
import os
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.app.launcher import hostdx, started
from tests.needs import ROOT, needs, not_here
from tests.real.polled import within

BURN = "import os,sys\nos.sched_setaffinity(0, {max(os.sched_getaffinity(0))})\nwhile True: pass"
GROUPS = Path("/sys/fs/cgroup/cpu")
TRUE_RATIO = 4 / 3  # a share of 2 of 3 instead of 1 of 2


@pytest.fixture
def competing() -> Iterator[tuple[Path, Path]]:
    """Two control groups (version 1) with a process each, both on one core."""
    if not (GROUPS / "cpu.shares").exists() and not (GROUPS / "tasks").exists():
        not_here("no cpu controller of control groups version 1")
    parent = GROUPS / f"hostdx-test-{uuid.uuid4().hex[:8]}"
    groups = (parent / "one", parent / "other")
    burners: list[subprocess.Popen[bytes]] = []
    try:
        for group in (parent, *groups):
            group.mkdir()
        for group in groups:
            burners.append(subprocess.Popen([sys.executable, "-c", BURN]))
            (group / "cgroup.procs").write_text(str(burners[-1].pid))
        yield groups
    finally:
        for burner in burners:
            burner.kill()
            burner.wait()
        for group in (*groups, parent):
            if group.exists():
                assert within(lambda group=group: removed(group))  # type: ignore[misc]


def removed(group: Path) -> bool:
    try:
        group.rmdir()
    except OSError:
        return False
    return True


def words(group: Path, value: str) -> tuple[str, ...]:
    setting = f"cgroup:{group.relative_to('/sys/fs/cgroup')}/cpu.shares={value}"
    return (
        *("run", "prove", "--setting", setting, "--cgroup", str(group), "--progress", "cpu"),
        *("--budget", "90"),
    )


@needs(ROOT)
@pytest.mark.real("cpu")
@pytest.mark.noisy("the CPU time of two processes beside whatever else runs", false_failures="0 of 3")
@pytest.mark.soak(
    "stopped in the middle the share is as before; outcomes of planted effects in `test_scenario.py`"
)
def test_a_larger_share_of_a_core_helps_as_much_as_it_is_larger(
    tmp_path: Path, competing: tuple[Path, Path]
) -> None:
    group, _ = competing
    done = hostdx(tmp_path, *words(group, "2048"), "--yes", "--json", timeout=240)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    [line] = document["settings"]["settings"]
    assert line["outcome"] == "helps" and line["ci95"][0] <= TRUE_RATIO <= line["ci95"][1]
    assert (group / "cpu.shares").read_text() == "1024\n"
    assert not list((tmp_path / "state").glob("**/journal*/*"))


@needs(ROOT)
@pytest.mark.real
def test_stopped_in_the_middle_the_share_is_as_before(tmp_path: Path, competing: tuple[Path, Path]) -> None:
    group, _ = competing
    refused = hostdx(tmp_path, *words(group, "2048"))
    assert refused.returncode == 3 and (group / "cpu.shares").read_text() == "1024\n"
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    runner = started(tmp_path, *words(group, "2048"), "--yes", **quiet)
    try:
        assert within(lambda: (group / "cpu.shares").read_text() == "2048\n", 60)
        began = time.monotonic()
        runner.kill()
        runner.wait()
        assert within(lambda: (group / "cpu.shares").read_text() == "1024\n", 30), time.monotonic() - began
    finally:
        runner.kill()
        runner.wait()


@needs(ROOT)
@pytest.mark.real
def test_a_setting_that_is_no_file_is_put_back_after_a_kill(tmp_path: Path) -> None:
    job = subprocess.Popen([sys.executable, "-c", BURN])
    try:
        setting = ("--setting", f"nice:{job.pid}=5", "--pid", str(job.pid), "--progress", "cpu")
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        own = os.getpriority(os.PRIO_PROCESS, job.pid)
        runner = started(tmp_path, "run", "prove", *setting, "--budget", "90", "--yes", **quiet)
        try:
            assert within(lambda: os.getpriority(os.PRIO_PROCESS, job.pid) == 5, 60)
        finally:
            runner.kill()
            runner.wait()
        assert within(lambda: os.getpriority(os.PRIO_PROCESS, job.pid) == own, 30)
        assert within(lambda: not list((tmp_path / "state").glob("**/journal*/*")), 30)
    finally:
        job.kill()
        job.wait()
