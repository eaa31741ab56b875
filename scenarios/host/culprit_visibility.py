"""Why nobody can be named beside a pressure: the pressure is the whole host's, the processes seen here may not be."""

from __future__ import annotations

import os
import re
from typing import Literal, TypeAlias

import msgspec

from probes.host import Host
from probes.system.running.processes import Look
from probes.types import present
from scenarios.finding import Remedy

Cause: TypeAlias = Literal["namespace", "hidden", "unreadable", "kept", "quiet"]
INITIAL = "pid:[4026531836]"  # PROC_PID_INIT_INO, include/linux/proc_ns.h
_HIDDEN = re.compile(
    r"^\S+ \S+ \S+ \S+ /proc .* - proc .*\bhidepid=(1|2|4|noaccess|invisible|ptraceable)\b", re.M
)


class Unseen(msgspec.Struct, frozen=True):
    """`quiet`: all can be seen, and none uses much at this moment."""

    cause: Cause

    @property
    def sentence(self) -> str:
        match self.cause:
            case "namespace":
                return "who uses it cannot be seen from this PID namespace (a container)"
            case "hidden":
                return "who uses it is hidden from this user (/proc is mounted with hidepid)"
            case "unreadable":
                return "whose I/O it is can only be read as root"
            case "kept":
                return "no process whose I/O can be read uses much of it"
        return "no process uses much of it at this moment"

    @property
    def remedy(self) -> tuple[Remedy, ...]:
        match self.cause:
            case "namespace":
                return (
                    Remedy(
                        title="Ask on the host itself, outside of the container", commands=("hostdx triage",)
                    ),
                )
            case "hidden" | "unreadable":
                return (
                    Remedy(title="Ask as root, who sees all processes", commands=("sudo hostdx triage",)),
                )
        return (Remedy(title="See who comes and goes", commands=("top -b -d 5 -n 12 -c | head -n 400",)),)


def unseen(host: Host, kind: str, seen: Look) -> Unseen:
    return Unseen(cause(_namespace(), host, kind, seen.unreadable, root=os.geteuid() == 0))


def cause(namespace: str, host: Host, kind: str, unreadable: int, *, root: bool) -> Cause:
    """`namespace`: of our processes, "" where not known; `unreadable`: processes whose I/O we may not read."""
    mounts = host.text("/proc/self/mountinfo", 1 << 20)
    if namespace and namespace != INITIAL:
        return "namespace"
    if not root and present(mounts) and _HIDDEN.search(mounts):
        return "hidden"
    if kind == "io" and unreadable:
        return "kept" if root else "unreadable"
    return "quiet"


def _namespace() -> str:
    try:
        return os.readlink("/proc/self/ns/pid")  # noqa: PTH115 (no path)
    except OSError:
        return ""
