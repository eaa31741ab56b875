"""A file system of our own on a loop device, and the way out of it: nothing is left, whatever the test did."""

import os
import subprocess
import time
from pathlib import Path
from types import TracebackType

from hostdx.probes.reading.process_stat import read_live_stat
from tests.needs import LOOP, need
from tests.real.polled import happens


def sh(*argv: str) -> str:
    return subprocess.run(argv, check=True, capture_output=True, text=True).stdout.strip()


def unmount(place: Path | str) -> None:
    """Whoever was killed may hold it a moment longer."""
    done = ["umount", str(place)]
    assert happens(lambda: subprocess.run(done, capture_output=True, check=False).returncode == 0), done


def detach_loop(device: str, image: Path) -> None:
    """udev may look at it a moment longer."""
    subprocess.run(["losetup", "--detach", device], check=False, capture_output=True)
    assert happens(lambda: str(image) not in sh("losetup", "-a")), f"{device} is still there"


class OwnDisk:
    """`device` is the kernel name ("loop3"), "" until there is one; `mountpoint` where it is mounted."""

    def __init__(self, image: Path, mountpoint: Path) -> None:
        self.image = image
        self.mountpoint = mountpoint
        self.device = ""
        self.began_s = time.clock_gettime(time.CLOCK_BOOTTIME)

    def begin(self) -> None:
        need(LOOP)
        self.mountpoint.mkdir()

    def drop(self) -> None:
        """Can be repeated; what is not there any more is no trouble."""
        subprocess.run(["umount", str(self.mountpoint)], check=False, capture_output=True)
        if self.device:
            subprocess.run(["losetup", "-d", f"/dev/{self.device}"], check=False, capture_output=True)

    def is_copied(self) -> bool:
        """Whether somebody else's mount name space (a container's, a chroot that is being filled, one of another file's
        test) began meanwhile: it has a copy of our mount, and the kernel detaches the device when that one ends."""
        st_ino = Path("/proc/self/ns/mnt").stat().st_ino
        file = os.environ.get("PYTEST_CURRENT_TEST", "").partition("::")[0]
        mark = f"PYTEST_CURRENT_TEST={file}::".encode()
        for place in Path("/proc").glob("[0-9]*"):
            try:
                if (place / "ns/mnt").stat().st_ino == st_ino or mark in (place / "environ").read_bytes():
                    continue
            except OSError:
                continue
            stat = read_live_stat(place.name)
            if stat and stat.start_ticks / os.sysconf("SC_CLK_TCK") >= self.began_s:
                return True
        return False

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        def is_gone() -> bool:
            self.drop()
            return str(self.image) not in sh("losetup", "-a") or self.is_copied()

        gone_in_time = happens(
            is_gone
        )  # the kernel detaches it when the last one who looks at it has closed it
        if kind is None:
            assert gone_in_time, "the loop device is still there"
            assert str(self.mountpoint) not in Path("/proc/self/mountinfo").read_text()
