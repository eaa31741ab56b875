"""What kernels.toml asks of the host: whether a fault can matter here (needs), and whether it shows (symptoms).

Each answer is a sentence of evidence, "" where it is not so, or why it cannot be known. Read-only; a look of a quarter
of a second only where a counter must be seen moving.
"""

import re
import time
from collections.abc import Callable
from functools import partial
from typing import TypeAlias, TypeVar

from probes.host import Host, once, once_if_still
from probes.number_text import real
from probes.process_stat import stat_at
from probes.system.disk.arrays import md_arrays
from probes.system.disk.mounts import mounts
from probes.system.kernel_log import kernel_log
from probes.system.nodes.memory import memory
from probes.system.processor.cpu import cpu
from probes.system.processor.cpu_times import TICKS_PER_S
from probes.system.processor.throttle import cpu_stat
from probes.system.pulse import Counters, read_counters
from probes.system.running.cgroup import cgroup
from probes.system.software.security import VULNERABILITIES
from probes.system.virtualisation import virtualisation
from probes.types import Absent, present
from probes.units import percent
from scenarios.rule import wait_since

T = TypeVar("T")
Answer: TypeAlias = str | Absent
Probe: TypeAlias = Callable[[Host], Answer]

MANY_CPUS = 16  # the XFS series measured its lock from there on
LOOK_S = 0.25
QUIET_PERCENT = 5.0  # of ten seconds in which some task waited for I/O
WAITING = 0.30  # of all CPU time in I/O wait: what a person sees in top and asks about
IDLE_DISK = 0.05  # of the time, at most, that any disk had a request under way
THROTTLED = 0.05  # of the periods
BELOW_QUOTA = 0.8  # of the quota, used on average since the group was made
DATABASES = frozenset({"mysqld", "mariadbd", "postgres", "mongod", "oracle"})
SPINNING = 0.5  # of a CPU over the array thread's life
_ATA = re.compile(r"\bata\d+(?:\.\d+)?: (?:exception|SATA link down|failed command|hard resetting link)")


def _where(read: Callable[[Host], T | Absent], met: Callable[[T], object], says: str) -> Probe:
    """Whether what is read meets it, in these words."""

    def answer(host: Host) -> Answer:
        found = read(host)
        if isinstance(found, Absent):
            return found
        return says.format(found) if met(found) else ""

    return answer


def retbleed_ibrs(host: Host) -> Answer:
    path = f"{VULNERABILITIES}/retbleed"
    text = host.word(path)
    if isinstance(text, Absent):
        found = cpu(host)  # it is Intel's without enhanced IBRS only (bugs.c, retbleed_select_mitigation)
        spared = present(found.vendor) and found.vendor != "GenuineIntel"
        return "" if spared or "ibrs_enhanced" in found.flags else text
    return text if text == "Mitigation: IBRS" else ""


def database(host: Host) -> Answer:
    names = host.glob("/proc/[0-9]*/comm")
    if not names and not host.exists("/proc/1"):
        return Absent("the capture holds no processes", "captured", "/proc")
    running = {name for path in names if present(name := host.word(path))}
    found = sorted(running & DATABASES)
    return f"{', '.join(found)} is running" if found else ""


def cpu_quota(host: Host) -> Answer:
    found = cgroup(host)
    if isinstance(found, Absent):
        return found
    if isinstance(found.cpu_cores, Absent):
        return found.cpu_cores
    return f"a quota of {found.cpu_cores:g} CPUs" if found.cpu_cores is not None else ""


def throttled_below_quota(host: Host) -> Answer:
    """Of our own control group, by its counters since it was made."""
    found = cgroup(host)
    quota = found.cpu_cores if not isinstance(found, Absent) else found
    if isinstance(quota, Absent):
        return quota
    if quota is None:
        return ""
    for path in ("/sys/fs/cgroup/cpu.stat", "/sys/fs/cgroup/cpu/cpu.stat"):
        if values := cpu_stat(host, path):
            return _throttled(values, quota)
    return Absent("no cpu.stat of this control group can be read", "missing", "/sys/fs/cgroup/cpu.stat")


def _throttled(values: dict[str, int], quota: float) -> Answer:
    periods, stopped, used = (values.get(k) for k in ("nr_periods", "nr_throttled", "usage_usec"))
    if not periods or stopped is None or used is None:
        return Absent("cpu.stat has no usage beside its periods", "unsupported", "cpu.stat")
    share = used / 1e6 / (periods * 0.1 * quota)  # the period's length is 0.1 s unless somebody set it
    if stopped / periods < THROTTLED or share > BELOW_QUOTA:
        return ""
    return f"stopped in {percent(stopped / periods)} of the periods, {percent(share)} of the quota used"


def raid5(host: Host) -> Answer:
    levels = [
        (a.name, a.level)
        for a in md_arrays(host)
        if present(a.level) and a.level in ("raid4", "raid5", "raid6")
    ]
    return ", ".join(f"{name} is {level}" for name, level in levels)


def raid5_spins(host: Host) -> Answer:
    """CPU time of the arrays' threads, over a quarter of a second."""
    if not host.live:
        return Absent("a capture does not show a thread spinning", "captured", "/proc/PID/stat")
    look_s, before = _first_array_threads(host)
    if not before:
        return ""
    wait_since(look_s, LOOK_S)
    seconds = time.monotonic() - look_s
    after = _array_threads(host)
    busy = [
        name
        for pid, (name, ticks) in after.items()
        if pid in before and ticks - before[pid][1] >= SPINNING * seconds * TICKS_PER_S
    ]
    return f"{', '.join(busy)} takes a CPU" if busy else ""


def _array_threads(host: Host) -> dict[str, tuple[str, int]]:
    found = {}
    for path in host.glob("/proc/[0-9]*/stat"):
        stat = stat_at(host, path)
        if stat is not None and re.fullmatch(r"md\d+_raid[456]", stat.name):
            found[path] = (stat.name, stat.user_ticks + stat.system_ticks)
    return found


def _file_system(kind: str, name: str, host: Host) -> Answer:
    table = mounts(host)
    if isinstance(table, Absent):
        return table
    places = [m.mountpoint for m in table if m.fstype == kind]
    return f"{name} on {', '.join(places[:3])}" if places else ""


def sata_link_sleeps(host: Host) -> Answer:
    names = host.glob("/sys/class/scsi_host/host*/link_power_management_policy")
    sleeping = {word for path in names if present(word := host.word(path)) and word != "max_performance"}
    return f"SATA link power policy {', '.join(sorted(sleeping))}" if sleeping else ""


def ata_errors(host: Host) -> Answer:
    log = host.once(kernel_log)
    if isinstance(log, Absent):
        return log
    lines = [line.message for line in log.lines if _ATA.search(line.message)]
    return (
        f"{len(lines)} lines about link errors in the kernel's log, the last: {lines[-1][:120]}"
        if lines
        else ""
    )


def iowait_idle_disks(host: Host) -> Answer:
    found = _waiting(host)
    if isinstance(found, Absent):
        return found
    waiting, busiest = found
    return (
        f"{waiting} while no disk is busy more than {percent(IDLE_DISK)}"
        if waiting and busiest <= IDLE_DISK
        else ""
    )


def first_look(host: Host) -> None:
    """Read the counters that move, for the rule that looks at them again."""
    if host.live:
        _first_counters(host)
        if raid5(host):
            _first_array_threads(host)


@once_if_still
def _first_counters(host: Host) -> Counters:
    return read_counters(host, time.monotonic())


@once_if_still
def _first_array_threads(host: Host) -> tuple[float, dict[str, tuple[str, int]]]:
    return time.monotonic(), _array_threads(host)


@once
def _waiting(host: Host) -> tuple[str, float] | Absent:
    """The share of I/O wait in words where it is high, and how busy the busiest disk was. Looked at once a host."""
    if not host.live:
        return Absent("a capture does not show what the CPUs wait for now", "captured", "/proc/stat")
    pressure = host.text("/proc/pressure/io", 4096)
    recent = re.search(r"^some avg10=([0-9.]{1,9}) ", pressure) if present(pressure) else None
    if recent is not None and (waited := real(recent[1])) is not None and waited < QUIET_PERCENT:
        return "", 0.0  # nobody waits: nothing to look at for a quarter of a second
    before = _first_counters(host)
    wait_since(before.time_s, LOOK_S)
    after = read_counters(host, time.monotonic())
    share = _share(before, after)
    if share is None or not before.disks:
        return Absent("/proc/stat or /proc/diskstats cannot be read", "missing", "/proc/stat")
    seconds = max(after.time_s - before.time_s, 1e-3)
    busiest = max(
        ((d.busy_s - before.disks[n].busy_s) / seconds for n, d in after.disks.items() if n in before.disks),
        default=0.0,
    )
    return (f"{percent(share)} of the CPU time is I/O wait" if share >= WAITING else ""), busiest


def _share(before: Counters, after: Counters) -> float | None:
    if before.cpu is None or after.cpu is None or after.cpu.total_s <= before.cpu.total_s:
        return None
    return (after.cpu.iowait_s - before.cpu.iowait_s) / (after.cpu.total_s - before.cpu.total_s)


NEEDS: dict[str, Probe] = {
    "retbleed-ibrs": retbleed_ibrs,
    "database": database,
    "cpu-quota": cpu_quota,
    "huge-pages-always": _where(
        lambda host: memory(host).transparent_huge_pages,
        lambda word: word == "always",
        "transparent huge pages: {}",
    ),
    "amd": _where(lambda host: cpu(host).vendor, lambda vendor: "AMD" in vendor, "{}"),
    "acpi-idle": _where(
        lambda host: host.word("/sys/devices/system/cpu/cpuidle/current_driver"),
        lambda word: word == "acpi_idle",
        "idle driver {}",
    ),
    "many-cpus": _where(lambda host: cpu(host).threads, lambda count: count > MANY_CPUS, "{} CPUs"),
    "smt": _where(lambda host: cpu(host).smt, lambda word: word == "on", "two threads a core"),
    "raid5": raid5,
    "xfs": partial(_file_system, "xfs", "XFS"),
    "ext4": partial(_file_system, "ext4", "ext4"),
    "sata-link-sleeps": sata_link_sleeps,
}
SYMPTOMS: dict[str, Probe] = {
    "iowait": _where(_waiting, lambda seen: seen[0], "{0[0]}"),
    "iowait-idle-disks": iowait_idle_disks,
    "hypervisor": _where(lambda host: virtualisation(host).hypervisor, bool, "a virtual machine ({})"),
    "throttled-below-quota": throttled_below_quota,
    "raid5-spins": raid5_spins,
    "ata-errors": ata_errors,
}
