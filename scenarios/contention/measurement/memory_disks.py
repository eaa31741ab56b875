"""File systems on loop devices in memory, in a mount namespace of the calling process's own.

No mount of the host's changes and no name is made on it: when the last process in the namespace ends, however it does,
the kernel unmounts all of it, and the loop devices, which mount(8) makes with autoclear, go with that (loop(4)).
Needs root: neither XFS nor ext4 may be mounted in a user namespace.
"""

import ctypes
import os
from pathlib import Path

from hostdx.probes.children.command import find_tool, run_command
from hostdx.probes.engine.measured import BenchRefused
from hostdx.probes.types import Absent

CLONE_NEWNS = 0x00020000  # linux/sched.h
MS_REC, MS_PRIVATE = 0x4000, 1 << 18  # linux/mount.h
IMAGE_BYTES = 512 << 20  # mkfs.xfs refuses less than 300 MB
MAKERS = {
    "xfs": ("mkfs.xfs", "-q", "-f"),
    "ext4": ("mkfs.ext4", "-q", "-F", "-m", "0", "-E", "lazy_itable_init=0,lazy_journal_init=0"),
}
PLACES = ("/mnt", "/media", "/srv", "/tmp")  # a directory that is there; covered in our own namespace alone
TIMEOUT_S = 30.0
_HOLD = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def makeable_file_systems() -> tuple[str, ...]:
    """The kinds that this host has a mkfs for."""
    return tuple(kind for kind, argv in MAKERS.items() if find_tool(argv[0]) is not None)


def mount_memory_disks(kinds: tuple[str, ...]) -> list[int]:
    """A descriptor of each one's root directory. Raises BenchRefused with one line; then the process should end."""
    _enter_private_mount_namespace()
    place = next((path for path in PLACES if Path(path).is_dir() and not Path(path).is_symlink()), "")
    if not place:
        raise BenchRefused(f"none of {', '.join(PLACES)} is a directory; name a directory with --dir")
    size = len(kinds) * IMAGE_BYTES + (16 << 20)
    _run_tool_or_refuse("mount", "-t", "tmpfs", "-o", f"size={size},mode=700,nosuid,nodev", "hostdx", place)
    folder = os.open(place, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    return [_make_and_mount_image(kind, place, folder) for kind in kinds]


def _make_and_mount_image(kind: str, place: str, folder: int) -> int:
    image = os.open(f"{kind}.image", os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600, dir_fd=folder)
    os.ftruncate(image, IMAGE_BYTES)
    os.close(image)
    os.mkdir(kind, 0o700, dir_fd=folder)
    _run_tool_or_refuse(*MAKERS[kind], f"{place}/{kind}.image")
    _run_tool_or_refuse(
        "mount", "-t", kind, "-o", "loop,nosuid,nodev,noexec", f"{place}/{kind}.image", f"{place}/{kind}"
    )
    return os.open(kind, _HOLD, dir_fd=folder)


def _enter_private_mount_namespace() -> None:
    """Into a mount namespace that tells the host's nothing. Checked before anything is mounted."""
    own = Path("/proc/self/ns/mnt")
    before = own.stat().st_ino
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNS) != 0 or libc.mount(None, b"/", None, MS_REC | MS_PRIVATE, None) != 0:
        why = os.strerror(ctypes.get_errno())
        raise BenchRefused(f"no mount namespace can be made here: {why}; name a directory with --dir")
    if own.stat().st_ino == before:
        raise BenchRefused("refusing to mount anything: this is the host's own mount namespace")


def _run_tool_or_refuse(*argv: str) -> None:
    output = run_command(argv, TIMEOUT_S)
    if isinstance(output, Absent):
        raise BenchRefused(
            f"no file system can be made in memory: {output.reason}; name a directory with --dir"
        )
