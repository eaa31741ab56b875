"""Read-only rules about the host as a whole: what slows every job before any disk or network is asked."""

from __future__ import annotations

from collections.abc import Iterator

from probes.host import Host
from probes.types import Absent, present
from scenarios.finding import Evidence, Finding, Remedy
from scenarios.rules.rule import Inapplicable, Rule, Unreadable

# Shares of time (0..1 of the last minute) in which somebody waited, from which on triage speaks. Ten per cent of the
# wall time of at least one task is what a person feels; idle servers show under one.
PRESSURE_SPEAKS = 0.10
QUOTA_PERIODS_SPEAK = 0.05  # share of cgroup periods in which the quota stopped somebody


def governor(host: Host) -> Iterator[Finding]:
    """Governors (Documentation/admin-guide/pm/cpufreq.rst): a passive driver's `powersave` pins the lowest clock."""
    paths = host.glob("/sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_governor")
    if not paths:
        raise Inapplicable("the kernel sets no CPU frequency here (virtual machine, or the firmware does)")
    by_name: dict[str, list[str]] = {}
    for path in paths:
        value = host.text(path)
        if present(value):
            by_name.setdefault(value.strip(), []).append(path)
    if not by_name:
        raise Unreadable("scaling_governor could not be read")
    driver = host.text(paths[0].replace("scaling_governor", "scaling_driver"))
    active = present(driver) and driver.strip() in {"intel_pstate", "amd-pstate-epp"}
    slow = {n: p for n, p in by_name.items() if n in {"powersave", "conservative"} and not active}
    for name, found in slow.items():
        yield Finding(
            id="host.governor",
            severity="warning",
            confidence="rule",
            title=f"the CPU frequency governor is {name} on {len(found)} CPUs",
            evidence=(Evidence(f"{name} on {len(found)} of {len(paths)} CPUs", found[0]),),
            remedy=(
                Remedy(
                    title="Let the CPUs run at full clock",
                    commands=("cpupower frequency-set -g performance",),
                    persistent=("tuned-adm profile throughput-performance",),
                    verify=("cat /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor | sort | uniq -c",),
                    undo=(f"cpupower frequency-set -g {name}",),
                ),
            ),
            references=("Documentation/admin-guide/pm/cpufreq.rst",),
        )


def pressure(host: Host) -> Iterator[Finding]:
    """Pressure stall information of the last minute (Documentation/accounting/psi.rst)."""
    read = {kind: host.text(f"/proc/pressure/{kind}") for kind in ("cpu", "io", "memory")}
    reasons = [v.reason for v in read.values() if isinstance(v, Absent)]
    if len(reasons) == len(read):
        raise Unreadable(f"pressure stall information: {reasons[0]} (boot with psi=1)")
    for kind, text in read.items():
        if not present(text):
            continue
        share = average(text)
        if share is None or share < PRESSURE_SPEAKS:
            continue
        yield Finding(
            id=f"host.pressure-{kind}",
            severity="warning" if kind == "memory" else "notice",
            confidence="rule",
            title=f"tasks waited for {kind} in {share * 100:.0f} % of the last minute",
            evidence=(Evidence(text.splitlines()[0], f"/proc/pressure/{kind}"),),
            references=("Documentation/accounting/psi.rst",),
            prove={"io": "storage", "cpu": "null"}.get(kind, ""),
        )


def average(text: str) -> float | None:
    """The `some avg60` share (0..1) of a pressure file."""
    for field in text.split("\n", 1)[0].split():
        if field.startswith("avg60="):
            try:
                return float(field[6:]) / 100
            except ValueError:
                return None
    return None


def offline(host: Host) -> Iterator[Finding]:
    """CPUs that are there but switched off: fewer cores than were paid for."""
    present_cpus, off = (host.text(f"/sys/devices/system/cpu/{name}") for name in ("present", "offline"))
    if isinstance(off, Absent):
        raise Unreadable(f"/sys/devices/system/cpu/offline: {off.reason}")
    # `offline` also counts CPUs that can never come (possible but not present): only those present matter.
    missing = cpu_list(off) & cpu_list(present_cpus) if present(present_cpus) else cpu_list(off)
    if missing:
        first = min(missing)
        yield Finding(
            id="host.cpu-offline",
            severity="warning",
            title=f"{len(missing)} CPUs are switched off",
            evidence=(Evidence(off.strip(), "/sys/devices/system/cpu/offline"),),
            remedy=(
                Remedy(
                    title="Find out who switched them off (SMT control, maxcpus=, a script), then bring them back",
                    commands=(
                        "cat /sys/devices/system/cpu/smt/control",
                        "grep -oE '(maxcpus|nr_cpus|nosmt)[^ ]*' /proc/cmdline",
                        f"echo 1 > /sys/devices/system/cpu/cpu{first}/online",
                    ),
                    verify=("cat /sys/devices/system/cpu/offline",),
                    undo=(f"echo 0 > /sys/devices/system/cpu/cpu{first}/online",),
                ),
            ),
        )


def cpu_list(text: str) -> set[int]:
    """The kernel's list form, `0-3,8`; what does not fit it is left out."""
    found: set[int] = set()
    for part in text.strip().split(","):
        first, _, last = part.partition("-")
        if first.isdigit() and (not last or last.isdigit()):
            end = int(last or first)
            if end - int(first) < 1 << 16:
                found.update(range(int(first), end + 1))
    return found


def quota(host: Host) -> Iterator[Finding]:
    """The cgroup's CPU quota stops tasks (`cpu.stat`: nr_throttled of nr_periods; admin-guide/cgroup-v2.rst)."""
    for path in ("/sys/fs/cgroup/cpu.stat", "/sys/fs/cgroup/cpu/cpu.stat"):
        text = host.text(path)
        if not present(text):
            continue
        values = dict(line.split()[:2] for line in text.splitlines() if len(line.split()) >= 2)
        periods, throttled = (values.get(k, "0") for k in ("nr_periods", "nr_throttled"))
        if not periods.isdigit() or not throttled.isdigit() or int(periods) == 0:
            raise Inapplicable("no CPU quota is set")
        if int(throttled) / int(periods) > QUOTA_PERIODS_SPEAK:
            yield Finding(
                id="host.cpu-quota",
                severity="warning",
                title=f"the CPU quota stopped tasks in {int(throttled) / int(periods) * 100:.0f} % of its periods",
                evidence=(Evidence(f"nr_throttled {throttled} of nr_periods {periods}", path),),
                references=("Documentation/admin-guide/cgroup-v2.rst",),
            )
        return
    raise Unreadable("no cpu.stat of this cgroup could be read")


def clock_source(host: Host) -> Iterator[Finding]:
    """A slow clock source (hpet, acpi_pm, jiffies) makes every gettimeofday a system call with a device access."""
    base = "/sys/devices/system/clocksource/clocksource0"
    now = host.text(f"{base}/current_clocksource")
    if isinstance(now, Absent):
        raise Unreadable(f"clock source: {now.reason}")
    if now.strip() in {"hpet", "acpi_pm", "jiffies", "refined-jiffies", "pit"}:
        yield Finding(
            id="host.clock-source",
            severity="warning",
            title=f"the clock source is {now.strip()}: reading the time costs a microsecond instead of 20 ns",
            evidence=(Evidence(now.strip(), f"{base}/current_clocksource"),),
            remedy=(
                Remedy(
                    title="Find why the kernel gave up the TSC, then go back to it",
                    commands=("dmesg | grep -iE 'tsc|clocksource'", f"cat {base}/available_clocksource"),
                    verify=(f"cat {base}/current_clocksource",),
                ),
            ),
        )


RULES: tuple[Rule, ...] = (
    Rule("host.governor", "host", "CPU frequency governor", governor),
    Rule("host.pressure", "host", "who waited for CPU, I/O or memory in the last minute", pressure),
    Rule("host.cpu-offline", "host", "CPUs switched off", offline),
    Rule("host.cpu-quota", "host", "CPU quota of the cgroup", quota),
    Rule("host.clock-source", "host", "clock source", clock_source),
)
