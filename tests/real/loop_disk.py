"""A disk of our own for real tests: a file system on a loop device, with settings that a switch would lose."""

from __future__ import annotations

import errno
import fcntl
import os
import subprocess
from pathlib import Path

from tests.needs import need, not_here, program
from tests.real.own_disk import OwnDisk, sh
from tests.real.polled import happens

LOOP_CTL_ADD, LOOP_CTL_REMOVE = 0x4C80, 0x4C81  # include/uapi/linux/loop.h
# A loop device keeps its queue's settings when it is detached (wbt_lat_usec by hand, the scheduler): each test
# takes a new one, of a number that nobody gets by asking for a free one.
FIRST, LAST = 200, 900


class LoopDisk(OwnDisk):
    """Made on entry, gone on exit; `directory` is in it, `device` its kernel name ("loop3")."""

    def __init__(self, place: Path, size: str = "3G", file_system: str = "ext4") -> None:
        super().__init__(place / "disk.img", place / "disk")
        self.size = size
        self.file_system = file_system

    def __enter__(self) -> LoopDisk:
        self.begin()
        need(program(f"mkfs.{self.file_system}"))
        sh("truncate", "-s", self.size, str(self.image))
        try:
            self.device = f"loop{_new_loop_number()}"
            sh("losetup", "--direct-io=on", f"/dev/{self.device}", str(self.image))
        except (OSError, subprocess.CalledProcessError) as error:
            not_here(f"no loop device can be made here: {error}")
        try:
            if "bfq" not in self.read("scheduler") or "mq-deadline" not in self.read("scheduler"):
                not_here("this kernel offers loop devices neither bfq nor mq-deadline")
            # else the kernel writes the inode tables while something is measured
            options = ("-E", "lazy_itable_init=0,lazy_journal_init=0") if self.file_system == "ext4" else ()
            sh(f"mkfs.{self.file_system}", "-q", *options, f"/dev/{self.device}")
            sh("mount", f"/dev/{self.device}", str(self.mountpoint))
            self.directory = self.mountpoint / "data"
            self.directory.mkdir()
            self.write("scheduler", "mq-deadline")
            self.write("nr_requests", "48")
            # nr_requests sets async_depth along, on the way back too: this pair can only be restored in two steps
            self.write("iosched/async_depth", "256")
            self.write("iosched/fifo_batch", "7")
        except BaseException:
            self.drop()
            raise
        return self

    def read(self, name: str) -> str:
        return Path(f"/sys/block/{self.device}/queue/{name}").read_text().strip()

    def write(self, name: str, value: str) -> None:
        Path(f"/sys/block/{self.device}/queue/{name}").write_text(value)

    def queue(self) -> dict[str, bytes]:
        """Every readable file under queue/, byte for byte."""
        contents: dict[str, bytes] = {}
        for path in sorted(Path(f"/sys/block/{self.device}/queue").rglob("*")):
            if path.is_file():
                try:
                    contents[str(path)] = path.read_bytes()
                except OSError:
                    continue
        return contents

    def remove(self) -> None:
        """Takes the device itself away, as a pulled disk."""
        self.drop()

    def drop(self) -> None:
        super().drop()
        with open("/dev/loop-control", "rb") as control:  # noqa: PTH123

            def is_gone() -> bool:
                try:
                    fcntl.ioctl(control, LOOP_CTL_REMOVE, int(self.device.removeprefix("loop")))
                except OSError as error:
                    # the last close may come a moment later
                    return error.errno != errno.EBUSY or self.is_copied()
                return True

            happens(is_gone)


def _new_loop_number() -> int:
    """The number of a loop device that was not there before."""
    start = FIRST + os.getpid() % (LAST - FIRST)
    with open("/dev/loop-control", "rb") as control:  # noqa: PTH123
        for number in (*range(start, LAST), *range(FIRST, start)):
            try:
                fcntl.ioctl(control, LOOP_CTL_ADD, number)
            except FileExistsError:
                continue
            return number
    raise OSError(errno.ENOSPC, "no loop device is free")
