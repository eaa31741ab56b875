"""What of a file lies in the page cache, and dropping it: for a worker. Standard library only.

posix_fadvise(2), POSIX_FADV_DONTNEED, passes over pages that are dirty or mapped, so what is left
is asked with mincore(2): a read of what is left measures memory.
"""

import ctypes
import mmap
import os
from collections.abc import Sequence

_FAILED = ctypes.c_void_p(-1).value


def drop_pages_and_get_resident_share(fd: int) -> float:
    """Drops the file's pages; the share (0..1) of them that is in memory still. Raises OSError where nothing tells."""
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    return resident_share(fd)


def drop_named_and_get_resident_share(directory: int, names: Sequence[str], looked_at: int) -> float:
    """The files of these names, `looked_at` of them checked: the share of their pages in memory still."""
    every = max(1, len(names) // max(1, looked_at))
    shares = []
    for number, name in enumerate(names):
        fd = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=directory)
        try:
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
            if number % every == 0:
                shares.append(resident_share(fd))
        finally:
            os.close(fd)
    return sum(shares) / len(shares) if shares else 0.0


def resident_share(fd: int) -> float:
    """The share of the file's pages that the page cache holds; what can be mapped and asked, else OSError."""
    length = os.fstat(fd).st_size
    if not length:
        return 0.0
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
    libc.mincore.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p]
    libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    at = libc.mmap(None, length, mmap.PROT_READ, mmap.MAP_SHARED, fd, 0)
    if at == _FAILED:
        raise _last_c_error()
    try:
        pages = ctypes.create_string_buffer(-(-length // mmap.PAGESIZE))
        if libc.mincore(at, length, pages) != 0:
            raise _last_c_error()
        return 1 - pages.raw.count(b"\0") / len(pages.raw)
    finally:
        libc.munmap(at, length)


def _last_c_error() -> OSError:
    number = ctypes.get_errno()
    return OSError(number, os.strerror(number))
