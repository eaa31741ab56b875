"""`hostdx run contention` for real: in a directory, and in memory as root; killed it leaves nothing."""

import os
import signal
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from hostdx.probes.reading.process_stat import is_running, read_live_stat
from tests.app.launcher import start_hostdx
from tests.needs import LOOP, ROOT, needs, program
from tests.real.polled import happens

pytestmark = [pytest.mark.real]
HOLDER = b"hostdx.scenarios.contention.measurement.server"


@pytest.fixture
def disk() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(dir="/var/tmp", prefix="hostdx-test-") as folder:
        yield Path(folder)


def own_loops() -> set[str]:
    """Loop devices of ours: backed by a file in our tmpfs, whose path only that mount namespace knows."""
    loops: set[str] = set()
    for path in Path("/sys/block").glob("loop*/loop/backing_file"):
        try:
            if path.read_text().rstrip().endswith((".image", "(deleted)")):
                loops.add(path.parts[3])
        except OSError:
            continue  # another test's, which is gone meanwhile
    return loops


@needs(ROOT, LOOP, program("mkfs.ext4", "mount"))
def test_killed_in_memory_it_leaves_neither_mount_nor_loop_device_nor_process(tmp_path: Path) -> None:
    before = own_loops()
    process = start_hostdx(tmp_path, "run", "contention", "--yes", "--workers", "2")
    try:
        assert happens(lambda: len(own_loops()) > len(before), 60)
        holder = _find_holder(process.pid)
        here = Path("/proc/self/ns/mnt").readlink()  # the loop device may have been another test's
        assert happens(lambda: Path(f"/proc/{holder}/ns/mnt").readlink() != here, 60)
        assert happens(lambda: len(own_loops()) > len(before), 60)
        new_loops, mounts = own_loops() - before, Path("/proc/self/mountinfo").read_text()
        assert not any(f"/dev/{loop} " in mounts for loop in new_loops)
    finally:
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
    assert happens(lambda: not new_loops & own_loops() and not is_running(holder), 30)
    journal = tmp_path / "state/hostdx/journal"
    assert happens(lambda: not list(journal.iterdir()), 30)


def _find_holder(runner: int) -> int:
    until = time.monotonic() + 20
    while time.monotonic() < until:
        for path in Path("/proc").glob("[0-9]*"):
            stat = read_live_stat(path.name)
            if stat is None or stat.parent_pid != runner:
                continue
            try:
                if HOLDER in (path / "cmdline").read_bytes().split(b"\0"):
                    return int(path.name)
            except OSError:
                continue
        time.sleep(0.02)
    raise AssertionError("no process that holds the mounts was started")
