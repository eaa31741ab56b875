"""A file system on a loop device for trimming tests; the image's own blocks show what really was given back."""

from __future__ import annotations

from pathlib import Path

from tests.needs import need, program
from tests.real.own_disk import OwnDisk, sh

# Without discarding while it is made: the image stays as allocated as it was.
MKFS = {
    "ext4": ("mkfs.ext4", "-q", "-E", "nodiscard,lazy_itable_init=0,lazy_journal_init=0"),
    "xfs": ("mkfs.xfs", "-q", "-K"),
    "btrfs": ("mkfs.btrfs", "-q", "-K"),
}
GIB = 1 << 30


class TrimDisk(OwnDisk):
    """Made on entry, gone on exit. `device` is the kernel name, `mountpoint` where it is mounted."""

    def __init__(self, place: Path, fstype: str, gib: int = 6, *, allocated: bool = False) -> None:
        super().__init__(place / f"{fstype}.img", place / f"{fstype}-disk")
        self.fstype = fstype
        self.bytes = gib * GIB
        self.allocated = allocated

    def __enter__(self) -> TrimDisk:
        self.begin()
        need(program(MKFS[self.fstype][0]))
        sh("fallocate" if self.allocated else "truncate", *self._length(), str(self.image))
        try:
            loop_path = sh("losetup", "--direct-io=on", "--find", "--show", str(self.image))
            self.device = loop_path.removeprefix("/dev/")
            sh(*MKFS[self.fstype], f"/dev/{self.device}")
            sh("mount", "-o", "nodiscard", f"/dev/{self.device}", str(self.mountpoint))
        except BaseException:
            self.drop()
            raise
        return self

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

    def drop(self) -> None:
        super().drop()
        self.image.unlink(missing_ok=True)
