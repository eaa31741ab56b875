"""Lower priority for what takes the CPUs that others wait for: the commands for a process, a user or a control group.

setpriority(2) changes one thread, so that a process is named by all of its threads. Where the kernel groups tasks by
session (sched(7), autogroup), nice values count within a session only, and the session's own value is set beside them.
A kernel thread works for others, who would wait for it: what makes its work less is said instead.
"""

from hostdx.probes.reading.host import Host
from hostdx.probes.reading.process_stat import read_stat
from hostdx.probes.types import is_present
from hostdx.scenarios.contract.finding import Remedy
from hostdx.scenarios.triage.knowledge.waits import known_kernel_thread
from hostdx.scenarios.triage.rules.texts import finding_texts

SAYS = finding_texts("triage/cpus")

AUTOGROUP = "/proc/sys/kernel/sched_autogroup_enabled"


def process_priority_remedy(host: Host, pid: int, name: str) -> Remedy:
    stat = read_stat(host, f"/proc/{pid}/stat")
    if stat is not None and stat.is_kernel_thread:
        return kernel_thread_remedy(pid, stat.name)
    grouped = host.read_file_text(AUTOGROUP, 64)
    session = host.read_file_text(f"/proc/{pid}/autogroup", 256)  # `/autogroup-9 nice 0`
    was = session.rpartition(" ")[2] if is_present(session) else ""
    return SAYS.remedy(
        "process",
        name=name,
        pid=pid,
        nice=stat.nice_value if stat is not None else 0,
        grouped=(str(pid),) if is_present(grouped) and grouped.strip() == "1" else (),
        was=was or "0",
    )


def is_kernel_thread(host: Host, pid: int) -> bool:
    stat = read_stat(host, f"/proc/{pid}/stat")
    return stat is not None and stat.is_kernel_thread


def kernel_thread_remedy(pid: int, name: str) -> Remedy:
    """Only looks."""
    thread_kind = known_kernel_thread(name)
    if thread_kind is None:
        return SAYS.remedy("unknown-kernel-thread", name=name, pid=pid)
    return SAYS.remedy(
        "kernel-thread",
        name=name,
        pid=pid,
        work=thread_kind.work,
        advice=thread_kind.advice,
        commands=thread_kind.commands,
    )


def user_priority_remedy(user: str) -> Remedy:
    return SAYS.remedy("user", user=user)


def group_priority_remedy(host: Host, folder: str) -> Remedy:
    """Version 2; what runs outside of the group is as before."""
    weight = host.read_word(f"{folder}/cpu.weight")
    return SAYS.remedy("group", folder=folder, was=(weight,) if is_present(weight) else ())
