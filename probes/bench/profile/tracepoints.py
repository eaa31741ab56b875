"""The numbers of the kernel's tracepoints, from tracefs, which is only read. Standard library only.

Where it is not mounted it is opened as a mount that is attached to no directory (fsopen(2), fsmount(2); Linux 5.2 on):
no name space has it, and it goes with its descriptor.
"""

from __future__ import annotations

import ctypes
import os

from probes.number_text import whole

MOUNTED = ("/sys/kernel/tracing", "/sys/kernel/debug/tracing")
_FSOPEN, _FSCONFIG, _FSMOUNT, _CREATE = 430, 431, 432, 6  # the same numbers on each machine


def tracepoints(names: tuple[str, ...], places: tuple[str, ...] = MOUNTED) -> dict[str, int]:
    """`lock/contention_begin`: its number; none where one of them is not there or may not be read."""
    for place in places:
        try:
            folder = os.open(f"{place}/events", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError:
            continue
        return _read(folder, "", names)
    mount = _detached() if places == MOUNTED and os.geteuid() == 0 else -1
    return _read(mount, "events/", names) if mount >= 0 else {}


def _read(folder: int, below: str, names: tuple[str, ...]) -> dict[str, int]:
    found: dict[str, int] = {}
    try:
        for name in names:
            file = os.open(f"{below}{name}/id", os.O_RDONLY | os.O_CLOEXEC, dir_fd=folder)
            text = os.read(file, 32)
            os.close(file)
            if (number := whole(text.decode("ascii", "replace").strip())) is None:
                return {}
            found[name] = number
    except OSError:
        return {}
    finally:
        os.close(folder)
    return found


def _detached() -> int:
    """The descriptor of tracefs, mounted nowhere; -1 where the kernel refuses."""
    call = ctypes.CDLL(None, use_errno=True).syscall
    call.restype = ctypes.c_long
    system = int(call(_FSOPEN, b"tracefs", 1))
    if system < 0:
        return -1
    made = call(_FSCONFIG, system, _CREATE, None, None, 0) == 0
    mount = int(call(_FSMOUNT, system, 1, 0)) if made else -1
    os.close(system)
    return mount
