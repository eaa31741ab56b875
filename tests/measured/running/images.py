"""File systems in an image on a loop device with direct I/O, and a disk with uneven places: for benchmarks, as root."""

import contextlib
import os
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

MAKE = {
    "ext4": ["mkfs.ext4", "-q", "-F"],
    "ext4-no-journal": ["mkfs.ext4", "-q", "-F", "-O", "^has_journal"],
    "xfs": ["mkfs.xfs", "-q", "-f"],
    "btrfs": ["mkfs.btrfs", "-q", "-f"],
}
SIZE_BYTES = 32 << 30  # sparse: 5 % of it hold the files that a default run makes
BLKIO = Path("/sys/fs/cgroup/blkio")


@contextlib.contextmanager
def attach_loop(image: Path, size_bytes: int) -> Iterator[str]:
    """A loop device on a sparse file, with direct I/O; detached afterwards."""
    with image.open("wb") as file:
        file.truncate(size_bytes)
    command = ["losetup", "--find", "--show", "--direct-io=on", str(image)]
    loop = subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
    try:
        yield loop
    finally:
        subprocess.run(["losetup", "-d", loop], check=True)
        image.unlink()


@contextlib.contextmanager
def mount_device(folder: Path, device: str) -> Iterator[Path]:
    point = folder / f"on-{Path(device).name}"
    point.mkdir()
    subprocess.run(["mount", device, str(point)], check=True)
    try:
        yield point
    finally:
        subprocess.run(["umount", str(point)], check=True)


@contextlib.contextmanager
def file_system(kind: str, parent: str, size_bytes: int = SIZE_BYTES) -> Iterator[str]:
    """`kind`: one of `MAKE`. Where it is mounted; all is gone afterwards."""
    with (
        tempfile.TemporaryDirectory(prefix="hostdx-bench-", dir=parent) as folder,
        contextlib.ExitStack() as stack,
    ):
        loop = stack.enter_context(attach_loop(Path(folder, "image"), size_bytes))
        subprocess.run([*MAKE[kind], loop], check=True, capture_output=True)
        yield str(stack.enter_context(mount_device(Path(folder), loop)))


@contextlib.contextmanager
def uneven_file_systems(
    parent: str, requests_a_second: int, size_bytes: int = SIZE_BYTES
) -> Iterator[tuple[str, str]]:
    """Where a btrfs is mounted that lies on two disks of which one is slow, and an ext4 wholly on a slow one.

    The limits hold for this process and its children.
    """
    with (
        tempfile.TemporaryDirectory(prefix="hostdx-bench-", dir=parent) as folder,
        contextlib.ExitStack() as stack,
    ):
        loops = [stack.enter_context(attach_loop(Path(folder, f"image-{n}"), size_bytes)) for n in range(3)]
        subprocess.run([*MAKE["btrfs"], "-d", "single", *loops[:2]], check=True, capture_output=True)
        subprocess.run([*MAKE["ext4"], loops[2]], check=True, capture_output=True)
        points = [stack.enter_context(mount_device(Path(folder), loop)) for loop in loops[1:]]
        stack.enter_context(slow_devices(loops[1:], requests_a_second))
        yield str(points[0]), str(points[1])


@contextlib.contextmanager
def slow_devices(devices: Sequence[str], requests_a_second: int) -> Iterator[None]:
    """Requests of this process and its children to each of these, by cgroup version 1."""
    group = BLKIO / f"hostdx-bench-{os.getpid()}"
    group.mkdir()
    try:
        for device in devices:
            number = Path(device).stat().st_rdev
            limit = f"{os.major(number)}:{os.minor(number)} {requests_a_second}\n"
            for direction in ("read", "write"):
                (group / f"blkio.throttle.{direction}_iops_device").write_text(limit)
        (group / "cgroup.procs").write_text(f"{os.getpid()}\n")
        yield
    finally:
        (BLKIO / "cgroup.procs").write_text(f"{os.getpid()}\n")
        group.rmdir()
