"""A real run followed in real terminals to its end, and its recording replayed: the same screen, cell for cell."""

from __future__ import annotations

import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.app.launcher import started
from tests.fakes.terminals.same_screen import agree, opened
from tests.fakes.terminals.terminal import Terminal
from tests.real.iosched_kill import journals, kill_all, ours
from tests.real.polled import within

pytestmark = [pytest.mark.real]
SIZES = ((80, 24), (120, 40))


@pytest.fixture
def disk() -> Iterator[Path]:
    """A directory on a disk: /tmp is memory on many machines."""
    with tempfile.TemporaryDirectory(dir="/var/tmp", prefix="hostdx-test-") as made:
        yield Path(made)


def to_the_blocks(terminal: Terminal) -> None:
    terminal.press("v")
    terminal.until(lambda: "FINDINGS" not in terminal.shown and "load" in terminal.shown, "the blocks")


@pytest.mark.soak("a replay at full speed ends on the live screen cell for cell, without a terminal")
def test_it_ends_on_the_live_screen_at_both_sizes(tmp_path: Path, disk: Path) -> None:
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    runner = started(tmp_path, "run", "null", f"--dir={disk}", "--size=64MiB", "--budget=6", **quiet)
    with ExitStack() as stack:
        stack.callback(kill_all, tmp_path)
        recording = the_recording(tmp_path, runner)
        runner.send_signal(signal.SIGSTOP)  # else it may be over before a busy machine shows it
        live = [opened(tmp_path, "attach", recording.name, size=size) for size in SIZES]
        for one in live:
            stack.callback(one.close)
            one.wait("● live")
        assert runner.poll() is None, "nothing was followed: the run was over before"
        runner.send_signal(signal.SIGCONT)
        for one in live:
            one.wait("FINDINGS", 120)
        assert runner.wait(30) == 0, live[0].shown
        again = [opened(tmp_path, "replay", str(recording), "--speed=1000", size=size) for size in SIZES]
        for replay in again:
            stack.callback(replay.close)
        for one, replay in zip(live, again, strict=True):
            replay.wait("done after", 60)
            agree(one, replay, "the verdict")
            to_the_blocks(one)
            to_the_blocks(replay)
            agree(one, replay, "the blocks")
    assert not journals(tmp_path) and within(lambda: not ours(tmp_path))
    assert not list(disk.iterdir())


def the_recording(place: Path, runner: subprocess.Popen[bytes]) -> Path:
    """As soon as it is there and names the run."""
    end = time.monotonic() + 30
    while time.monotonic() < end:
        found = list((place / "state/hostdx/recordings").glob("*.jsonl"))
        if found and found[0].stat().st_size:
            return found[0]
        assert runner.poll() is None, "the run was refused"
        time.sleep(0.02)
    raise AssertionError("the run recorded nothing")
