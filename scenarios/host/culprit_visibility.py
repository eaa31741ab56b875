"""Why nobody can be named beside a pressure: the pressure is the whole host's, the processes seen here may not be."""

from __future__ import annotations

import os
import re
from typing import Literal, TypeAlias

import msgspec

from probes.host import Host
from probes.system.running.processes import ProcessTable
from probes.types import present
from scenarios.finding import Remedy
from scenarios.rules.texts import texts

SAYS = texts("host")

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
        return SAYS.text(self.cause)

    @property
    def remedy(self) -> Remedy:
        match self.cause:
            case "namespace":
                return SAYS.remedy("namespace")
            case "hidden" | "unreadable":
                return SAYS.remedy("as-root")
        return SAYS.remedy("look-on")


def unseen(host: Host, kind: str, seen: ProcessTable) -> Unseen:
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
