"""/proc/PID/stat, the one place where it is taken apart: proc_pid_stat(5).

psutil reads the live /proc alone, gives start times as wall time (they move when the clock is set) and costs 60
microseconds a process: what looks at captured hosts, at every process, or must know a process again, reads it here.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from hostdx.probes.number_text import parse_signed, parse_unsigned

if TYPE_CHECKING:
    from hostdx.probes.reading.host import Host

_FIRST_FIELD = 3  # the number of the field after the name
_MAX_FIELDS = 42 - _FIRST_FIELD + 1
_MAX_STAT_BYTES = 4096  # the kernel gives the line in one read
_MIN_FIELDS = 22 - _FIRST_FIELD + 1  # fields of any kernel since 2.6
_KERNEL_THREAD = 0x00200000  # PF_KTHREAD, include/linux/sched.h


class ProcessStat(NamedTuple):
    """Of a process or a thread. Ticks are of the clock; a child's are added to its parent when that waits for it."""

    pid: int
    name: str  # the kernel's 15 characters: data from the host, blanks and parentheses among them
    fields: list[str]  # the third one and on

    def field_value(self, field: int) -> int:
        """As proc_pid_stat(5) counts them; 0 where the kernel is too old to tell it, or a capture holds no number."""
        at = field - _FIRST_FIELD
        return (parse_signed(self.fields[at]) or 0) if at < len(self.fields) else 0

    @property
    def state_letter(self) -> str:
        return self.fields[0]

    @property
    def has_ended(self) -> bool:
        """Nothing runs any more: somebody must wait for it, or does so now."""
        return self.state_letter in "ZX"

    @property
    def parent_pid(self) -> int:
        return self.field_value(4)

    @property
    def is_kernel_thread(self) -> bool:
        return bool(self.field_value(9) & _KERNEL_THREAD)

    @property
    def major_faults(self) -> int:
        """How often it had to wait for a page from a disk."""
        return self.field_value(12)

    @property
    def user_ticks(self) -> int:
        return self.field_value(14)

    @property
    def system_ticks(self) -> int:
        return self.field_value(15)

    @property
    def children_ticks(self) -> int:
        return self.field_value(16) + self.field_value(17)

    @property
    def nice_value(self) -> int:
        return self.field_value(19)

    @property
    def thread_count(self) -> int:
        return self.field_value(20)

    @property
    def start_ticks(self) -> int:
        """Since boot."""
        return self.field_value(22)

    @property
    def last_cpu(self) -> int:
        return self.field_value(39)

    @property
    def blocked_ticks(self) -> int:
        """Waited for block I/O, where delay accounting is on."""
        return self.field_value(42)


def parse_stat(text: str) -> ProcessStat | None:
    """None where it is no such line: the file of a process that ended in between is cut short or empty."""
    head, opening, rest = text.partition("(")
    name, closing, tail = rest.rpartition(")")
    fields = tail.split(None, _MAX_FIELDS)
    pid = parse_unsigned(head)
    there = opening and closing and pid is not None and len(fields) >= _MIN_FIELDS
    return ProcessStat(pid, name, fields) if there and pid is not None else None


def read_stat(host: Host, path: str) -> ProcessStat | None:
    """The stat file of a process or a thread, which may have ended; None then."""
    text = host.read_file_text(path, _MAX_STAT_BYTES)
    return parse_stat(text) if isinstance(text, str) else None


def is_running(pid: int) -> bool:
    """Return False for a process of this machine that has ended, also while nobody has waited for it (state Z or X)."""
    stat = read_live_stat(pid)
    return stat is not None and not stat.has_ended


def read_start_ticks(pid: int) -> int | None:
    """Return the clock ticks since boot at which a process of this machine began; None where it has ended."""
    stat = read_live_stat(pid)
    return None if stat is None or stat.has_ended else stat.start_ticks


def read_live_stat(pid: int | str = "self") -> ProcessStat | None:
    """Of a process of this machine, without `Host`'s checks; None for one that is gone."""
    try:
        descriptor = os.open(f"/proc/{pid}/stat", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        return parse_stat(os.read(descriptor, _MAX_STAT_BYTES).decode("utf-8", "backslashreplace"))
    except OSError:
        return None
    finally:
        os.close(descriptor)
