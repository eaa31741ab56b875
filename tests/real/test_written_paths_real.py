"""A run under strace of a scenario that makes and deletes; `python -m tests.soak traces` has all of them."""

from pathlib import Path

import pytest

from tests.needs import ROOT, needs, program
from tests.real.loop_disk import LoopDisk
from tests.real.written_paths import read_written_paths, trace_run

pytestmark = [pytest.mark.real, needs(ROOT, program("strace"))]


def test_only_what_is_ours_is_opened_for_writing(tmp_path: Path) -> None:
    with LoopDisk(tmp_path) as disk:
        assert trace_run("fstrim", tmp_path, disk) == []


@pytest.mark.parametrize(
    ("line", "path"),
    [
        ('openat(AT_FDCWD</work>, "/etc/x", O_WRONLY|O_CREAT, 0600) = 3</etc/x>', "/etc/x"),
        ('openat(AT_FDCWD, "x", O_RDWR) = 3</work/x>', "(the working directory)/x"),
        ('open("/dev/sdb", O_RDWR|O_DIRECT) = 3</dev/sdb>', "/dev/sdb"),
        ('unlink("/etc/x") = 0', "/etc/x"),
        ('unlinkat(AT_FDCWD</>, "/etc/x", 0) = 0', "/etc/x"),
        ('mkdirat(AT_FDCWD</>, "/etc/x", 0700) = 0', "/etc/x"),
        ('openat(7</mnt/.hostdx-1>, "f", O_WRONLY|O_CREAT, 0600) = 3</mnt/.hostdx-1/f>', ""),
        ('openat(AT_FDCWD, "/etc/x", O_RDONLY|O_CLOEXEC) = 3</etc/x>', ""),
        ('openat(AT_FDCWD, "/etc/x", O_WRONLY) = -1 EACCES (Permission denied)', ""),
        ('unlinkat(7</mnt/.hostdx-1>, "f", 0) = 0', ""),
    ],
)
def test_it_is_seen(line: str, path: str, tmp_path: Path) -> None:
    (tmp_path / "trace.7").write_text(line + "\n")
    assert list(read_written_paths(tmp_path / "trace")) == ([path] if path else [])
