"""The disk fails under a run of every scenario that works on one, or its quota is reached: one line says which, and
nothing is left; `undo` clears up as soon as a disk answers again.
"""

import errno
import fcntl
import os
import struct
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from hostdx.probes.files.rights import advice_for_failed_write
from tests.app.launcher import run_hostdx, start_hostdx
from tests.needs import KNOWN_DISK, LOOP, ROOT, need, needs, one_always, program
from tests.real.iosched_kill import kill_all
from tests.real.loop_disk import LoopDisk
from tests.real.own_disk import sh
from tests.real.polled import happens
from tests.real.short_runs import NEEDS, OPTIONS
from tests.real.trim_disk import TrimDisk

pytestmark = [pytest.mark.real, needs(ROOT, LOOP, KNOWN_DISK)]
SHUTDOWN, WITHOUT_LOG = (
    0x8004587D,
    2,
)  # EXT4_IOC_SHUTDOWN, fs/ext4/ext4.h: what ext4 does when its device is gone
RUNS = OPTIONS | {"checkup": ("--dir", "{dir}", "--only", "storage", "--budget", "30", "--yes")}
STATUS = {"checkup": 0}  # it goes on with its other parts, and its answer says what it had to skip
FAILED = [os.strerror(number) for number in (errno.EIO, errno.EBADMSG, errno.EUCLEAN)]


def words_of(scenario: str, directory: Path, device: str) -> list[str]:
    return ["run", scenario, *(word.format(dir=directory, device=device) for word in RUNS[scenario])]


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[LoopDisk]:
    with LoopDisk(tmp_path) as loop_disk:
        yield loop_disk
        kill_all(tmp_path)


def fail(place: Path) -> None:
    sh("sync", "-f", str(place))  # else the directory that holds the run's is gone as well
    directory = os.open(place, os.O_RDONLY)
    try:
        fcntl.ioctl(directory, SHUTDOWN, struct.pack("=I", WITHOUT_LOG))
    finally:
        os.close(directory)


@pytest.mark.parametrize(
    "scenario",
    one_always("storage", "box", "checkup", "fstrim", "fullstack", "iosched", "kernel", "null", "prove"),
)
def test_a_disk_that_fails_in_the_middle_is_named_and_undo_waits_for_it(
    tmp_path: Path, disk: LoopDisk, scenario: str
) -> None:
    need(*NEEDS.get(scenario, ()))
    run = start_hostdx(tmp_path, *words_of(scenario, disk.directory, disk.device))
    try:
        assert happens(lambda: any(disk.directory.glob(".hostdx-*")) or run.poll() is not None)
        fail(disk.mountpoint)
        errors = run.communicate(timeout=100)[1].decode()
    finally:
        run.kill()
    assert run.returncode == STATUS.get(scenario, 3), errors
    last = next(line for line in reversed(errors.splitlines()) if str(disk.directory) in line)
    assert (
        any(text in last for text in FAILED) and f"/dev/{disk.device}, ext4 on {disk.mountpoint}" in last
    ), errors
    assert run_hostdx(tmp_path, "undo").returncode == 3, "the disk does not answer yet"
    sh("umount", str(disk.mountpoint))
    subprocess.run(["e2fsck", "-fy", f"/dev/{disk.device}"], capture_output=True, check=False)
    sh("mount", f"/dev/{disk.device}", str(disk.mountpoint))
    undo = run_hostdx(tmp_path, "undo")
    assert undo.returncode == 0, undo.stderr
    assert list(disk.directory.iterdir()) == []
    assert not list((tmp_path / "state/hostdx/journal").iterdir())


@needs(program("btrfs"))
@pytest.mark.parametrize(
    "scenario", one_always("fstrim", "storage", "box", "checkup", "fullstack", "null", "kernel")
)
def test_a_quota_that_is_reached_is_one_line_and_leaves_nothing(tmp_path: Path, scenario: str) -> None:
    with TrimDisk(tmp_path, "btrfs") as disk:
        directory = disk.mountpoint / "data"
        sh("btrfs", "subvolume", "create", str(directory))
        sh("btrfs", "quota", "enable", str(disk.mountpoint))
        sh("btrfs", "qgroup", "limit", "20M", str(directory))
        ended = run_hostdx(tmp_path, *words_of(scenario, directory, disk.device), timeout=120)
        assert ended.returncode == STATUS.get(scenario, 3), ended.stderr
        last = next(line for line in reversed(ended.stderr.splitlines()) if str(directory) in line)
        assert os.strerror(errno.EDQUOT) in last and advice_for_failed_write(errno.EDQUOT, "") in last, (
            ended.stderr
        )
        assert list(directory.iterdir()) == []
        assert not list((tmp_path / "state/hostdx/journal").iterdir())
