"""Which process it was: a pid alone is reused, so it goes with its start time and the boot it belongs to."""

import os
import re
from pathlib import Path

import msgspec

from hostdx.probes.reading.process_stat import read_start_ticks

TICKS_PER_S = os.sysconf("SC_CLK_TCK")


class ProcessIdentity(msgspec.Struct, frozen=True):
    """`start` is field 22 of /proc/PID/stat (clock ticks since boot), see proc_pid_stat(5)."""

    pid: int
    start: int
    boot_id: str


def boot_id() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
    except (OSError, UnicodeDecodeError):
        return ""


def process_identity(pid: int | None = None) -> ProcessIdentity:
    pid = os.getpid() if pid is None else pid
    return ProcessIdentity(pid, read_start_ticks(pid) or 0, boot_id())


def is_running_hostdx(pid: int) -> bool:
    """Return whether that process is a Python at work on hostdx. It says so itself: a guard against mistakes, no
    proof.
    """
    try:
        try:
            program = Path(f"/proc/{pid}/exe").readlink().name
        except PermissionError:  # another user's: only its words can be read
            program = "python"
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
    return program.startswith("python") and any(
        w == b"hostdx.app.cli" or w.endswith(b"/hostdx") for w in words
    )


def has_file_open_for_writing(pid: int, device: int, inode: int) -> bool:
    """Return whether that process holds that file open for writing. Raises nothing: what cannot be seen is not held."""
    try:
        descriptors = list(Path(f"/proc/{pid}/fd").iterdir())
    except OSError:
        return False
    for descriptor in descriptors:
        try:
            status = descriptor.stat()
            if (status.st_dev, status.st_ino) != (device, inode):
                continue
            descriptor_info = Path(f"/proc/{pid}/fdinfo/{descriptor.name}").read_text("ascii")
        except OSError:
            continue
        flags = re.search(r"^flags:\s*([0-7]+)$", descriptor_info, re.MULTILINE)  # octal, proc_pid_fdinfo(5)
        if flags and int(flags[1], 8) & os.O_ACCMODE != os.O_RDONLY:
            return True
    return False


def is_living(process: ProcessIdentity) -> bool:
    """Return whether exactly this process still runs."""
    return process.pid > 0 and process.boot_id == boot_id() and read_start_ticks(process.pid) == process.start
