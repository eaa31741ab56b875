"""Why the kernel said no, in words: which right is missing to read a path."""

# os functions on text: pathlib costs several times as much on thousands of files.
# ruff: noqa: PTH116, PTH123

from __future__ import annotations

import grp
import os
import re
import stat

from probes.types import Absent

# Beginnings of paths whose right is not told by their mode. proc(5), kernel Documentation/admin-guide/sysctl.
_KNOWN: tuple[tuple[str, str], ...] = (
    (r"/proc/\d+/(io|mem|maps|smaps|environ|numa_maps|stack|cwd|exe|fd)\b", "root or CAP_SYS_PTRACE"),
    (r"/proc/kmsg|/dev/kmsg", "root or CAP_SYSLOG (kernel.dmesg_restrict=1)"),
    (r"/sys/kernel/(debug|tracing)\b", "root (debugfs and tracefs are mounted with mode 0700)"),
    (r"/var/log/journal\b", "root or the group systemd-journal or adm"),
)


def in_user_namespace() -> bool:
    """True where our root is not the machine's: user ids are mapped (rootless containers)."""
    try:
        with open("/proc/self/uid_map", encoding="ascii") as file:
            return file.read(200).split() != ["0", "0", "4294967295"]
    except OSError:
        return False


def denied(path: str, local: str, source: str) -> Absent:
    """`path` as on the host, `local` where it lies here."""
    if os.geteuid() == 0:
        if in_user_namespace():
            return Absent(f"{path}: the container may not read it", "container", source)
        text = "refused even to root (kernel lockdown, a security module or a missing capability)"
        return Absent(f"{path}: {text}", "permission", source)
    for pattern, right in _KNOWN:
        if re.match(pattern, path):
            return Absent(f"{path}: needs {right}", "permission", source)
    return Absent(f"{path}: needs {_by_mode(local)}", "permission", source)


def _by_mode(local: str) -> str:
    try:
        found = os.stat(local)
    except (OSError, ValueError):
        return "root (its directory is closed)"
    if found.st_mode & stat.S_IRGRP and found.st_gid != 0:
        try:
            return f"root or the group {grp.getgrgid(found.st_gid).gr_name}"
        except KeyError:
            return f"root or the group {found.st_gid}"
    if found.st_mode & (stat.S_IRUSR | stat.S_IRGRP | stat.S_IROTH):
        return "root" if found.st_uid == 0 else f"root or the user {found.st_uid}"
    return "root"
