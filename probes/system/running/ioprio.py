"""Which running processes ask for an I/O priority: only BFQ, and mq-deadline for classes, honours one.

Source: ioprio_get(2); include/uapi/linux/ioprio.h.
"""

import os
import platform
from typing import Literal, TypeAlias

import msgspec

from hostdx.probes.number_text import parse_unsigned
from hostdx.probes.reading.host import Host
from hostdx.probes.reading.process_stat import read_stat
from hostdx.probes.system.running.tasks import explain_hidden_tasks
from hostdx.probes.types import Absent

Class: TypeAlias = Literal["real-time", "best-effort", "idle"]

# The number of ioprio_get in each architecture's system call table; glibc has no wrapper.
_SYSCALL = {"x86_64": 252, "aarch64": 31, "riscv64": 31, "ppc64le": 274, "s390x": 283}
_CLASS_SHIFT = 13
_CLASSES: dict[int, Class] = {1: "real-time", 2: "best-effort", 3: "idle"}


class IoPriority(msgspec.Struct, frozen=True):
    """A process with an I/O priority of its own; `level` 0 is served first, 7 last (idle has none)."""

    pid: int
    comm: str
    kind: Class
    level: int


def decode_io_priority(value: int, nice: int) -> tuple[Class, int] | None:
    """An ioprio_get value as class and level; None for the default and for what follows the nice value."""
    kind = _CLASSES.get(value >> _CLASS_SHIFT)
    level = value & 0x7
    if kind is None or (kind == "best-effort" and level in (4, (nice + 20) // 5)):
        return None
    return kind, level


def read_io_priorities(host: Host) -> tuple[IoPriority, ...] | Absent:
    """Every process with an I/O priority of its own; kernel threads are left out. Live only."""
    if not host.live:
        return Absent("a captured tree does not hold I/O priorities", kind="captured")
    number = _SYSCALL.get(platform.machine())
    if number is None:
        return Absent(
            f"the system call number of ioprio_get is not known on {platform.machine()}", kind="unsupported"
        )
    names = host.list_names("/proc")
    if isinstance(names, Absent):
        return names
    import ctypes  # only where priorities are asked for

    libc = ctypes.CDLL(None, use_errno=True)
    own_priorities: list[IoPriority] = []
    for name in names:
        pid = parse_unsigned(name)
        if pid is None:
            continue
        stat = read_stat(host, f"/proc/{name}/stat")
        if stat is None or stat.is_kernel_thread:
            continue
        value = libc.syscall(number, 1, pid)  # 1: IOPRIO_WHO_PROCESS
        own = decode_io_priority(value, _nice_value_or_zero(pid)) if value >= 0 else None
        if own:
            own_priorities.append(IoPriority(pid, stat.name, *own))
    # none among those that can be seen says nothing of the others
    unseen = None if own_priorities else explain_hidden_tasks(host)
    return tuple(own_priorities) if unseen is None else unseen


def _nice_value_or_zero(pid: int) -> int:
    try:
        return os.getpriority(os.PRIO_PROCESS, pid)
    except OSError:
        return 0
