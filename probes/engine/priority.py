"""Sets a worker's own I/O priority (ioprio_set(2); glibc has no wrapper). Standard library only."""

import ctypes
import errno
import os
import platform
from collections.abc import Sequence

_SYSCALL = {"x86_64": 251, "aarch64": 30, "riscv64": 30, "ppc64le": 273, "s390x": 282}
_WHO_PROCESS = 1
_CLASS_SHIFT = 13


def set_io_priority(priority: Sequence[int] | None) -> None:
    """`priority` is (class, level); None gives the default back. Raises OSError where it was not possible."""
    number = _SYSCALL.get(platform.machine())
    if number is None:
        if priority is None:
            return
        raise OSError(errno.ENOSYS, f"I/O priorities cannot be set on {platform.machine()}")
    value = 0 if priority is None else (priority[0] << _CLASS_SHIFT) | priority[1]
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.syscall(number, _WHO_PROCESS, 0, value) != 0:
        code = ctypes.get_errno()
        raise OSError(code, f"I/O priority {priority}: {os.strerror(code)}")
