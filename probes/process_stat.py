"""/proc/PID/stat, the one place where it is taken apart: proc_pid_stat(5).

psutil reads the live /proc alone, gives start times as wall time (they move when the clock is set) and costs 60
microseconds a process: what looks at captured hosts, at every process, or must know a process again, reads it here.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from probes.number_text import signed, whole

if TYPE_CHECKING:
    from probes.host import Host

_FIRST = 3  # the number of the field after the name
_MOST = 42 - _FIRST + 1
_MOST_BYTES = 4096  # the kernel gives the line in one read
_LEAST = 22 - _FIRST + 1  # fields of any kernel since 2.6
_KERNEL_THREAD = 0x00200000  # PF_KTHREAD, include/linux/sched.h


class ProcessStat(NamedTuple):
    """Of a process or a thread. Ticks are of the clock; a child's are added to its parent when that waits for it."""

    pid: int
    name: str  # the kernel's 15 characters: data from the host, blanks and parentheses among them
    fields: list[str]  # the third one and on

    def number(self, field: int) -> int:
        """As proc_pid_stat(5) counts them; 0 where the kernel is too old to tell it, or a capture holds no number."""
        at = field - _FIRST
        return (signed(self.fields[at]) or 0) if at < len(self.fields) else 0

    @property
    def state(self) -> str:
        return self.fields[0]

    @property
    def ended(self) -> bool:
        """Nothing runs any more: somebody must wait for it, or does so now."""
        return self.state in "ZX"

    @property
    def parent(self) -> int:
        return self.number(4)

    @property
    def kernel_thread(self) -> bool:
        return bool(self.number(9) & _KERNEL_THREAD)

    @property
    def user_ticks(self) -> int:
        return self.number(14)

    @property
    def system_ticks(self) -> int:
        return self.number(15)

    @property
    def children_ticks(self) -> int:
        return self.number(16) + self.number(17)

    @property
    def nice(self) -> int:
        return self.number(19)

    @property
    def threads(self) -> int:
        return self.number(20)

    @property
    def start_ticks(self) -> int:
        """Since boot."""
        return self.number(22)

    @property
    def last_cpu(self) -> int:
        return self.number(39)

    @property
    def blocked_ticks(self) -> int:
        """Waited for block I/O, where delay accounting is on."""
        return self.number(42)


def parse_stat(text: str) -> ProcessStat | None:
    """None where it is no such line: the file of a process that ended in between is cut short or empty."""
    head, opening, rest = text.partition("(")
    name, closing, tail = rest.rpartition(")")
    fields = tail.split(None, _MOST)
    pid = whole(head)
    there = opening and closing and pid is not None and len(fields) >= _LEAST
    return ProcessStat(pid, name, fields) if there and pid is not None else None


def stat_at(host: Host, path: str) -> ProcessStat | None:
    """The stat file of a process or a thread, which may have ended; None then."""
    text = host.text(path, _MOST_BYTES)
    return parse_stat(text) if isinstance(text, str) else None


def is_running(pid: int) -> bool:
    """Return False for a process of this machine that has ended, also while nobody has waited for it (state Z or X)."""
    stat = own_stat(pid)
    return stat is not None and not stat.ended


def own_stat(pid: int | str = "self") -> ProcessStat | None:
    """Of a process of this machine, without `Host`'s checks; None for one that is gone."""
    try:
        descriptor = os.open(f"/proc/{pid}/stat", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        return parse_stat(os.read(descriptor, _MOST_BYTES).decode("utf-8", "backslashreplace"))
    except OSError:
        return None
    finally:
        os.close(descriptor)
