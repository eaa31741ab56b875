"""A job's use of the CPUs: a process tree, a control group or a user's processes, looked at twice.

From /proc/PID/stat and, for each thread, schedstat (how long it could run and did not: Documentation/scheduler/
sched-stats.rst) and sched (migrations; needs CONFIG_SCHED_DEBUG). A child that ended in between counts through its
parent's times.
"""

import re
from typing import Literal, TypeAlias

import msgspec

from hostdx.probes.number_text import parse_unsigned
from hostdx.probes.reading.host import Host
from hostdx.probes.reading.process_stat import read_stat
from hostdx.probes.system.processor.cpu_times import TICKS_PER_S
from hostdx.probes.system.running.cgroup import cgroup_processes
from hostdx.probes.system.running.processes import (
    Process,
    find_descendants,
    is_same_process,
    process_with_descendants,
    read_process_table,
)
from hostdx.probes.types import Absent, is_present

JobKind: TypeAlias = Literal["pid", "cgroup", "user"]
MAX_THREADS = 4096  # each costs three small files; a larger job is told by its processes alone


class JobTarget(msgspec.Struct, frozen=True):
    """`value`: a process id, a path below /sys/fs/cgroup, or a user id.

    `start_ticks`: when the process started, in clock ticks after boot; another one may have its id by now.
    """

    kind: JobKind
    value: str
    start_ticks: int | None = None


class JobLook(msgspec.Struct, frozen=True, kw_only=True):
    """`times`: by process, user and system seconds of its own threads.

    `threads` are thread ids with (seconds waited for a CPU, migrations or -1, CPU that ran it last).
    """

    at_s: float
    processes: dict[int, Process]
    times: dict[int, tuple[float, float]]
    threads: dict[int, tuple[float, int, int]]
    others_waited_s: float | None


class JobUse(msgspec.Struct, frozen=True, kw_only=True):
    """Between two looks. `waited` is the mean number of its threads that could run and had no CPU; `others_waited`
    of all others. `migrations_per_s` None: the kernel does not tell; then `moved` counts threads seen on another CPU.
    """

    seconds: float
    cores: float
    user_share: float
    waited: float | None
    others_waited: float | None
    migrations_per_s: float | None
    moved: int
    cpus: frozenset[int]
    processes: int
    threads: int


def look_at_job(host: Host, target: JobTarget) -> JobLook | Absent:
    """Absent where no such process, group or user's process can be seen, or another process has the id."""
    at = read_process_table(host, io=False)
    target_process = at.processes.get(int(target.value)) if _names_a_pid(target) else None
    if target_process is not None and target.start_ticks not in (None, target_process.start_ticks):
        return Absent(
            f"the process {target.value} that was meant has ended; "
            f"the number belongs to a newer one ({target_process.name})",
            "missing",
            f"/proc/{target.value}/stat",
        )
    members = _processes_of_target(host, target, at.processes)
    if isinstance(members, Absent):
        return members
    if not members:
        return Absent(f"no process of {target.kind} {target.value} can be seen", "missing", "/proc")
    times: dict[int, tuple[float, float]] = {}
    threads: dict[int, tuple[float, int, int]] = {}
    for pid in members:
        used = _user_and_system_s(host, f"/proc/{pid}/stat")
        if used is not None:
            times[pid] = used
        names = host.list_names(f"/proc/{pid}/task")
        for tid in names if is_present(names) else ():
            if len(threads) >= MAX_THREADS:
                break
            if (thread := _read_wait_moves_and_cpu(host, f"/proc/{pid}/task/{tid}")) is not None:
                threads[int(tid)] = thread
    return JobLook(
        at_s=at.uptime_s,
        processes=members,
        times=times,
        threads=threads,
        others_waited_s=_total_cpu_wait_s(host),
    )


def compute_job_use(before: JobLook, after: JobLook) -> JobUse:
    """Return what happened between; threads that were born or ended in between count with what can be seen of them."""
    seconds = max(after.at_s - before.at_s, 0.01)
    own = children = 0.0
    ended_cpu_s = sum(
        p.cpu_s for pid, p in before.processes.items() if not is_same_process(p, after.processes.get(pid))
    )
    for pid, process in after.processes.items():
        earlier = before.processes.get(pid)
        earlier = earlier if is_same_process(earlier, process) else None
        own += process.own_s - (earlier.own_s if earlier else 0.0)
        children += process.children_s - (earlier.children_s if earlier else 0.0)
    # What an ended child had used by the first look came into its parent's account only now.
    cores = max(0.0, own + max(0.0, children - ended_cpu_s)) / seconds
    both = after.threads.keys() & before.threads.keys()
    waited = sum(max(0.0, after.threads[t][0] - before.threads[t][0]) for t in both)
    traced_threads = [t for t in both if after.threads[t][1] >= 0 and before.threads[t][1] >= 0]
    migrated = sum(max(0, after.threads[t][1] - before.threads[t][1]) for t in traced_threads)
    user, system = (
        sum(
            max(0.0, times[at] - _earlier_user_and_system_s(before, after, pid)[at])
            for pid, times in after.times.items()
        )
        for at in (0, 1)
    )
    all_waited = (
        None
        if after.others_waited_s is None or before.others_waited_s is None
        else max(0.0, after.others_waited_s - before.others_waited_s)
    )
    return JobUse(
        seconds=seconds,
        cores=cores,
        user_share=user / (user + system) if user + system else 0.0,
        waited=waited / seconds if both else None,
        others_waited=None if all_waited is None else max(0.0, all_waited - waited) / seconds,
        migrations_per_s=migrated / seconds if traced_threads else None,
        moved=sum(after.threads[t][2] != before.threads[t][2] for t in both),
        cpus=frozenset(t[2] for t in after.threads.values()),
        processes=len(after.processes),
        threads=len(after.threads),
    )


def _names_a_pid(target: JobTarget) -> bool:
    return target.kind == "pid" and re.fullmatch(r"[0-9]{1,9}", target.value) is not None


def _processes_of_target(
    host: Host, target: JobTarget, everybody: dict[int, Process]
) -> dict[int, Process] | Absent:
    if target.kind == "pid":
        family = process_with_descendants(host, int(target.value)) if _names_a_pid(target) else {}
        # A child that was adopted by init left the tree; the list of parents finds those whose parent still lives.
        return family | find_descendants(everybody, family)
    if target.kind == "cgroup":
        pids = cgroup_processes(host, target.value)
        return pids if isinstance(pids, Absent) else {p: everybody[p] for p in pids if p in everybody}
    return {pid: process for pid, process in everybody.items() if _effective_uid(host, pid) == target.value}


def _effective_uid(host: Host, pid: int) -> str:
    """The effective user id."""
    text = host.read_file_text(f"/proc/{pid}/status", 1 << 16)
    match = re.search(r"^Uid:\s+\d+\s+(\d+)", text, re.MULTILINE) if is_present(text) else None
    return match[1] if match else ""


def _earlier_user_and_system_s(before: JobLook, after: JobLook, pid: int) -> tuple[float, float]:
    is_same = is_same_process(before.processes.get(pid), after.processes.get(pid))
    return before.times.get(pid, (0.0, 0.0)) if is_same else (0.0, 0.0)


def _user_and_system_s(host: Host, path: str) -> tuple[float, float] | None:
    stat = read_stat(host, path)
    return None if stat is None else (stat.user_ticks / TICKS_PER_S, stat.system_ticks / TICKS_PER_S)


def _read_wait_moves_and_cpu(host: Host, folder: str) -> tuple[float, int, int] | None:
    waits = host.read_file_text(f"{folder}/schedstat", 256)
    stat = read_stat(host, f"{folder}/stat")
    moves = host.read_file_text(f"{folder}/sched", 1 << 16)
    match = re.search(r"nr_migrations\s*:\s*([0-9]{1,19})\b", moves) if is_present(moves) else None
    waited = parse_unsigned(waits.split(" ", 2)[1]) if is_present(waits) and " " in waits else None
    if stat is None or (waited is None and is_present(waits)):
        return None
    return ((waited or 0) / 1e9, int(match[1]) if match else -1, stat.last_cpu)


def _total_cpu_wait_s(host: Host) -> float | None:
    """run_delay of all CPUs: the eighth number of a cpu line of /proc/schedstat, in ns (version 15 and later)."""
    text = host.read_file_text("/proc/schedstat", 16 << 20)
    total = 0
    has_values = False
    for line in text.splitlines() if is_present(text) else ():
        words = line.split()
        waited = (
            parse_unsigned(words[8]) if len(words) >= 9 and re.fullmatch(r"cpu[0-9]+", words[0]) else None
        )
        if waited is not None:
            total, has_values = total + waited, True
    return total / 1e9 if has_values else None
