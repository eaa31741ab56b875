"""A FUSE mount that nobody serves, as an sshfs whose server is gone: whoever looks into it waits for ever."""

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.needs import ROOT, need, not_here

MNT_DETACH = 2  # umount2(2)


@contextmanager
def dead_mount(place: Path) -> Iterator[None]:
    """Mounted on `place` until the end; the kernel then ends those who wait (its connection is closed)."""
    need(ROOT)
    libc = ctypes.CDLL(None, use_errno=True)
    try:
        fd = os.open("/dev/fuse", os.O_RDWR)
    except OSError as error:
        not_here(f"no FUSE here: {error.strerror}")
    try:
        options = f"fd={fd},rootmode=40000,user_id=0,group_id=0".encode()
        if libc.mount(b"dead:/", os.fsencode(place), b"fuse.sshfs", 0, options) != 0:
            not_here(f"no FUSE mount can be made here: {os.strerror(ctypes.get_errno())}")
        try:
            yield
        finally:
            libc.umount2(os.fsencode(place), MNT_DETACH)
    finally:
        os.close(fd)
    assert str(place) not in Path("/proc/self/mountinfo").read_text()
