"""A file system on a loop device for trimming tests; the image's own blocks show what really was given back."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from types import TracebackType

import pytest

# Without discarding while it is made: the image stays as allocated as it was.
MKFS = {
    "ext4": ("mkfs.ext4", "-q", "-E", "nodiscard,lazy_itable_init=0,lazy_journal_init=0"),
    "xfs": ("mkfs.xfs", "-q", "-K"),
    "btrfs": ("mkfs.btrfs", "-q", "-K"),
}
GIB = 1 << 30


def sh(*argv: str) -> str:
    return subprocess.run(argv, check=True, capture_output=True, text=True).stdout.strip()


class TrimDisk:
    """Made on entry, gone on exit. `device` is the kernel name, `mountpoint` where it is mounted."""

    def __init__(self, place: Path, fstype: str, gib: int = 6, *, allocated: bool = False) -> None:
        self.image = place / f"{fstype}.img"
        self.mountpoint = place / f"{fstype}-disk"
        self.fstype = fstype
        self.bytes = gib * GIB
        self.allocated = allocated
        self.device = ""

    def __enter__(self) -> TrimDisk:
        if os.geteuid() != 0:
            pytest.skip("a loop device needs root")
        self.mountpoint.mkdir()
        sh("fallocate" if self.allocated else "truncate", *self._length(), str(self.image))
        try:
            self.device = sh("losetup", "--find", "--show", str(self.image)).removeprefix("/dev/")
            sh(*MKFS[self.fstype], f"/dev/{self.device}")
            sh("mount", "-o", "nodiscard", f"/dev/{self.device}", str(self.mountpoint))
        except FileNotFoundError as error:
            self._drop()
            pytest.skip(f"{error.filename} is not installed")
        except BaseException:
            self._drop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._drop()
        if kind is None:
            assert str(self.image) not in sh("losetup", "-a"), "the loop device is still there"
            assert str(self.mountpoint) not in Path("/proc/self/mountinfo").read_text()

    @property
    def names(self) -> set[str]:
        """What is in the file system, beside what making it left there."""
        return {path.name for path in self.mountpoint.iterdir()} - {"lost+found"}

    @property
    def allocated_bytes(self) -> int:
        """What the image really holds (st_blocks is in units of 512)."""
        return self.image.stat().st_blocks * 512

    def _length(self) -> tuple[str, ...]:
        return ("-l" if self.allocated else "-s", str(self.bytes))

    def _drop(self) -> None:
        subprocess.run(["umount", str(self.mountpoint)], check=False, capture_output=True)
        if self.device:
            subprocess.run(["losetup", "-d", f"/dev/{self.device}"], check=False, capture_output=True)
        self.image.unlink(missing_ok=True)
