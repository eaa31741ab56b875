"""/proc/stat, the one place where it is taken apart (proc(5)): what the CPUs did, and how many tasks run or wait."""

from __future__ import annotations

import msgspec

from hostdx.probes.number_text import parse_unsigned, parse_unsigned_list
from hostdx.probes.reading.host import Host
from hostdx.probes.types import Absent

# /proc/stat counts in USER_HZ: 100 on every architecture that Linux still supports, but Alpha.
TICKS_PER_S = 100.0
SOURCE = "/proc/stat"


class CpuTimes(msgspec.Struct, frozen=True):
    """Seconds since boot, of one CPU or of all. `guest` is part of `user` and is not counted twice."""

    user_s: float  # with nice
    system_s: float  # without interrupts
    idle_s: float
    iowait_s: float
    irq_s: float
    softirq_s: float
    steal_s: float  # what the hypervisor gave to others

    @property
    def tasks_s(self) -> float:
        """Return what tasks used: interrupts are not among it."""
        return self.user_s + self.system_s

    @property
    def busy_s(self) -> float:
        """User, system and interrupts; time stolen by the hypervisor is not in it."""
        return self.tasks_s + self.irq_s + self.softirq_s

    @property
    def total_s(self) -> float:
        return self.busy_s + self.idle_s + self.iowait_s + self.steal_s

    def subtract_earlier(self, earlier: CpuTimes) -> CpuTimes:
        """A counter that ran backwards gives 0."""
        return CpuTimes(*(max(0.0, getattr(self, f) - getattr(earlier, f)) for f in self.__struct_fields__))


class ProcStat(msgspec.Struct, frozen=True):
    """`cpus`: by number, online ones only. None: the file does not tell it, which is not zero."""

    all: CpuTimes | None = None
    cpus: dict[int, CpuTimes] = {}
    running: int | None = None  # runnable tasks, ourselves included
    blocked: int | None = None  # tasks in uninterruptible sleep for I/O


def read_proc_stat(host: Host) -> ProcStat | Absent:
    text = host.read_file_text(SOURCE, 16 << 20)  # one number an interrupt: large on large hosts
    return text if isinstance(text, Absent) else parse_proc_stat(text)


def parse_proc_stat(text: str) -> ProcStat:
    total: CpuTimes | None = None
    cpus: dict[int, CpuTimes] = {}
    tasks: dict[str, int | None] = {}
    for line in text.splitlines():
        name, _, rest = line.partition(" ")
        if name == "cpu":
            total = _parse_cpu_times(rest)
        elif name.startswith("cpu") and (number := parse_unsigned(name[3:])) is not None:
            if (times := _parse_cpu_times(rest)) is not None:
                cpus[number] = times
        elif name in ("procs_running", "procs_blocked"):
            tasks[name] = parse_unsigned(rest)
    return ProcStat(total, cpus, tasks.get("procs_running"), tasks.get("procs_blocked"))


def read_cpu_times(host: Host) -> dict[int, CpuTimes] | Absent:
    """By CPU number, online ones only."""
    stat = read_proc_stat(host)
    if isinstance(stat, Absent):
        return stat
    return stat.cpus or Absent(f"{SOURCE} has no line of a CPU", "invalid", SOURCE)


def _parse_cpu_times(words: str) -> CpuTimes | None:
    """`user nice system idle iowait irq softirq steal`; old kernels have the first four, new ones more after them."""
    ticks = parse_unsigned_list(words.split()[:8])
    if ticks is None or len(ticks) < 4:
        return None
    user, nice, system, *rest = [t / TICKS_PER_S for t in ticks] + [0.0] * (8 - len(ticks))
    return CpuTimes(user + nice, system, *rest)
