"""A device that fails or is gone is named in the error."""

import errno
import fcntl
import os
import struct
import subprocess
from pathlib import Path

import pytest

from hostdx.probes.files.rights import advice_for_failed_write
from hostdx.probes.system.disk.failing import cause_and_advice, device_error_suffix, is_made_read_only
from hostdx.probes.system.disk.mounts import parse_mountinfo
from hostdx.probes.types import Absent
from tests.app.launcher import run_hostdx
from tests.every_case import every_case
from tests.needs import ROOT, needs
from tests.real.loop_disk import LoopDisk
from tests.real.short_runs import short_run

SHUTDOWN, WITHOUT_LOG = (
    0x8004587D,
    2,
)  # EXT4_IOC_SHUTDOWN, fs/ext4/ext4.h: what ext4 does when its device is gone


def test_the_device_is_named_where_the_error_is_its_own() -> None:
    suffix = device_error_suffix("/proc/self", errno.EIO)
    assert suffix == " (proc, proc on /proc, fails or is gone: see dmesg)"
    assert (
        device_error_suffix("/proc/self", errno.EBADMSG)
        == device_error_suffix("/proc/self", errno.EUCLEAN)
        == suffix
    )
    assert device_error_suffix("/proc/self", errno.ENOSPC) == device_error_suffix("/proc/self", None) == ""


@every_case(
    "options,source,is_aborted",
    [
        ("rw,relatime|rw,emergency_ro", "/dev/sda1", True),
        ("rw,relatime|ro", "/dev/sda1", True),
        ("rw,relatime|rw", "/dev/mapper/bad", True),
        ("ro,relatime|ro", "/dev/sda1", False),
        ("ro,relatime|rw", "/dev/sda1", False),
        ("rw,relatime|rw,vers=4.2", "filer:/export", False),
    ],
)
def test_which_file_system_was_made_read_only(options: str, source: str, is_aborted: bool) -> None:
    of_mount, of_file_system = options.split("|")
    mount = parse_mountinfo(f"27 1 254:0 / /data {of_mount} - ext4 {source} {of_file_system}")
    assert mount is not None and is_made_read_only(mount) == is_aborted
    assert not is_made_read_only(Absent("no mount table"))


@pytest.mark.real
@needs(ROOT)
def test_a_file_system_that_the_kernel_made_read_only_is_told_from_one_that_was_mounted_so(
    tmp_path: Path,
) -> None:
    with LoopDisk(tmp_path) as disk:
        subprocess.run(["mount", "-o", "remount,ro", str(disk.mountpoint)], check=True)
        assert device_error_suffix(str(disk.mountpoint), errno.EROFS) == ""
        subprocess.run(["mount", "-o", "remount,rw,errors=remount-ro", str(disk.mountpoint)], check=True)
        # some kernels go on saying `rw` after the error
        assert f"/dev/{disk.device}, " in device_error_suffix(str(disk.mountpoint), errno.EROFS)
        Path(f"/sys/fs/ext4/{disk.device}/trigger_fs_error").write_text("a test of hostdx")
        with pytest.raises(OSError, match=os.strerror(errno.EROFS)):
            (disk.mountpoint / "new").touch()
        suffix = device_error_suffix(str(disk.mountpoint), errno.EROFS)
        assert f"/dev/{disk.device}, ext4 on {disk.mountpoint}" in suffix
        assert cause_and_advice(errno.EROFS, str(disk.mountpoint)).endswith(
            advice_for_failed_write(errno.EIO, "name another directory")
        )


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
        ended = run_hostdx(tmp_path, *short_run(scenario, disk))
        last = ended.stderr.splitlines()[-1]
        assert ended.returncode == 3 and "Traceback" not in ended.stderr
        strerrors = [os.strerror(number) for number in (errno.EIO, errno.EBADMSG, errno.EUCLEAN)]
        assert str(disk.directory) in last and any(text in last for text in strerrors), ended.stderr
        assert f"/dev/{disk.device}, ext4 on {disk.mountpoint}, fails or is gone: see dmesg" in last, (
            ended.stderr
        )
