"""Another user swaps what lies in his folder, all the time, under every scenario that root runs there: what his links
lead to is not opened, changed or deleted, whatever the scenario does with directories.
"""

import ctypes
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.app.launcher import run_hostdx
from tests.needs import LOOP, ROOT, needs, one_always
from tests.real.iosched_kill import kill_all
from tests.real.trim_disk import TrimDisk

pytestmark = [pytest.mark.real, needs(ROOT, LOOP)]
USER = 65534
# In folder argv[1] every private directory, and `data`, is time and again a link to argv[2], or itself.
SWAPS = f"""
import os, sys, time
folder = os.open(sys.argv[1], os.O_RDONLY | os.O_DIRECTORY)
os.setgroups([]); os.setgid({USER}); os.setuid({USER})
while True:
    for name in os.listdir(folder):
        if name.startswith("was-"):
            continue
        was = "was-" + name
        try:
            if os.path.islink(f"/proc/self/fd/{{folder}}/{{name}}"):
                os.unlink(name, dir_fd=folder)
                os.rename(was, name, src_dir_fd=folder, dst_dir_fd=folder)
            else:
                os.rename(name, was, src_dir_fd=folder, dst_dir_fd=folder)
                os.symlink(sys.argv[2], name, dir_fd=folder)
                print(name, flush=True)
        except OSError:
            pass
    time.sleep(0.002)
"""
# include/uapi/linux/inotify.h: modified, attributes, opened, moved, created, deleted
WATCHED = 0x2 | 0x4 | 0x20 | 0xC0 | 0x100 | 0x200
# What is swapped: the private directory of `storage`, the folder of `--cold`. The others have nothing there: a checkup
# leaves out what works in a folder that others rule, `numa` reads a disk on a host of several nodes only.
OPTIONS = {
    "storage": ("--dir", "{alice}", "--size", "64M", "--budget", "14", "--yes"),
    "checkup": ("--dir", "{alice}", "--only", "storage", "--budget", "30", "--yes"),
    "workload": (
        "--cmd", "sleep 0.02", "--variant", "a: TMPDIR={alice}", "--variant", "b:", "--cold", "{alice}/data",
        "--budget", "6", "--yes",
    ),
    "numa": ("--dir", "{alice}", "--budget", "6", "--yes"),
    "cpuwatch": ("--pid", "1", "--seconds", "3"),
}  # fmt: skip
SWAPPED = {"storage": ".hostdx-", "workload": "data"}


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[TrimDisk]:
    with TrimDisk(tmp_path, "ext4") as trim_disk:
        yield trim_disk


@pytest.mark.parametrize(
    "name", [*SWAPPED, *one_always("checkup", *sorted({*OPTIONS} - {*SWAPPED, "checkup"}))]
)
def test_a_run_reaches_nothing_through_swapped_names(tmp_path: Path, disk: TrimDisk, name: str) -> None:
    alice, precious = disk.mountpoint / "alice", disk.mountpoint / "precious"
    for folder in (alice / "data", precious):
        folder.mkdir(parents=True)
        (folder / "passwd").write_text("x")
    for path in (alice, alice / "data"):
        os.chown(path, USER, USER)
    libc = ctypes.CDLL(None, use_errno=True)
    watch = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
    for path in (precious, precious / "passwd"):
        assert libc.inotify_add_watch(watch, os.fsencode(path), WATCHED) >= 0
    command = [sys.executable, "-c", SWAPS, str(alice), str(precious)]
    attacker = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        words = [word.format(alice=alice) for word in OPTIONS[name]]
        done = run_hostdx(tmp_path, "run", name, *words, timeout=120)
    finally:
        attacker.kill()
        swapped = set((attacker.communicate()[0] or "").split())
        kill_all(tmp_path)
    assert done.returncode in (0, 1, 3), done.stderr
    assert "bug" not in done.stderr
    with pytest.raises(BlockingIOError):
        os.read(watch, 4096)
    os.close(watch)
    reached = SWAPPED.get(name)
    assert any(path.startswith(reached) for path in swapped) if reached else swapped == {"data"}
