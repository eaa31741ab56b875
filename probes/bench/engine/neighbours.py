"""Test files of several sides beside each other on the disk, so that a place that is slow is slow for all of them."""

from __future__ import annotations

import fcntl
import os
import struct
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Protocol, TypeVar

from probes.bench.measured import BenchRefused
from probes.private_directory import PrivateDirectory

FS_IOC_FIEMAP = 0xC020660B  # include/uapi/linux/fs.h
# struct fiemap: start, length, flags, mapped extents, room for extents, reserved
_REQUEST = struct.Struct("=QQLLLL")
_EXTENT = struct.Struct("=QQQ16xL12x")  # struct fiemap_extent: logical, physical, length; flags
_NO_PLACE = 0x2 | 0x4 | 0x200  # FIEMAP_EXTENT_UNKNOWN, _DELALLOC, _DATA_INLINE
NEAR_BYTES = 4 << 20
NEAR_INODES = 1 << 16  # an allocation group of XFS has millions of numbers
DIRECTORY_TRIES = 64  # more than most file systems have allocation groups
TRIES = 6  # of a file; half as many on a file system where they did not help, until one lies near


class Opened(Protocol):
    @property
    def fd(self) -> int: ...


T = TypeVar("T", bound=Opened)


def begins_at(fd: int) -> int | None:
    """Byte at which the file begins; None where the file system does not say (Documentation/filesystems/fiemap.rst).

    Of the device; btrfs counts in a space of its own, where what is near is near on the device, too.
    """
    request = bytearray(_REQUEST.pack(0, 1, 0, 0, 1, 0) + bytes(_EXTENT.size))
    try:
        fcntl.ioctl(fd, FS_IOC_FIEMAP, request)
    except OSError:
        return None
    if not _REQUEST.unpack_from(request)[3]:
        return None
    _, physical, _, flags = _EXTENT.unpack_from(request, _REQUEST.size)
    return None if flags & _NO_PLACE else int(physical)


class Room:
    """The directory `name` below one of our own, held by `fd`."""

    def __init__(self, above: PrivateDirectory, name: str) -> None:
        self._above, self.name = above, name
        self._held = PrivateDirectory.at(above.fd, f"{above.path}/{name}")
        self.fd = self._held.fd

    def remove(self) -> None:
        """Where it can be: what a killed worker left in it goes with the directory above."""
        self._held.close()
        with suppress(OSError):
            os.rmdir(self.name, dir_fd=self._above.fd)


class Neighbours:
    """One for all sides that are laid out together.

    ext4 gives an inode one of several places to go on allocating from, by its number (seen on 6.18: two like files
    began 3 GiB apart, and one took streamed writes 17 % slower): so another inode is tried where the first is far off.
    """

    def __init__(self) -> None:
        self._placed: dict[tuple[int, int], list[int]] = {}  # bytes, by file system and number
        self._tries: dict[int, int] = {}  # by file system
        self._inodes: dict[int, int] = {}  # the first side's directory, by file system

    def nearest(self, number: int, make: Callable[[], T]) -> T:
        """A new file for this number of one more side: of a few that it makes the one nearest to the other sides'.

        Raises what the first `make` raises; a later one that fails ends the search.
        """
        tried = [make()]
        try:
            if (at := begins_at(tried[0].fd)) is None:
                return tried.pop()
            device = os.fstat(tried[0].fd).st_dev
            beside = self._placed.setdefault((device, number), [])
            places = [at]
            distances = [_distance(at, beside)]
            most = self._tries.setdefault(device, TRIES)
            while distances[-1] > NEAR_BYTES and len(tried) < most:
                try:
                    tried.append(make())
                except BenchRefused:
                    break
                places.append(at if (next_at := begins_at(tried[-1].fd)) is None else next_at)
                distances.append(_distance(places[-1], beside))
            nearest = distances.index(min(distances))
            if distances[nearest] > NEAR_BYTES:
                self._tries[device] = max(1, most // 2)
            elif beside:
                self._tries[device] = TRIES
            beside.append(places[nearest])
            return tried.pop(nearest)
        finally:
            for other in tried:
                os.close(other.fd)

    def room(self, above: PrivateDirectory) -> Room:
        """A new one in it, of some new ones the nearest to the first side's by its inode's number. Raises OSError.

        XFS puts each new directory into the next allocation group, and what is made in it into the same:
        create/stat/delete in two groups differed by 12 to 22 % between like directories (measured).
        """
        device = os.fstat(above.fd).st_dev
        made: dict[str, int] = {}
        for number in range(DIRECTORY_TRIES):
            name = str(number)
            try:
                os.mkdir(name, 0o700, dir_fd=above.fd)
            except OSError:
                if not made:
                    raise
                break
            inode = os.stat(name, dir_fd=above.fd, follow_symlinks=False).st_ino
            made[name] = abs(inode - self._inodes.setdefault(device, inode))
            if made[name] <= NEAR_INODES:
                break
        nearest = min(made, key=made.__getitem__)
        for name in made:
            if name != nearest:
                os.rmdir(name, dir_fd=above.fd)
        return Room(above, nearest)


def _distance(at: int, beside: Sequence[int]) -> int:
    return min((abs(at - other) for other in beside), default=0)
