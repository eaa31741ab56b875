"""Lower priority for what takes the CPUs that others wait for: the commands for a process, a user or a control group.

setpriority(2) changes one thread, so that a process is named by all of its threads. Where the kernel groups tasks by
session (sched(7), autogroup), nice values count within a session only, and the session's own value is set beside them.
A kernel thread works for others, who would wait for it: what makes its work less is said instead.
"""

from __future__ import annotations

import shlex

from probes.host import Host
from probes.process_stat import stat_at
from probes.types import present
from scenarios.finding import Remedy
from scenarios.knowledge.kernel_threads import kernel_thread

LOWER = 10
LIGHT, USUAL = 20, 100  # cpu.weight
AUTOGROUP = "/proc/sys/kernel/sched_autogroup_enabled"


def of_process(host: Host, pid: int, name: str) -> Remedy:
    stat = stat_at(host, f"/proc/{pid}/stat")
    if stat is not None and stat.kernel_thread:
        return of_kernel_thread(pid, stat.name)
    nice = f"renice -n {{}} -p $(ls /proc/{pid}/task)"
    commands, undo = [nice.format(LOWER)], [nice.format(stat.nice if stat is not None else 0)]
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


def is_kernel_thread(host: Host, pid: int) -> bool:
    stat = stat_at(host, f"/proc/{pid}/stat")
    return stat is not None and stat.kernel_thread


def of_kernel_thread(pid: int, name: str) -> Remedy:
    """Only looks."""
    known = kernel_thread(name)
    if known is None:
        return Remedy(
            title=f"See what kernel thread {name} works for: its stack names the part of the kernel (as root)",
            commands=(f"ps -o pid,psr,pcpu,etime,comm -p {pid}", f"cat /proc/{pid}/stack"),
        )
    return Remedy(
        title=f"{name} is a kernel thread that {known.work}: {known.advice}",
        commands=(f"ps -o pid,psr,pcpu,etime,comm -p {pid}", *known.commands),
    )


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
