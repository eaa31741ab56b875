"""Which process it was: a pid alone is reused, so it goes with its start time and the boot it belongs to."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec


class Identity(msgspec.Struct, frozen=True):
    """`start` is field 22 of /proc/PID/stat (clock ticks since boot), see proc_pid_stat(5)."""

    pid: int
    start: int
    boot_id: str


def boot_id() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
    except (OSError, UnicodeDecodeError):
        return ""


def start_time(pid: int) -> int | None:
    """Clock ticks since boot; None when there is no such process, or it is a zombie."""
    try:
        line = Path(f"/proc/{pid}/stat").read_bytes()
        fields = line[line.rindex(b")") + 2 :].split()  # the name may hold blanks and parentheses
        return None if fields[0] in (b"Z", b"X") else int(fields[19])
    except (OSError, ValueError, IndexError):
        return None


def identity(pid: int | None = None) -> Identity:
    pid = os.getpid() if pid is None else pid
    return Identity(pid, start_time(pid) or 0, boot_id())


def lives(who: Identity) -> bool:
    """Whether exactly this process still runs."""
    return who.pid > 0 and who.boot_id == boot_id() and start_time(who.pid) == who.start
