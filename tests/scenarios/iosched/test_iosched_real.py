"""Real runs on a loop device: restored byte for byte, also after SIGKILL, a full journal, a lost device."""

import contextlib
import json
import os
import random
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.app.launcher import run_hostdx
from tests.needs import KNOWN_DISK, needs
from tests.real.iosched_kill import (
    BRIEF,
    ONLY_SWITCHED,
    kill_all,
    kill_once,
    left_behind,
    run_arguments,
    start,
)
from tests.real.loop_disk import LoopDisk
from tests.real.own_disk import sh, unmount
from tests.real.polled import happens

pytestmark = [pytest.mark.real, needs(KNOWN_DISK)]


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[LoopDisk]:
    with LoopDisk(tmp_path) as loop_disk:
        yield loop_disk


def test_a_full_run_restores_the_queue_byte_for_byte(tmp_path: Path, disk: LoopDisk) -> None:
    before = disk.queue()
    done = run_hostdx(
        tmp_path,
        *("run", "iosched", "--dir", str(disk.directory), *BRIEF),
        *("--json", "--load", "cpu", "--load", "readers", "--budget", "16"),
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["status"] == "done"
    assert disk.queue() == before
    assert happens(lambda: left_behind(tmp_path, disk, before) == []), left_behind(tmp_path, disk, before)
    verdicts = {(v["workload"], v["metric"]): v for v in result["verdicts"]}
    assert {w for w, _ in verdicts} == {"cpu", "readers"}
    for verdict in verdicts.values():
        assert (verdict["baseline"], verdict["variant"]) == ("mq-deadline", "bfq")
    # the control runs at 15 ms a block here: what is asked is that something was really measured and judged
    assert any(v["groups"] for v in verdicts.values())
    findings = {f["id"]: f for f in result["findings"]}
    assert findings["iosched.restored"]["severity"] == "ok"
    assert {"iosched.compared", "iosched.wbt-switch"} <= findings.keys()


def test_without_consent_nothing_is_switched(tmp_path: Path, disk: LoopDisk) -> None:
    before = disk.queue()
    arguments = [a for a in run_arguments(disk) if a != "--yes"]
    done = run_hostdx(tmp_path, *arguments)
    assert done.returncode not in (0, 1)
    assert disk.queue() == before and list(disk.directory.iterdir()) == []


def test_write_back_throttling_by_hand_is_left_alone(tmp_path: Path, disk: LoopDisk) -> None:
    disk.write("wbt_lat_usec", "5000")
    before = disk.queue()
    done = run_hostdx(tmp_path, *run_arguments(disk))
    assert done.returncode == 3 and "set by hand" in done.stderr
    assert disk.queue() == before


def test_a_stop_puts_everything_back_within_two_seconds(tmp_path: Path, disk: LoopDisk) -> None:
    before = disk.queue()
    runner = start(tmp_path, disk)
    wait_for(disk, "[bfq]", runner)
    began = time.monotonic()
    runner.terminate()
    assert runner.wait(30) == 143
    print(f"stopped and undone after {time.monotonic() - began:.2f} s")
    assert happens(lambda: left_behind(tmp_path, disk, before) == []), left_behind(tmp_path, disk, before)


def test_killed_at_random_moments_nothing_is_left(tmp_path: Path, disk: LoopDisk) -> None:
    moments = random.Random(5)
    for number in range(2):
        after_s = moments.uniform(0.3, 4.0)
        problems = kill_once(tmp_path, disk, after_s, supervisor_too=number % 2 == 1)
        assert problems == [], f"killed after {after_s:.2f} s"


def test_with_the_journals_disk_full_nothing_is_changed(tmp_path: Path, disk: LoopDisk) -> None:
    journal = tmp_path / "state/hostdx/journal"
    journal.mkdir(parents=True, mode=0o700)
    for folder in (journal, journal.parent, journal.parent.parent):
        folder.chmod(0o700)
    sh("mount", "-t", "tmpfs", "-o", "size=4k,mode=700", "hostdx-test", str(journal))
    try:
        (journal / "full").write_bytes(b"x" * 4096)
        before = disk.queue()
        done = run_hostdx(tmp_path, *run_arguments(disk))
        assert done.returncode == 3 and "journal cannot be written" in done.stderr
        assert disk.queue() == before and list(disk.directory.iterdir()) == []
    finally:
        unmount(journal)


def test_a_value_that_somebody_else_changed_is_kept_and_said(tmp_path: Path, disk: LoopDisk) -> None:
    killed_on_bfq(tmp_path, disk)
    disk.write("scheduler", "kyber")
    undo = run_hostdx(tmp_path, "undo")
    assert "[kyber]" in disk.read("scheduler")
    assert "another program changed it" in undo.stdout + undo.stderr
    assert list((tmp_path / "state/hostdx/journal").iterdir()) == []


def test_settings_that_somebody_made_since_are_kept(tmp_path: Path, disk: LoopDisk) -> None:
    """The old scheduler again, by somebody's hand, with a depth and a batch of his own."""
    killed_on_bfq(tmp_path, disk)
    disk.write("scheduler", "mq-deadline")
    disk.write("nr_requests", "64")
    disk.write("iosched/fifo_batch", "3")
    undo = run_hostdx(tmp_path, "undo")
    assert (disk.read("nr_requests"), disk.read("iosched/fifo_batch")) == ("64", "3")
    assert "nr_requests is now '64' (it was '48')" in undo.stdout
    assert list((tmp_path / "state/hostdx/journal").iterdir()) == []


@pytest.mark.soak("killed at random moments; a full disk before it begins")
@pytest.mark.parametrize("supervisor_too", [False, True])
def test_killed_with_the_journals_disk_full_by_then(
    tmp_path: Path, disk: LoopDisk, supervisor_too: bool
) -> None:
    """Undoing needs no room: neither its notes nor the striking out."""
    journal = tmp_path / "state/hostdx/journal"
    journal.mkdir(parents=True, mode=0o700)
    for folder in (journal, journal.parent, journal.parent.parent):
        folder.chmod(0o700)
    sh("mount", "-t", "tmpfs", "-o", "size=64k,mode=700", "hostdx-test", str(journal))
    try:
        before = disk.queue()
        runner = start(tmp_path, disk, ONLY_SWITCHED)
        wait_for(disk, "[bfq]", runner)
        with contextlib.suppress(OSError):
            (journal / "full").write_bytes(b"x" * (1 << 17))
        assert os.statvfs(journal).f_bavail == 0
        if supervisor_too:
            kill_all(tmp_path)
        else:
            runner.kill()
        runner.wait()
        deadline = time.monotonic() + 20
        while list(journal.glob("*.jsonl")) and time.monotonic() < deadline:
            run_hostdx(tmp_path, "undo")
        (journal / "full").unlink()
        assert happens(lambda: left_behind(tmp_path, disk, before) == []), left_behind(tmp_path, disk, before)
    finally:
        unmount(journal)


def test_a_device_that_is_gone_is_nothing_to_undo(tmp_path: Path) -> None:
    with LoopDisk(tmp_path) as disk:
        killed_on_bfq(tmp_path, disk)
        disk.remove()
        assert happens(lambda: not Path(f"/sys/block/{disk.device}").exists())
        undo = run_hostdx(tmp_path, "undo")
    assert undo.returncode == 0, undo.stderr
    assert list((tmp_path / "state/hostdx/journal").iterdir()) == []


def killed_on_bfq(tmp_path: Path, disk: LoopDisk) -> None:
    """A run that was killed, with its supervisor, while it measured under bfq: nobody put anything back."""
    runner = start(tmp_path, disk, ONLY_SWITCHED)
    wait_for(disk, "[bfq]", runner)
    kill_all(tmp_path)
    runner.wait()
    if "[bfq]" not in disk.read("scheduler"):
        pytest.fail("it was undone although the supervisor was killed as well")


def wait_for(disk: LoopDisk, word: str, runner: subprocess.Popen[bytes], seconds: float = 30.0) -> None:
    """Until the scheduler file holds the word; the run's switches come every second or so."""
    deadline = time.monotonic() + seconds
    while word not in disk.read("scheduler"):
        assert runner.poll() is None, "the run ended before it switched"
        assert time.monotonic() < deadline, f"no {word} within {seconds:.0f} s"
        time.sleep(0.002)
