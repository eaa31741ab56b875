"""What else the host did while the CPUs were measured: others' CPU time, steal, quotas, heat, power."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import msgspec

from hostdx.probes.reading.host import Host
from hostdx.probes.system.processor.cpu_times import CpuTimes, read_cpu_times
from hostdx.probes.system.processor.frequency import read_frequency
from hostdx.probes.system.processor.power import PowerPackage, mean_watts, read_power_packages
from hostdx.probes.system.processor.throttle import ThrottleReader
from hostdx.probes.system.running.culprit import BusyProcess, find_dominant_process
from hostdx.probes.system.running.processes import Process, own_process_family, read_process_table
from hostdx.probes.system.running.quota_groups import QuotaGroup, most_throttled_quota, own_quotas
from hostdx.probes.types import Absent, is_present
from hostdx.scenarios.numa.settings import Held, frequency_holder, highest_khz, limited_khz

MIN_CULPRIT_CPUS = 0.1


class CpuConditions(msgspec.Struct, frozen=True, kw_only=True):
    """What else was true while the CPUs were measured. None: not told on this host."""

    quota_cores: float | None = None
    quota_folder: str = ""  # of the control group that has it
    quota_held_s: float | None = None
    quota_periods: tuple[int, int] = (0, 0)  # in how many of how many periods under load it was held back
    quota_loaded: int = 0  # CPUs that were loaded in those
    cpus: int = 0  # of the host; 0: not known
    steal: float = 0.0  # share of all CPU time
    throttled: int | None = None  # thermal events meanwhile
    culprit: BusyProcess | None = None
    foreign: dict[int, float] = {}  # CPU -> share of it that others used
    limited_khz: int | None = None
    highest_khz: int | None = None
    held_by: Held | None = None
    power_w: float | None = None
    power_limit_w: float | None = None


class ConditionsSurvey:
    """`begin` and `end` around the measurement; two passes over /proc in all."""

    def __init__(self, host: Host, cpus: int, pids: Callable[[], tuple[int, ...]]) -> None:
        self._host = host
        self._cpus = cpus
        self._pids = pids
        self._throttle = ThrottleReader(host)
        self._reached: QuotaGroup | None = None
        self._loaded = 0

    def begin(self) -> None:
        self._times = read_cpu_times(self._host)
        self._look = read_process_table(self._host, io=False)
        self._held = self._throttle.read()
        self._power = read_power_packages(self._host)
        self._quotas = own_quotas(self._host)

    @contextmanager
    def under_load(self, cpus: int) -> Iterator[None]:
        """While so many CPUs work without a pause: only then the periods say how often a quota is reached."""
        before = own_quotas(self._host)
        yield
        self._reached, self._loaded = most_throttled_quota(self._host, before), cpus

    def end(self, seconds: float, share: dict[int, float]) -> CpuConditions:
        """`share`: of each CPU what our worker on it got while it ran; the rest of its busy time was others'."""
        times, held, power = (
            read_cpu_times(self._host),
            self._throttle.read(),
            read_power_packages(self._host),
        )
        after = read_process_table(self._host, io=False)
        own_pids = frozenset(self._pids()) | frozenset(own_process_family(self._host))
        spent = _times_spent_by_cpu(self._times, times)
        total = sum(t.total_s for t in spent.values())
        clock = read_frequency(self._host)
        own = _own_cpu_s(after.processes, self._look.processes, own_pids)
        tightest = min(self._quotas, key=lambda group: group.cores, default=None)
        reached = self._reached or most_throttled_quota(self._host, self._quotas)
        return CpuConditions(
            quota_cores=tightest.cores if tightest else None,
            quota_folder=tightest.folder if tightest else "",
            quota_held_s=None
            if held.quota_s is None or self._held.quota_s is None
            else held.quota_s - self._held.quota_s,
            quota_periods=(reached.stopped, reached.periods) if reached else (0, 0),
            quota_loaded=self._loaded,
            cpus=self._cpus,
            steal=sum(t.steal_s for t in spent.values()) / total if total else 0.0,
            throttled=None
            if held.thermal is None or self._held.thermal is None
            else held.thermal - self._held.thermal,
            culprit=find_dominant_process(self._look, after, "cpu", own_pids, MIN_CULPRIT_CPUS),
            foreign=_foreign_share_by_cpu(spent, own, share, seconds),
            limited_khz=limited_khz(self._host, clock),
            highest_khz=highest_khz(clock),
            held_by=frequency_holder(self._host, clock),
            power_w=_highest_package_watts(self._power, power, seconds),
            power_limit_w=_lowest_power_limit(power),
        )


def _times_spent_by_cpu(
    before: dict[int, CpuTimes] | Absent, after: dict[int, CpuTimes] | Absent
) -> dict[int, CpuTimes]:
    if isinstance(before, Absent) or isinstance(after, Absent):
        return {}
    return {n: now.subtract_earlier(before[n]) for n, now in after.items() if n in before}


def _own_cpu_s(after: dict[int, Process], before: dict[int, Process], own_pids: frozenset[int]) -> float:
    def sum_seconds(processes: dict[int, Process]) -> float:
        return sum(process.own_s for pid, process in processes.items() if pid in own_pids)

    return max(0.0, sum_seconds(after) - sum_seconds(before))


def _foreign_share_by_cpu(
    spent: dict[int, CpuTimes], own_s: float, share: dict[int, float], seconds: float
) -> dict[int, float]:
    """CPU -> share of the time that others were busy on it.

    /proc/stat does not say whose the time of a CPU is. Our own time is spread over the CPUs as the workers got them:
    a worker on each, moved together, the same loads everywhere.
    """
    total_share = sum(share.values())
    if not total_share or seconds <= 0:
        return {}
    return {
        n: max(0.0, (spent[n].tasks_s - own_s * cpu_share / total_share) / seconds)
        for n, cpu_share in share.items()
        if n in spent
    }


def _highest_package_watts(
    before: tuple[PowerPackage, ...] | Absent, after: tuple[PowerPackage, ...] | Absent, seconds: float
) -> float | None:
    if isinstance(before, Absent) or isinstance(after, Absent):
        return None
    readings = [mean_watts(earlier, other, seconds) for earlier, other in zip(before, after, strict=False)]
    known_watts = [value for value in readings if is_present(value)]
    return max(known_watts, default=None)


def _lowest_power_limit(packages: tuple[PowerPackage, ...] | Absent) -> float | None:
    limits = [p.limit_w for p in packages if is_present(p.limit_w)] if is_present(packages) else []
    return min(limits, default=None)
