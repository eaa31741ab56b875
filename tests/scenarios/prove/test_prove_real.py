"""Real proofs on objects of the test's own: two control groups that share a core, a process and what it starts."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.app.launcher import run_hostdx, start_hostdx
from tests.needs import ROOT, needs, not_here
from tests.real.polled import happens
from tests.scenarios.prove.planters import GROUPS, Plant, larger_share


@pytest.fixture
def planted_share() -> Iterator[Plant]:
    """Two control groups (version 1) with a process each, both on one core."""
    if not (GROUPS / "cpu/tasks").exists():
        not_here("no cpu controller of control groups version 1")
    with larger_share() as plant:
        yield plant


TRUE_RATIO = 4 / 3  # a share of 2 of 3 instead of 1 of 2


def command_words(plant: Plant) -> tuple[str, ...]:
    return ("run", "prove", "--setting", plant.setting, *plant.words, "--budget", "90")


@needs(ROOT)
@pytest.mark.real("cpu")
@pytest.mark.noisy("the CPU time of two processes beside whatever else runs", false_failures="0 of 3")
@pytest.mark.soak(
    "stopped in the middle the share is as before; outcomes of planted effects in `test_scenario.py`"
)
def test_a_larger_share_of_a_core_helps_as_much_as_it_is_larger(tmp_path: Path, planted_share: Plant) -> None:
    done = run_hostdx(tmp_path, *command_words(planted_share), "--yes", "--json", timeout=240)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    [line] = document["settings"]["settings"]
    assert line["outcome"] == "helps" and line["ci95"][0] <= TRUE_RATIO <= line["ci95"][1]
    assert planted_share.file.read_text() == "1024\n"
    assert not list((tmp_path / "state").glob("**/journal*/*"))


@needs(ROOT)
@pytest.mark.real
def test_stopped_in_the_middle_the_share_is_as_before(tmp_path: Path, planted_share: Plant) -> None:
    file = planted_share.file
    done = run_hostdx(tmp_path, *command_words(planted_share))
    assert done.returncode == 3 and file.read_text() == "1024\n"
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    runner = start_hostdx(tmp_path, *command_words(planted_share), "--yes", **quiet)
    try:
        assert happens(lambda: file.read_text() == "2048\n", 60)
        began = time.monotonic()
        runner.kill()
        runner.wait()
        assert happens(lambda: file.read_text() == "1024\n", 30), time.monotonic() - began
    finally:
        runner.kill()
        runner.wait()


# computes, and starts a child whenever it is told to
STARTER = """
import signal, subprocess
signal.signal(signal.SIGUSR1, lambda *_: print(subprocess.Popen(["sleep", "60"]).pid, flush=True))
print("ready", flush=True)
while True: pass
"""


@needs(ROOT)
@pytest.mark.real
def test_a_nice_value_is_put_back_after_a_kill_of_what_the_process_started_too(tmp_path: Path) -> None:
    job = subprocess.Popen([sys.executable, "-c", STARTER], stdout=subprocess.PIPE, text=True)
    child = 0
    try:
        assert job.stdout is not None and job.stdout.readline() == "ready\n"
        setting = ("--setting", f"nice:{job.pid}=5", "--pid", str(job.pid), "--progress", "cpu")
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        nice = os.getpriority(os.PRIO_PROCESS, job.pid)
        runner = start_hostdx(tmp_path, "run", "prove", *setting, "--budget", "90", "--yes", **quiet)
        try:
            assert happens(lambda: os.getpriority(os.PRIO_PROCESS, job.pid) == 5, 60)
            job.send_signal(signal.SIGUSR1)
            child = int(job.stdout.readline())
        finally:
            runner.kill()
            runner.wait()
        assert happens(
            lambda: {os.getpriority(os.PRIO_PROCESS, pid) for pid in (job.pid, child)} == {nice}, 30
        )
        assert happens(lambda: not list((tmp_path / "state").glob("**/journal*/*")), 30)
    finally:
        job.kill()
        job.wait()
        if child:
            os.kill(child, signal.SIGKILL)
