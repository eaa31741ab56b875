"""Why the kernel said no, in words: which right is missing to read a path."""

# os functions on text: pathlib costs several times as much on thousands of files.
# ruff: noqa: PTH115, PTH116, PTH123

import errno
import grp
import os
import re
import stat
from functools import cache

from hostdx.probes.types import Absent

# Beginnings of paths whose right is not told by their mode. proc(5), kernel Documentation/admin-guide/sysctl.
_KNOWN: tuple[tuple[str, str], ...] = (
    (r"/proc/\d+/(io|mem|maps|smaps|environ|numa_maps|stack|cwd|exe|fd)\b", "root or CAP_SYS_PTRACE"),
    (r"/proc/kmsg|/dev/kmsg", "root or CAP_SYSLOG (kernel.dmesg_restrict=1)"),
    (r"/sys/kernel/(debug|tracing)\b", "root (debugfs and tracefs are mounted with mode 0700)"),
    (r"/var/log/journal\b", "root or the group systemd-journal or adm"),
)


# What container runtimes mask or leave out (the OCI runtime specification's masked paths, and sysfs of the firmware).
_MASKED = re.compile(
    r"/sys/(firmware|kernel/(debug|tracing|security)|devices/virtual/powercap|class/(dmi|hwmon|scsi_host|nvme))\b"
    r"|/proc/(acpi|asound|kcore|keys|latency_stats|timer_list|timer_stats|sched_debug|scsi)\b|/dev/(?!shm/)"
)
# Inode number of the first PID namespace (include/linux/proc_ns.h, PROC_PID_INIT_INO).
FIRST_PID_NAMESPACE = "pid:[4026531836]"
_ALL_IDS = ["0", "0", "4294967295"]


@cache
def user_name(uid: int) -> str:
    """Return the user's name, or the number where none has it."""
    import pwd  # not for every light child

    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"uid {uid}"


def is_in_container() -> bool:
    """True where our processes are not the machine's own, or our root is not its root (ids are mapped)."""
    try:
        if os.readlink("/proc/self/ns/pid") != FIRST_PID_NAMESPACE:
            return True
        with open("/proc/self/uid_map", encoding="ascii") as file:
            return file.read(200).split() != _ALL_IDS
    except OSError:
        return False


def explain_hidden_by_container(path: str, source: str) -> Absent | None:
    """The reason for a path that a container's boundary takes away; None where it is something else."""
    if _MASKED.match(path) and is_in_container():
        return Absent(f"{path} is not shown in a container; read it on the host itself", "container", source)
    return None


def explain_denied_read(path: str, local: str, source: str) -> Absent:
    """`path` as on the host, `local` where it lies here."""
    right = next((right for pattern, right in _KNOWN if re.match(pattern, path)), "")
    if os.geteuid() == 0:
        lacks = f"this root lacks {right.removeprefix('root or ')}" if right else "refused even to root"
        if is_in_container():
            return Absent(f"{path}: {lacks}, the container may not read it", "container", source)
        why = "a dropped capability, a security module or kernel lockdown"
        return Absent(f"{path}: {lacks} ({why})", "permission", source)
    return Absent(f"{path}: needs {right or _right_to_read_by_mode(local)}", "permission", source)


def _right_to_read_by_mode(local: str) -> str:
    try:
        status = os.stat(local)
    except (OSError, ValueError):
        return "root (its directory is closed)"
    if status.st_mode & stat.S_IRGRP and status.st_gid != 0:
        try:
            return f"root or the group {grp.getgrgid(status.st_gid).gr_name}"
        except KeyError:
            return f"root or the group {status.st_gid}"
    if status.st_mode & (stat.S_IRUSR | stat.S_IRGRP | stat.S_IROTH):
        return "root" if status.st_uid == 0 else f"root or the user {status.st_uid}"
    return "root"


_WRITE_ADVICE = {
    errno.ENOSPC: "free some space there",
    errno.EDQUOT: "free some of the quota",
    errno.EROFS: "mount it writable",
    errno.EACCES: "ask its owner for the right to write",
    errno.EPERM: "ask its owner for the right to write",
    errno.ENOENT: "make that directory",
    errno.ENOTDIR: "remove the file that stands in the directory's place",
    errno.EFBIG: "raise the limit of a file's size (ulimit -f)",
    errno.EMFILE: "raise the limit of open files (ulimit -n 1024)",
    errno.ENFILE: "raise the host's limit of open files (fs.file-max)",
    errno.EIO: "check its disk (dmesg)",
    errno.ESTALE: "mount it again",
}


def advice_for_failed_write(error_number: int | None, otherwise: str) -> str:
    """Return what helps where a file could not be written: what the error number asks for, or else `otherwise`."""
    advice = _WRITE_ADVICE.get(error_number or 0)
    return f"{advice}, or {otherwise}" if advice else otherwise


KILLED = (
    "killed: by the kernel, for want of memory (dmesg), or by a limit of CPU time (ulimit -t), or by somebody"
)
