"""The host's own state: load, CPU time, pressure and devices, as counters and as rates between two readings.

Cheap enough for once a second and for the gaps between blocks: some small files, no process is started.
"""

import re
import time

import msgspec

from hostdx.probes.number_text import parse_real
from hostdx.probes.reading.host import Host
from hostdx.probes.system.disk.diskstats import DiskCounters, disk_counters
from hostdx.probes.system.processor.cpu_times import CpuTimes, ProcStat, read_proc_stat
from hostdx.probes.types import Absent


class HostCounters(msgspec.Struct, frozen=True):
    """One reading. `time_s` is monotonic; None or an empty mapping: could not be read, which is not zero.

    `psi_*`: seconds since boot in which at least one task waited for the resource (accounting/psi.rst).
    """

    time_s: float
    load1: float | None = None
    cpu: CpuTimes | None = None
    cpus: int = 0
    psi_cpu: float | None = None
    psi_io: float | None = None
    psi_memory: float | None = None
    disks: dict[str, DiskCounters] = {}
    running: int | None = None  # runnable tasks, ourselves included
    blocked: int | None = None  # tasks in uninterruptible sleep for I/O


class HostRates(msgspec.Struct, frozen=True):
    """Between two readings. Shares: 0..1 of all CPUs or of the time. Devices: read, write B/s, busy share."""

    seconds: float
    load1: float
    cpu: float
    steal: float
    iowait: float
    psi_cpu: float | None
    psi_io: float | None
    psi_memory: float | None
    devices: dict[str, tuple[float, float, float]]


def read_host_counters(host: Host, now_s: float | None = None) -> HostCounters:
    """Everything at once; works on a captured tree as well and never raises."""
    load = _read_text_or_empty(host, "/proc/loadavg")
    stat = read_proc_stat(host)
    stat_values = ProcStat() if isinstance(stat, Absent) else stat
    disks = disk_counters(host)
    return HostCounters(
        time_s=time.monotonic() if now_s is None else now_s,
        load1=parse_real(load.split()[0]) if load.split() else None,
        cpu=stat_values.all,
        cpus=len(stat_values.cpus),
        psi_cpu=read_pressure_s(host, "cpu"),
        psi_io=read_pressure_s(host, "io"),
        psi_memory=read_pressure_s(host, "memory"),
        disks={} if isinstance(disks, Absent) else disks,
        running=stat_values.running,
        blocked=stat_values.blocked,
    )


def compute_host_rates(previous: HostCounters, now: HostCounters) -> HostRates:
    """Return what the host did between two readings. A counter that ran backwards (device replaced) is nothing."""
    seconds = max(now.time_s - previous.time_s, 1e-6)
    busy = steal = iowait = 0.0
    if now.cpu is not None and previous.cpu is not None:
        total = now.cpu.total_s - previous.cpu.total_s
        if total > 0:
            busy = _clamped_share(now.cpu.busy_s - previous.cpu.busy_s, total)
            steal = _clamped_share(now.cpu.steal_s - previous.cpu.steal_s, total)
            # may run backwards: proc(5)
            iowait = _clamped_share(now.cpu.iowait_s - previous.cpu.iowait_s, total)
    devices = {}
    for name, disk in now.disks.items():
        before = previous.disks.get(name)
        if before is None or disk.total_operations <= before.total_operations:
            continue
        devices[name] = (
            max(0, disk.read_bytes - before.read_bytes) / seconds,
            max(0, disk.write_bytes - before.write_bytes) / seconds,
            _clamped_share(disk.busy_s - before.busy_s, seconds),
        )
    return HostRates(
        seconds=seconds,
        load1=now.load1 or 0.0,
        cpu=busy,
        steal=steal,
        iowait=iowait,
        psi_cpu=_waited_share(previous.psi_cpu, now.psi_cpu, seconds),
        psi_io=_waited_share(previous.psi_io, now.psi_io, seconds),
        psi_memory=_waited_share(previous.psi_memory, now.psi_memory, seconds),
        devices=devices,
    )


def uptime_s(host: Host) -> float | Absent:
    text = host.read_file_text("/proc/uptime", 256)
    if isinstance(text, Absent):
        return text
    uptime = parse_real(text.partition(" ")[0])
    return Absent("/proc/uptime holds no number", "invalid", "/proc/uptime") if uptime is None else uptime


def read_pressure_s(host: Host, resource: str) -> float | None:
    """Seconds since boot in which at least one task waited for the resource.

    None where the kernel has no PSI, or has it but switched off (EL9: reading gives EOPNOTSUPP).
    """
    match = re.search(
        r"^some .*total=([0-9]{1,19})$", _read_text_or_empty(host, f"/proc/pressure/{resource}"), re.MULTILINE
    )
    return int(match[1]) / 1e6 if match else None


def _waited_share(previous: float | None, now: float | None, seconds: float) -> float | None:
    return None if previous is None or now is None else _clamped_share(now - previous, seconds)


def _clamped_share(part: float, total: float) -> float:
    return min(1.0, max(0.0, part / total))


def _read_text_or_empty(host: Host, path: str) -> str:
    text = host.read_file_text(path, 4096)
    return "" if isinstance(text, Absent) else text
