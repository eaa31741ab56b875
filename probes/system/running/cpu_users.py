"""Who used the CPUs over several looks at all processes, where each may run, and which of them share too few CPUs.

A process that is pinned (taskset, a batch system, a cpuset) waits for its own CPUs while others idle: to the host's
totals that is an idle host.
"""

from collections.abc import Iterable, Mapping

import msgspec

from hostdx.probes.cpu_list import format_cpu_list, parse_cpu_list
from hostdx.probes.reading.host import Host
from hostdx.probes.system.processor.cpu_times import CpuTimes, read_cpu_times
from hostdx.probes.system.running.allowed import listed_in_status
from hostdx.probes.system.running.culprit import BusyProcess, measure_process_use
from hostdx.probes.system.running.processes import (
    ProcessTable,
    own_process_family,
    read_process_table,
    user_of,
)
from hostdx.probes.types import is_present

MAX_ASKED = 64  # processes of a look whose status is read
FULL_SHARE = 0.9  # of the CPUs that they share: less leaves each what it wants
MIN_IDLE_CPUS = 0.2  # of the others


class CpuUser(msgspec.Struct, frozen=True, kw_only=True):
    """`cpu_s`: what it used in all looks together. `allowed`: `0-3,8`; empty where it was not read.

    `owner` is empty where it ended before it could be asked. `began_s`: the look after
    which it began, in seconds after the first; None: it ran before.
    """

    process: BusyProcess
    cpu_s: float
    owner: str
    allowed: str
    began_s: float | None


class SharedCpus(msgspec.Struct, frozen=True, kw_only=True):
    """Processes that may run on `cpus` alone and used nearly all of them; `idle_cpus`: idle elsewhere meanwhile."""

    cpus: frozenset[int]
    processes: tuple[BusyProcess, ...]
    used_cpus: float
    idle_cpus: float
    cpus_elsewhere: frozenset[int]

    @property
    def cpu_list(self) -> str:
        return format_cpu_list(self.cpus)


class CpuUsers:
    """Looks at all processes: what each used is summed from look to look, those that begin later among them."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._first: ProcessTable | None = None
        self._last: ProcessTable | None = None
        self._first_times: Mapping[int, CpuTimes] = {}
        self._times_before_last: Mapping[int, CpuTimes] = {}
        self._last_times: Mapping[int, CpuTimes] = {}
        self._users: dict[tuple[int, int], CpuUser] = {}
        self.own_pids: frozenset[int] = frozenset()
        self.last_rates: dict[str, float] = {}  # CPUs by program, between the last two looks

    def look(self) -> ProcessTable:
        table = read_process_table(self._host, io=False)
        self.take_look(table)
        return table

    def take_look(self, table: ProcessTable) -> None:
        """Count a look that was made just now."""
        times = read_cpu_times(self._host)
        self._times_before_last = self._last_times
        self._last_times = times if is_present(times) else {}
        self.own_pids = frozenset(own_process_family(self._host))
        if self._first is None or self._last is None:
            self._first, self._first_times = table, self._last_times
        else:
            between_s = table.uptime_s - self._last.uptime_s
            users = measure_process_use(self._last, table, "cpu", self.own_pids)
            self.last_rates = {}
            for number, process in enumerate(sorted(users, key=lambda process: -process.rate)):
                if not table.processes[process.pid].kernel_thread:
                    rate = self.last_rates.get(process.name, 0.0) + process.rate
                    self.last_rates[process.name] = rate
                    self._add_use(process, between_s, read_allowed=number < MAX_ASKED)
        self._last = table

    def _add_use(self, process: BusyProcess, seconds: float, *, read_allowed: bool) -> None:
        key = (process.pid, process.start_ticks)
        before = self._users.get(key)
        status = self._host.read_file_text(f"/proc/{process.pid}/status", 1 << 16) if read_allowed else ""
        allowed = listed_in_status(status, "Cpus_allowed_list")
        began = self._first is not None and process.pid not in self._first.processes
        self._users[key] = CpuUser(
            process=process,
            cpu_s=(before.cpu_s if before else 0.0) + process.rate * seconds,
            owner=(before.owner if before else "") or user_of(process.pid),
            allowed=allowed or (before.allowed if before else ""),
            began_s=before.began_s if before else self.seconds if began else None,
        )

    @property
    def seconds(self) -> float:
        """Return the time from the first look to the last."""
        return self._last.uptime_s - self._first.uptime_s if self._first and self._last else 0.0

    def used_cpus(self, usable: frozenset[int], *, since_last_look: bool = False) -> float | None:
        """Return how many of the usable CPUs were busy on average, with what came and went between two looks.

        Since the first look, or the one before the last. None: not known.
        """
        before = self._times_before_last if since_last_look else self._first_times
        idle = _idle_shares_by_cpu(before, self._last_times)
        return sum(1.0 - idle[cpu] for cpu in idle.keys() & usable) if idle else None

    def is_running(self, process: BusyProcess) -> bool:
        """Return whether the last look saw it."""
        seen = self._last.processes.get(process.pid) if self._last is not None else None
        return seen is not None and seen.start_ticks == process.start_ticks

    def running_parents(self, pids: Iterable[int]) -> list[int]:
        """Return the parents of these processes that the last look saw, each once, without the host's first process."""
        processes = self._last.processes if self._last is not None else {}
        parents = (processes[pid].parent for pid in pids if pid in processes)
        return [pid for pid in dict.fromkeys(parents) if pid > 1 and pid in processes]

    def rank_users(self) -> list[CpuUser]:
        """Who used most first, with the rate over all looks."""
        seconds = max(self.seconds, 0.01)
        users = sorted(self._users.values(), key=lambda user: -user.cpu_s)
        return [
            msgspec.structs.replace(
                user, process=msgspec.structs.replace(user.process, rate=user.cpu_s / seconds)
            )
            for user in users
        ]

    def find_shared_cpus(self, usable: frozenset[int]) -> list[SharedCpus]:
        """Return CPUs that two processes or more share and fill while others of `usable` idle; the fullest first."""
        idle = _idle_shares_by_cpu(self._first_times, self._last_times)
        return find_shared_cpus(self.rank_users(), usable, idle)


def find_shared_cpus(
    users: Iterable[CpuUser], usable: frozenset[int], idle_shares: Mapping[int, float]
) -> list[SharedCpus]:
    """As the method; `idle_shares`: by CPU, of the time in which the users were measured."""
    by_cpus: dict[frozenset[int], list[BusyProcess]] = {}
    for user in users:
        cpus = parse_cpu_list(user.allowed) if user.allowed else None
        if cpus and cpus & usable < usable:
            by_cpus.setdefault(cpus & usable, []).append(user.process)
    shared_sets = []
    for cpus, processes in by_cpus.items():
        used = sum(process.rate for process in processes)
        others = usable - cpus
        idle = sum(idle_shares.get(cpu, 0.0) for cpu in others)
        if cpus and len(processes) > 1 and used >= FULL_SHARE * len(cpus) and idle >= MIN_IDLE_CPUS:
            shared_sets.append(
                SharedCpus(
                    cpus=cpus,
                    processes=tuple(processes),
                    used_cpus=used,
                    idle_cpus=idle,
                    cpus_elsewhere=others,
                )
            )
    return sorted(shared_sets, key=lambda shared: -shared.used_cpus / len(shared.cpus))


def _idle_shares_by_cpu(before: Mapping[int, CpuTimes], after: Mapping[int, CpuTimes]) -> dict[int, float]:
    """By CPU, of those that were online at both looks; waiting for a disk is idle, too."""
    shares = {}
    for cpu, times in after.items():
        if cpu in before:
            spent = times.subtract_earlier(before[cpu])
            shares[cpu] = (spent.idle_s + spent.iowait_s) / spent.total_s if spent.total_s else 0.0
    return shares
