"""What a directory itself is set to: attributes that files in it inherit and that change how fast they are.

Read by two ioctls that every file system may answer or refuse: FS_IOC_GETFLAGS and FS_IOC_FSGETXATTR
(include/uapi/linux/fs.h).
"""

import fcntl
import os
import struct

FS_IOC_GETFLAGS = 0x80086601
FS_IOC_FSGETXATTR = 0x801C581F
_FLAGS = struct.Struct("=I")
_XATTR = struct.Struct("=IIIII8x")  # struct fsxattr: xflags, extsize, nextents, projid, cowextsize

# fmt: off
_BY_FLAG = {
    0x4: "compressed", 0x400: "never compressed", 0x8: "synchronous", 0x10000: "synchronous names",
    0x4000: "data in the journal", 0x800: "encrypted", 0x800000: "no copy on write", 0x40000000: "names without case",
    0x2000000: "DAX",
}
_BY_XFLAG = {0x1: "real-time device", 0x100: "real-time device", 0x8000: "DAX"}
# fmt: on


def directory_traits(path: str) -> dict[str, str]:
    """By trait, in words, those that are not set as "no"; empty where the file system answers neither question.

    For a directory on a disk that answers: it is opened for reading. Raises nothing.
    """
    try:
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return {}
    try:
        return _read_inode_flags(fd) | _read_extent_traits(fd)
    finally:
        os.close(fd)


def device_number_of_path(path: str) -> int | None:
    """Its st_dev (stat(2)); None where it cannot be had. A subvolume of btrfs has one of its own."""
    try:
        return os.stat(path).st_dev  # noqa: PTH116
    except OSError:
        return None


def _read_inode_flags(fd: int) -> dict[str, str]:
    answer = _ioctl_or_none(fd, FS_IOC_GETFLAGS, bytes(8))  # declared as a long; the kernel writes an int
    if answer is None:
        return {}
    (flags,) = _FLAGS.unpack_from(answer)
    return {words: "yes" if flags & bit else "no" for bit, words in _BY_FLAG.items()}


def _read_extent_traits(fd: int) -> dict[str, str]:
    answer = _ioctl_or_none(fd, FS_IOC_FSGETXATTR, bytes(_XATTR.size))
    if answer is None:
        return {}
    flags, extent, _, project, copied = _XATTR.unpack(answer)
    traits = {
        "project": str(project),
        "extent size hint": f"{extent} B",
        "copy extent size hint": f"{copied} B",
    }
    for bit, words in _BY_XFLAG.items():
        traits[words] = "yes" if flags & bit or traits.get(words) == "yes" else "no"
    return traits


def _ioctl_or_none(fd: int, request: int, room: bytes) -> bytes | None:
    try:
        return fcntl.ioctl(fd, request, room)
    except OSError:
        return None
