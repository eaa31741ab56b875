"""Read-only rule: kernels with known faults. A version alone is a notice, with its symptom a warning.

What kernels.toml asks of the host: whether a fault can matter here (needs), and whether it shows (symptoms).

Each answer is a sentence of evidence, "" where it is not so, or why it cannot be known. Read-only; a look of a quarter
of a second only where a counter must be seen moving.
"""

import re
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import TypeAlias, TypeVar

from hostdx.probes.number_text import parse_real
from hostdx.probes.reading.host import Host, compute_once_if_static, compute_once_per_host
from hostdx.probes.reading.process_stat import read_stat
from hostdx.probes.system.disk.arrays import md_arrays
from hostdx.probes.system.disk.mounts import read_mounts
from hostdx.probes.system.kernel_log import read_kernel_log
from hostdx.probes.system.nodes.memory import read_memory
from hostdx.probes.system.processor.cpu import read_cpu
from hostdx.probes.system.processor.cpu_times import TICKS_PER_S
from hostdx.probes.system.processor.throttle import group_cpu_stat
from hostdx.probes.system.pulse import HostCounters, read_host_counters
from hostdx.probes.system.running.cgroup import read_cgroup
from hostdx.probes.system.software.kernel import read_kernel
from hostdx.probes.system.software.security import VULNERABILITIES
from hostdx.probes.system.virtualisation import read_virtualisation
from hostdx.probes.types import Absent, is_present
from hostdx.probes.units import format_percent
from hostdx.scenarios.contract.finding import Evidence, Finding, Remedy
from hostdx.scenarios.contract.rule import HostRule, RuleInapplicable, require_readable, wait_until_after
from hostdx.scenarios.triage.knowledge.hardware import faults_of_module, module_faults
from hostdx.scenarios.triage.knowledge.kernels import KernelFault, kernel_faults_of_host
from hostdx.scenarios.triage.rules.texts import finding_texts

T = TypeVar("T")
Answer: TypeAlias = str | Absent
Probe: TypeAlias = Callable[[Host], Answer]

MAX_UNCONTENDED_CPUS = 16  # the XFS series measured its lock from there on
LOOK_S = 0.25
QUIET_PERCENT = 5.0  # of ten seconds in which some task waited for I/O
WAITING = 0.30  # of all CPU time in I/O wait: what a person sees in top and asks about
IDLE_DISK = 0.05  # of the time, at most, that any disk had a request under way
THROTTLED = 0.05  # of the periods
BELOW_QUOTA = 0.8  # of the quota, used on average since the group was made
DATABASES = frozenset({"mysqld", "mariadbd", "postgres", "mongod", "oracle"})
SPINNING = 0.5  # of a CPU over the array thread's life
_OTHER_MAKE = re.compile(r"\b(?:aarch64|arm64|armv\w+|ppc64\w*|s390x?|riscv64|loongarch64)\b")
_ATA = re.compile(r"\bata\d+(?:\.\d+)?: (?:exception|SATA link down|failed command|hard resetting link)")


def _make_probe(read: Callable[[Host], T | Absent], met: Callable[[T], object], words: str) -> Probe:
    """Return whether what is read meets it, in these words."""

    def answer_probe(host: Host) -> Answer:
        reading = read(host)
        if isinstance(reading, Absent):
            return reading
        return words.format(reading) if met(reading) else ""

    return answer_probe


def retbleed_ibrs(host: Host) -> Answer:
    path = f"{VULNERABILITIES}/retbleed"
    text = host.read_word(path)
    if isinstance(text, Absent):
        # it is Intel's without enhanced IBRS only (bugs.c, retbleed_select_mitigation)
        processor = read_cpu(host)
        spared = is_present(processor.vendor) and processor.vendor != "GenuineIntel"
        return "" if spared or "ibrs_enhanced" in processor.flags else text
    return text if text == "Mitigation: IBRS" else ""


def amd_processor(host: Host) -> Answer:
    """Of a capture without processors the kernel's release may tell that they are of another make."""
    vendor, release = read_cpu(host).vendor, read_kernel(host).release
    if isinstance(vendor, Absent):
        is_other = is_present(release) and _OTHER_MAKE.search(release)
        return "" if is_other else vendor
    return vendor if "AMD" in vendor else ""


def check_database(host: Host) -> Answer:
    names = host.glob_paths("/proc/[0-9]*/comm")
    if not names and not host.path_exists("/proc/1"):
        return Absent("the capture holds no processes", "captured", "/proc")
    running = {name for path in names if is_present(name := host.read_word(path))}
    databases = sorted(running & DATABASES)
    return f"{', '.join(databases)} is running" if databases else ""


def cpu_quota(host: Host) -> Answer:
    limits = read_cgroup(host)
    if isinstance(limits, Absent):
        return limits
    if isinstance(limits.cpu_cores, Absent):
        return limits.cpu_cores
    return f"a quota of {limits.cpu_cores:g} CPUs" if limits.cpu_cores is not None else ""


def throttled_below_quota(host: Host) -> Answer:
    """Of our own control group, by its counters since it was made."""
    limits = read_cgroup(host)
    quota = limits.cpu_cores if not isinstance(limits, Absent) else limits
    if isinstance(quota, Absent):
        return quota
    if quota is None:
        return ""
    for path in ("/sys/fs/cgroup/cpu.stat", "/sys/fs/cgroup/cpu/cpu.stat"):
        if values := group_cpu_stat(host, path):
            return _describe_throttling(values, quota)
    return Absent("no cpu.stat of this control group can be read", "missing", "/sys/fs/cgroup/cpu.stat")


def _describe_throttling(values: dict[str, int], quota: float) -> Answer:
    periods, stopped, used = (values.get(k) for k in ("nr_periods", "nr_throttled", "usage_usec"))
    if not periods or stopped is None or used is None:
        return Absent("cpu.stat has no usage beside its periods", "unsupported", "cpu.stat")
    share = used / 1e6 / (periods * 0.1 * quota)  # the period's length is 0.1 s unless somebody set it
    if stopped / periods < THROTTLED or share > BELOW_QUOTA:
        return ""
    return f"stopped in {format_percent(stopped / periods)} of the periods, {format_percent(share)} of the quota used"


def parity_arrays_text(host: Host) -> Answer:
    levels = [
        (a.name, a.level)
        for a in md_arrays(host)
        if is_present(a.level) and a.level in ("raid4", "raid5", "raid6")
    ]
    return ", ".join(f"{name} is {level}" for name, level in levels)


def find_spinning_raid5_threads(host: Host) -> Answer:
    """CPU time of the arrays' threads, over a quarter of a second."""
    if not host.live:
        return Absent("a capture does not show a thread spinning", "captured", "/proc/PID/stat")
    look_s, before = _first_array_threads(host)
    if not before:
        return ""
    wait_until_after(look_s, LOOK_S)
    seconds = time.monotonic() - look_s
    after = _array_threads_and_ticks(host)
    busy = [
        name
        for pid, (name, ticks) in after.items()
        if pid in before and ticks - before[pid][1] >= SPINNING * seconds * TICKS_PER_S
    ]
    return f"{', '.join(busy)} takes a CPU" if busy else ""


def _array_threads_and_ticks(host: Host) -> dict[str, tuple[str, int]]:
    threads = {}
    for path in host.glob_paths("/proc/[0-9]*/stat"):
        stat = read_stat(host, path)
        if stat is not None and re.fullmatch(r"md\d+_raid[456]", stat.name):
            threads[path] = (stat.name, stat.user_ticks + stat.system_ticks)
    return threads


def _where_mounted(kind: str, name: str, host: Host) -> Answer:
    table = read_mounts(host)
    if isinstance(table, Absent):
        return table
    places = [m.mountpoint for m in table if m.fstype == kind]
    return f"{name} on {', '.join(places[:3])}" if places else ""


def sata_link_sleeps(host: Host) -> Answer:
    names = host.glob_paths("/sys/class/scsi_host/host*/link_power_management_policy")
    sleeping = {w for path in names if is_present(w := host.read_word(path)) and w != "max_performance"}
    return f"SATA link power policy {', '.join(sorted(sleeping))}" if sleeping else ""


def ata_errors(host: Host) -> Answer:
    log = host.compute_once(read_kernel_log)
    if isinstance(log, Absent):
        return log
    lines = [line.message for line in log.lines if _ATA.search(line.message)]
    return (
        f"{len(lines)} lines about link errors in the kernel's log, the last: {lines[-1][:120]}"
        if lines
        else ""
    )


def iowait_idle_disks(host: Host) -> Answer:
    iowait = _iowait_words_and_busiest_share(host)
    if isinstance(iowait, Absent):
        return iowait
    waiting, busiest = iowait
    return (
        f"{waiting} while no disk is busy more than {format_percent(IDLE_DISK)}"
        if waiting and busiest <= IDLE_DISK
        else ""
    )


def first_look(host: Host) -> None:
    """Read the counters that move, for the rule that looks at them again."""
    if host.live:
        _first_counters(host)
        if parity_arrays_text(host):
            _first_array_threads(host)


@compute_once_if_static
def _first_counters(host: Host) -> HostCounters:
    return read_host_counters(host, time.monotonic())


@compute_once_if_static
def _first_array_threads(host: Host) -> tuple[float, dict[str, tuple[str, int]]]:
    return time.monotonic(), _array_threads_and_ticks(host)


@compute_once_per_host
def _iowait_words_and_busiest_share(host: Host) -> tuple[str, float] | Absent:
    """The share of I/O wait in words where it is high, and how busy the busiest disk was. Looked at once a host."""
    if not host.live:
        return Absent("a capture does not show what the CPUs wait for now", "captured", "/proc/stat")
    pressure = host.read_file_text("/proc/pressure/io", 4096)
    recent = re.search(r"^some avg10=([0-9.]{1,9}) ", pressure) if is_present(pressure) else None
    if recent is not None and (waited := parse_real(recent[1])) is not None and waited < QUIET_PERCENT:
        return "", 0.0  # nobody waits: nothing to look at for a quarter of a second
    before = _first_counters(host)
    wait_until_after(before.time_s, LOOK_S)
    after = read_host_counters(host, time.monotonic())
    share = _iowait_share(before, after)
    if share is None or not before.disks:
        return Absent("/proc/stat or /proc/diskstats cannot be read", "missing", "/proc/stat")
    seconds = max(after.time_s - before.time_s, 1e-3)
    busiest = max(
        ((d.busy_s - before.disks[n].busy_s) / seconds for n, d in after.disks.items() if n in before.disks),
        default=0.0,
    )
    return (f"{format_percent(share)} of the CPU time is I/O wait" if share >= WAITING else ""), busiest


def _iowait_share(before: HostCounters, after: HostCounters) -> float | None:
    if before.cpu is None or after.cpu is None or after.cpu.total_s <= before.cpu.total_s:
        return None
    return (after.cpu.iowait_s - before.cpu.iowait_s) / (after.cpu.total_s - before.cpu.total_s)


NEEDS: dict[str, Probe] = {
    "retbleed-ibrs": retbleed_ibrs,
    "database": check_database,
    "cpu-quota": cpu_quota,
    "huge-pages-always": _make_probe(
        lambda host: read_memory(host).transparent_huge_pages,
        lambda word: word == "always",
        "transparent huge pages: {}",
    ),
    "amd": amd_processor,
    "acpi-idle": _make_probe(
        lambda host: host.read_word("/sys/devices/system/cpu/cpuidle/current_driver"),
        lambda word: word == "acpi_idle",
        "idle driver {}",
    ),
    "many-cpus": _make_probe(
        lambda host: read_cpu(host).threads, lambda count: count > MAX_UNCONTENDED_CPUS, "{} CPUs"
    ),
    "smt": _make_probe(lambda host: read_cpu(host).smt, lambda word: word == "on", "two threads a core"),
    "raid5": parity_arrays_text,
    "xfs": partial(_where_mounted, "xfs", "XFS"),
    "ext4": partial(_where_mounted, "ext4", "ext4"),
    "btrfs": partial(_where_mounted, "btrfs", "btrfs"),
    "sata-link-sleeps": sata_link_sleeps,
}
SYMPTOMS: dict[str, Probe] = {
    "iowait": _make_probe(_iowait_words_and_busiest_share, lambda iowait: iowait[0], "{0[0]}"),
    "iowait-idle-disks": iowait_idle_disks,
    "hypervisor": _make_probe(
        lambda host: read_virtualisation(host).hypervisor, bool, "a virtual machine ({})"
    ),
    "throttled-below-quota": throttled_below_quota,
    "raid5-spins": find_spinning_raid5_threads,
    "ata-errors": ata_errors,
}


SAYS = finding_texts("kernel")


def check_known_faults(host: Host) -> Iterator[Finding]:
    """The running kernel's entries of knowledge/kernels.toml that can matter on this host."""
    running = read_kernel(host)
    release = require_readable(running.release, "the kernel's release")
    reported_ids: set[str] = set()
    unknown: list[str] = []
    for fault in kernel_faults_of_host(host):
        if fault.scheduler or fault.of != "kernel" or fault.id in reported_ids:
            continue
        met = [NEEDS[need](host) for need in fault.needs if need in NEEDS]
        if any(answer == "" for answer in met):
            continue
        symptom = _symptom_words(fault, host)
        unmet = next((answer for answer in met if isinstance(answer, Absent)), None)
        if unmet is not None and symptom != "":  # a symptom counts only where the fault is known to apply
            symptom = unmet
        if fault.quiet and not symptom:
            continue
        if unmet is not None and not fault.grave:
            unknown.append(f"{fault.id}: {unmet.reason}")
            continue
        reported_ids.add(fault.id)
        yield _fault_finding(
            fault,
            release,
            running.source,
            [answer for answer in met if isinstance(answer, str)],
            symptom,
            is_certain=unmet is None,
        )
    if unknown:
        require_readable(Absent("; ".join(unknown)), f"whether these faults of {release} affect this host")


def _logged_stack_text(fault: KernelFault, host: Host) -> str | Absent:
    """Return in words the line of the kernel's log that shows the fault; empty where none does."""
    log = host.compute_once(read_kernel_log)
    if isinstance(log, Absent):
        return log
    shown = re.compile(fault.stack)
    line = next((line.message.strip() for line in log.lines if shown.search(line.message)), "")
    return f"the kernel's log has: {line}" if line else ""


def _symptom_words(fault: KernelFault, host: Host) -> str | Absent:
    if fault.stack:
        return _logged_stack_text(fault, host)
    if not fault.symptom:
        return Absent("no fact that can be read shows it", "unsupported")
    probe = SYMPTOMS.get(fault.symptom)
    return probe(host) if probe is not None else Absent(f"no symptom is called {fault.symptom}", "invalid")


def _fault_finding(
    fault: KernelFault, release: str, source: str, met: list[str], symptom: str | Absent, is_certain: bool
) -> Finding:
    """`is_certain`: all that the fault needs was read, and is here."""
    shows = isinstance(symptom, str) and bool(symptom)
    evidence = [SAYS.evidence("running", release=release, source=source), *(Evidence(text) for text in met)]
    if isinstance(symptom, Absent):
        evidence.append(SAYS.evidence("symptom-unknown", reason=symptom.reason))
    else:
        evidence.append(Evidence(symptom) if symptom else SAYS.evidence("no-symptom"))
    evidence.append(Evidence(fault.effect))
    if fault.fixed_in:
        evidence.append(SAYS.evidence("fixed-in", fixed=fault.fixed_in))
    known_for = SAYS.text("known-for", release=release, fault=fault.title_in_sentence)
    return SAYS.finding(
        "fault",
        id=f"kernel.{fault.id}",
        severity="critical"
        if fault.grave and is_certain
        else "warning"
        if shows or fault.grave
        else "notice",
        confidence="rule" if shows else "hint",
        fault=fault.title if shows else known_for,
        remedy=(SAYS.remedy("update" if fault.before else "look", update=fault.remedy),),
        evidence=evidence,
        references=fault.sources,
    )


def check_modules(host: Host) -> Iterator[Finding]:
    """Modules from outside of the kernel whose version is in knowledge/modules.toml."""
    names = dict.fromkeys(fault.module for fault in module_faults())
    versions = {
        name: version
        for name in names
        if is_present(version := host.read_word(f"/sys/module/{name}/version"))
    }
    if not versions:
        raise RuleInapplicable("no module of which faults are known is loaded, or its version is not told")
    for name, version in versions.items():
        for fault in faults_of_module(name, version):
            yield SAYS.finding(
                "module-fault",
                id="kernel.module-faults",
                severity="warning" if fault.grave else "notice",
                subject=f"{name}: {fault.title}",
                module=name,
                version=version,
                fault=fault.title,
                effect=fault.effect,
                remedy=(Remedy(title=fault.remedy, commands=fault.commands, verify=fault.commands[:1]),),
                references=fault.sources,
            )


RULES: tuple[HostRule, ...] = (
    HostRule(
        "kernel.known-faults",
        "kernel",
        "kernels with known faults",
        check_known_faults,
        first_look=first_look,
    ),
    HostRule(
        "kernel.module-faults",
        "kernel",
        "modules from outside of the kernel with known faults",
        check_modules,
    ),
)
