"""Lower priority for what takes the CPUs that others wait for: the commands for a process, a user or a control group.

setpriority(2) changes one thread, so that a process is named by all of its threads. Where the kernel groups tasks by
session (sched(7), autogroup), nice values count within a session only, and the session's own value is set beside them.
"""

from __future__ import annotations

import re
import shlex

from probes.host import Host
from probes.types import present
from scenarios.finding import Remedy

LOWER = 10
LIGHT, USUAL = 20, 100  # cpu.weight
AUTOGROUP = "/proc/sys/kernel/sched_autogroup_enabled"


def of_process(host: Host, pid: int, name: str) -> Remedy:
    nice = f"renice -n {{}} -p $(ls /proc/{pid}/task)"
    commands, undo = [nice.format(LOWER)], [nice.format(_nice(host, pid))]
    grouped = host.text(AUTOGROUP, 64)
    if present(grouped) and grouped.strip() == "1":
        commands.append(f"echo {LOWER} > /proc/{pid}/autogroup")
        undo.append(f"echo 0 > /proc/{pid}/autogroup")
    return Remedy(
        title=_title(name),
        commands=tuple(commands),
        verify=(f"ps -L -o pid,lwp,user,nice,pcpu,etime,comm -p {pid}",),
        undo=tuple(undo),
    )


def _nice(host: Host, pid: int) -> int:
    """Field 19 of proc_pid_stat(5), counted behind the name, which may hold blanks; 0 where it cannot be read."""
    text = host.text(f"/proc/{pid}/stat", 4096)
    fields = text.rpartition(")")[2].split() if present(text) else []
    nice = fields[16] if len(fields) > 16 else ""
    return int(nice) if re.fullmatch(r"-?[0-9]{1,2}", nice) else 0


def of_user(user: str) -> Remedy:
    who = shlex.quote(user)
    return Remedy(
        title=_title(f"user {user}"),
        commands=(f"renice -n {LOWER} -u {who}",),
        verify=(f"ps -L -o pid,lwp,nice,pcpu,comm -u {who}",),
        undo=(f"renice -n 0 -u {who}",),
    )


def of_group(folder: str) -> Remedy:
    """Version 2; what runs outside of the group is as before."""
    file = shlex.quote(f"{folder}/cpu.weight")
    return Remedy(
        title=_title(f"control group {folder}"),
        commands=(f"echo {LIGHT} > {file}",),
        verify=(f"cat {file}",),
        undo=(f"echo {USUAL} > {file}",),
    )


def _title(name: str) -> str:
    return f"If {name} may wait, give the others priority"
