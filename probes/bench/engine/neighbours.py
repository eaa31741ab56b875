"""Test files of several sides beside each other on the disk, so that a place that is slow is slow for all of them."""

from __future__ import annotations

import fcntl
import os
import struct
from collections.abc import Callable
from typing import Protocol, TypeVar

FS_IOC_FIEMAP = 0xC020660B  # include/uapi/linux/fs.h
_REQUEST = struct.Struct(
    "=QQLLLL"
)  # struct fiemap: start, length, flags, mapped extents, room for extents, reserved
_EXTENT = struct.Struct("=QQQ16xL12x")  # struct fiemap_extent: logical, physical, length; flags
_NO_PLACE = 0x2 | 0x4 | 0x200  # FIEMAP_EXTENT_UNKNOWN, _DELALLOC, _DATA_INLINE
NEAR_BYTES = 4 << 20
TRIES = 6  # of a number; half as many after each number for which they did not help


class Opened(Protocol):
    @property
    def fd(self) -> int: ...


T = TypeVar("T", bound=Opened)


def begins_at(fd: int) -> int | None:
    """Byte of the device at which the file begins; None where nobody tells (Documentation/filesystems/fiemap.rst)."""
    request = bytearray(_REQUEST.pack(0, 1, 0, 0, 1, 0) + bytes(_EXTENT.size))
    try:
        fcntl.ioctl(fd, FS_IOC_FIEMAP, request)
    except OSError:
        return None
    if not _REQUEST.unpack_from(request)[3]:
        return None
    _, physical, _, flags = _EXTENT.unpack_from(request, _REQUEST.size)
    return None if flags & _NO_PLACE else int(physical)


class Neighbours:
    """One for all sides that are laid out together.

    ext4 gives an inode one of several places to go on allocating from, by its number (seen on 6.18: two like files
    began 3 GiB apart, and one took streamed writes 17 % slower): so another inode is tried where the first is far off.
    """

    def __init__(self) -> None:
        self._first: dict[tuple[int, int], int] = {}  # by file system and number
        self._tries = TRIES

    def nearest(self, number: int, make: Callable[[], T]) -> T:
        """The file of this number of one more side, of a few new ones that nearest to the first side's."""
        tried = [make()]
        try:
            if (at := begins_at(tried[0].fd)) is None:
                return tried.pop()
            wanted = self._first.setdefault((os.fstat(tried[0].fd).st_dev, number), at)
            distances = [abs(at - wanted)]
            while distances[-1] > NEAR_BYTES and len(tried) < self._tries:
                tried.append(make())
                at = begins_at(tried[-1].fd)
                distances.append(distances[0] if at is None else abs(at - wanted))
            if distances[-1] > NEAR_BYTES:
                self._tries = max(1, self._tries // 2)
            return tried.pop(distances.index(min(distances)))
        finally:
            for other in tried:
                os.close(other.fd)
