"""A device that fails or is gone is named in the error."""

from __future__ import annotations

import errno
import fcntl
import os
import struct
from pathlib import Path

import pytest

from probes.system.disk.failing import whose_error
from tests.app.launcher import hostdx
from tests.needs import ROOT, needs
from tests.real.loop_disk import LoopDisk
from tests.real.short_runs import short_run

SHUTDOWN, WITHOUT_LOG = (
    0x8004587D,
    2,
)  # EXT4_IOC_SHUTDOWN, fs/ext4/ext4.h: what ext4 does when its device is gone


def test_the_device_is_named_where_the_error_is_its_own() -> None:
    told = whose_error("/proc/self", errno.EIO)
    assert told == " (proc, proc on /proc, fails or is gone: see dmesg)"
    assert whose_error("/proc/self", errno.EBADMSG) == whose_error("/proc/self", errno.EUCLEAN) == told
    assert whose_error("/proc/self", errno.ENOSPC) == whose_error("/proc/self", None) == ""


@pytest.mark.real
@needs(ROOT)
@pytest.mark.parametrize("scenario", ["null", "fstrim"])
def test_a_run_on_a_dead_file_system_ends_with_one_line(tmp_path: Path, scenario: str) -> None:
    with LoopDisk(tmp_path) as disk:
        fd = os.open(disk.mountpoint, os.O_RDONLY)
        try:
            fcntl.ioctl(fd, SHUTDOWN, struct.pack("=I", WITHOUT_LOG))
        finally:
            os.close(fd)
        ended = hostdx(tmp_path, *short_run(scenario, disk))
        last = ended.stderr.splitlines()[-1]
        assert ended.returncode == 3 and "Traceback" not in ended.stderr
        told = [os.strerror(number) for number in (errno.EIO, errno.EBADMSG, errno.EUCLEAN)]
        assert str(disk.directory) in last and any(text in last for text in told), ended.stderr
        assert f"/dev/{disk.device}, ext4 on {disk.mountpoint}, fails or is gone: see dmesg" in last, (
            ended.stderr
        )
