"""The numbers of the kernel's tracepoints, from tracefs, which is only read. Standard library only.

Where it is not mounted it is opened as a mount that is attached to no directory (fsopen(2), fsmount(2); Linux 5.2 on):
no name space has it, and it goes with its descriptor.
"""

import ctypes
import os

from probes.number_text import parse_unsigned

MOUNTED = ("/sys/kernel/tracing", "/sys/kernel/debug/tracing")
# where those who decode the records expect a field, and its size: kernels with more in front (PREEMPT_RT) differ
LAYOUTS = {
    "sched/sched_switch": (("prev_pid", 24, 4), ("prev_state", 32, 8), ("next_pid", 56, 4)),
    "lock/contention_begin": (("lock_addr", 8, 8), ("flags", 16, 4)),
    "lock/contention_end": (("lock_addr", 8, 8), ("ret", 16, 4)),
}
_FSOPEN, _FSCONFIG, _FSMOUNT, _CREATE = 430, 431, 432, 6  # the same numbers on each machine


def tracepoint_numbers(names: tuple[str, ...], places: tuple[str, ...] = MOUNTED) -> dict[str, int]:
    """`lock/contention_begin`: its number; none where one is not there, may not be read or has another layout."""
    for place in places:
        try:
            folder = os.open(f"{place}/events", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError:
            continue
        return _read(folder, "", names)
    mount = _open_detached() if places == MOUNTED and os.geteuid() == 0 else -1
    return _read(mount, "events/", names) if mount >= 0 else {}


def _read(folder: int, below: str, names: tuple[str, ...]) -> dict[str, int]:
    numbers: dict[str, int] = {}
    try:
        for name in names:
            number, layout = (_text(folder, f"{below}{name}/{file}") for file in ("id", "format"))
            expected = (f" {field};\toffset:{at};\tsize:{size};" for field, at, size in LAYOUTS[name])
            if (parsed := parse_unsigned(number)) is None or not all(
                field_line in layout for field_line in expected
            ):
                return {}
            numbers[name] = parsed
    except OSError:
        return {}
    finally:
        os.close(folder)
    return numbers


def _text(folder: int, name: str) -> str:
    file = os.open(name, os.O_RDONLY | os.O_CLOEXEC, dir_fd=folder)
    try:
        return os.read(file, 8192).decode("ascii", "replace").strip()
    finally:
        os.close(file)


def _open_detached() -> int:
    """The descriptor of tracefs, mounted nowhere; -1 where the kernel refuses."""
    call = ctypes.CDLL(None, use_errno=True).syscall
    call.restype = ctypes.c_long
    system = int(call(_FSOPEN, b"tracefs", 1))
    if system < 0:
        return -1
    is_created = call(_FSCONFIG, system, _CREATE, None, None, 0) == 0
    mount = int(call(_FSMOUNT, system, 1, 0)) if is_created else -1
    os.close(system)
    return mount
