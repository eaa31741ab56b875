"""How long a running job waits for I/O: what a faster disk could give it at most.

The share is of wall time: the part in which at least one of the job's threads waited. No disk, however fast, gains the
job more than that. Sources, best first: pressure of its control group, delay accounting, state D twenty times a second.
"""

import asyncio
import math
import os
import random
import re
import time
from collections.abc import Callable, Sequence

import msgspec

from hostdx.probes.reading.host import Host
from hostdx.probes.reading.process_stat import ProcessStat, read_stat
from hostdx.probes.system.running import processes
from hostdx.probes.system.running.cgroup import absent_cgroup, cgroup_folders, group_pids
from hostdx.probes.system.software.kernel import read_kernel
from hostdx.probes.types import Absent, is_present

LOOKS_PER_S = 20
WINDOW_S = 1.0
# Student's t for 95 %, two-sided, by degrees of freedom (1 to 30); beyond it 2.
_T = (
    12.71, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131,
    2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
)  # fmt: skip


MAX_TASKS = 512  # threads looked at, twenty times a second


class JobIoWait(msgspec.Struct, frozen=True, kw_only=True):
    """`share` (0..1) of the wall time in which the job waited for I/O, with its 95 % interval over seconds.

    `samples` is the number of looks (or of counter readings). `remark` says what the figure leaves out.
    """

    share: float
    ci95: tuple[float, float] | None
    samples: int
    seconds: float
    source: str
    processes: int = 0
    remark: str = ""


class RealClock:
    """The real clock; tests bring one that does not wait."""

    def now(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


async def measure_job_wait(
    host: Host,
    *,
    pids: Sequence[int] = (),
    cgroup: str | None = None,
    seconds: float = 10.0,
    clock: RealClock | None = None,
) -> JobIoWait | Absent:
    """Watches for `seconds` (at least two). `pids` with all that they started, or a control group."""
    clock = clock or RealClock()
    if cgroup is None:
        return await _delay_by_tasks(
            host, lambda: pids_with_descendants(host, tuple(pids)), seconds, clock, ""
        )
    folders = cgroup_folders(host, cgroup)
    if not folders:
        return absent_cgroup(cgroup)
    why = ""
    for folder in folders:
        pressure = _io_pressure_us(host, folder)
        if not isinstance(pressure, Absent):
            return await _delay_by_pressure(host, folder, seconds, clock)
        why = why or f"no pressure figures ({pressure.reason})"
    return await _delay_by_tasks(host, lambda: group_pids(host, folders[0]), seconds, clock, why)


async def _delay_by_pressure(host: Host, folder: str, seconds: float, clock: RealClock) -> JobIoWait | Absent:
    """Documentation/accounting/psi.rst: `some` counts the microseconds in which at least one task waited."""
    shares: list[float] = []
    began = at = clock.now()
    last = _io_pressure_us(host, folder)
    while is_present(last) and at - began < seconds - WINDOW_S / 2:
        await clock.sleep(WINDOW_S)
        now, value = clock.now(), _io_pressure_us(host, folder)
        if isinstance(value, Absent):
            break
        shares.append(min(1.0, max(0.0, (value - last) / 1e6 / max(now - at, 1e-9))))
        at, last = now, value
    if len(shares) < 2:
        return Absent(f"the control group {folder} ended while it was watched", "missing", folder)
    return JobIoWait(
        share=sum(shares) / len(shares),
        ci95=interval_of_shares(shares, 1e-6),
        samples=len(shares),
        seconds=at - began,
        source=f"{folder}/io.pressure",
        processes=len(group_pids(host, folder)),
    )


async def _delay_by_tasks(
    host: Host, list_pids: Callable[[], tuple[int, ...]], seconds: float, clock: RealClock, why: str
) -> JobIoWait | Absent:
    off = delay_accounting_off_reason(host)
    jitter = random.Random()
    shares_in_d: list[float] = []
    counted: list[float] = []
    looks = most = 0
    began = clock.now()
    while clock.now() - began < seconds - WINDOW_S / 2 and (pids := list_pids()):
        most = max(most, len(pids))
        paths = task_stat_paths(host, pids)
        start, before = clock.now(), read_task_stats(host, paths)
        after = before
        in_d = look_count = 0
        for number in range(LOOKS_PER_S):
            # Somewhere in its twentieth of a second: regular looks would beat with a periodic job.
            due = start + (number + jitter.random()) * WINDOW_S / LOOKS_PER_S
            await clock.sleep(max(0.0, due - clock.now()))
            after = read_task_stats(host, paths) or after
            in_d += any(task.state_letter == "D" for task in after)
            look_count += 1
        looks += look_count
        shares_in_d.append(in_d / look_count)
        counted.append(_blocked_s_between(before, after) / max(clock.now() - start, 1e-9))
    if len(shares_in_d) < 2:
        return Absent("no such process, or it ended while it was watched", "missing", "/proc")
    # A counter that stands still may be none at all: tasks older than the accounting, a kernel built without it.
    by_counter = not off and any(counted)
    if not off and any(shares_in_d):
        off = "the job is older than its accounting"
    values = [min(1.0, c) for c in counted] if by_counter else shares_in_d
    return JobIoWait(
        share=sum(values) / len(values),
        ci95=interval_of_shares(values, 0.01 if by_counter else 3 / looks),
        samples=looks,
        seconds=clock.now() - began,
        source="delay accounting (/proc/PID/task/*/stat)"
        if by_counter
        else "state D (/proc/PID/task/*/stat)",
        processes=most,
        remark="; ".join(filter(None, (why, "" if by_counter else off))),
    )


def delay_accounting_off_reason(host: Host) -> str:
    """Return why field 42 stays 0, or "". Off by default since Linux 5.14, before on (kernel/delayacct.c)."""
    setting = host.read_file_text("/proc/sys/kernel/task_delayacct")
    if isinstance(setting, str):
        return (
            ""
            if setting.strip() == "1"
            else "kernel.task_delayacct=0 (sysctl -w kernel.task_delayacct=1 counts exactly)"
        )
    return (
        "nodelayacct on the kernel's command line"
        if "nodelayacct" in read_kernel(host).boot_parameters()
        else ""
    )


def _blocked_s_between(before: Sequence[ProcessStat], after: Sequence[ProcessStat]) -> float:
    earlier = {task.pid: task.blocked_ticks for task in before}
    moved = sum(max(0, task.blocked_ticks - earlier.get(task.pid, task.blocked_ticks)) for task in after)
    return moved / float(os.sysconf("SC_CLK_TCK"))


def interval_of_shares(shares: Sequence[float], resolution: float) -> tuple[float, float] | None:
    """Student's 95 % interval of the mean over the seconds, within 0..1; not narrower than what could be seen."""
    count = len(shares)
    if count < 2:
        return None
    mean = sum(shares) / count
    deviation = math.sqrt(sum((s - mean) ** 2 for s in shares) / (count - 1))
    half = (_T[count - 2] if count - 2 < len(_T) else 2.0) * deviation / math.sqrt(count)
    if deviation == 0:
        # All alike: with none in n looks the truth is below 3/n in 95 of 100 cases (the rule of three).
        return max(0.0, mean - (resolution if mean > 0 else 0.0)), min(1.0, mean + resolution)
    return max(0.0, mean - half), min(1.0, mean + half)


def _io_pressure_us(host: Host, folder: str) -> int | Absent:
    """EL8, EL9: the file is there, and reading it fails until the kernel is booted with psi=1."""
    text = host.read_file_text(f"{folder}/io.pressure")
    if isinstance(text, Absent):
        return text
    match = re.search(r"^some .*\btotal=([0-9]{1,19})\b", text, re.MULTILINE)
    return int(match[1]) if match else Absent(f"{folder}/io.pressure has no total", "invalid", folder)


def pids_with_descendants(host: Host, pids: tuple[int, ...]) -> tuple[int, ...]:
    """Those of `pids` that exist, and everything they started."""
    everybody = processes.read_process_table(host, io=False).processes
    there = [pid for pid in dict.fromkeys(pids) if pid in everybody]
    return (*there, *processes.find_descendants(everybody, there))


def task_stat_paths(host: Host, pids: tuple[int, ...]) -> tuple[str, ...]:
    """The stat files of their threads, at most 512."""
    paths: list[str] = []
    for pid in pids:
        threads = host.list_names(f"/proc/{pid}/task")
        if not isinstance(threads, Absent):
            paths += [f"/proc/{pid}/task/{tid}/stat" for tid in threads]
        if len(paths) >= MAX_TASKS:
            break
    return tuple(paths[:MAX_TASKS])


def read_task_stats(host: Host, paths: tuple[str, ...]) -> tuple[ProcessStat, ...]:
    """One look at each; those that have ended are left out."""
    return tuple(stat for path in paths if (stat := read_stat(host, path)) is not None)
