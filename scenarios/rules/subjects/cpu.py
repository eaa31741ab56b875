"""Rows about processors and the host as a whole."""

from collections.abc import Callable
from functools import partial

from probes.host import Host
from probes.system.disk.zfs import reclaimable
from probes.system.nodes.memory import meminfo, memory
from probes.system.nodes.numa import numa
from probes.system.processor.cpu import cpu, flags
from probes.system.processor.cpu_times import SOURCE, proc_stat
from probes.system.processor.frequency import ROOT, frequency
from probes.system.processor.idle import idle
from probes.system.processor.power import packages
from probes.system.processor.topology import topology
from probes.system.pulse import uptime_s
from probes.system.software.kernel import kernel
from probes.system.software.tuned import tuned_profile
from probes.system.virtualisation import virtualisation
from probes.types import Absent, present
from scenarios.knowledge.kernels import release_family, release_numbers, upstream_numbers
from scenarios.rules.expression import Value
from scenarios.rules.table import SubjectRow, part


def host_rows(host: Host) -> list[SubjectRow]:
    """One row: what most rules ask of the whole host."""
    core = kernel(host)
    release = core.release

    def size(name: str) -> Value:
        found = host.once(meminfo)
        return found if isinstance(found, Absent) else found.get(name, Absent(f"/proc/meminfo has no {name}"))

    columns = {
        "virtual": lambda: _named(virtualisation(host).hypervisor),
        "container": lambda: _named(virtualisation(host).container),
        "release": release,
        "kernel": upstream_numbers(release, core.build if present(core.build) else "")
        if present(release)
        else release,
        "build": release_numbers(release) if present(release) else release,
        "family": release_family(release) if present(release) else release,
        "cmdline": core.cmdline,
        "machine": core.machine,
        "vendor": lambda: cpu(host).vendor,
        "model": lambda: cpu(host).model,
        "sockets": lambda: cpu(host).sockets,
        "threads": lambda: cpu(host).threads,
        "smt": lambda: cpu(host).smt,
        "hybrid": lambda: cpu(host).hybrid,
        "flags": lambda: flags(host),
        "nodes": lambda: _nodes(host),
        "memory": lambda: size("MemTotal"),
        "available": lambda: size("MemAvailable"),
        "arc": lambda: host.once(reclaimable),
        "swap": lambda: size("SwapTotal"),
        "swap_free": lambda: size("SwapFree"),
        "thp": lambda: host.once(memory).transparent_huge_pages,
        "frequency_driver": lambda: part(host.once(frequency), "driver"),
        "driver_active": lambda: part(host.once(frequency), "active"),
        "turbo": lambda: part(host.once(frequency), "turbo"),
        "running_khz": lambda: _khz(host, "scaling_cur_freq", max),
        "lowest_khz": lambda: _khz(host, "cpuinfo_min_freq", min),
        "highest_khz": lambda: _khz(host, "cpuinfo_max_freq", max),
        "tuned": lambda: tuned_profile(host),
        "deepest_us": lambda: _deepest(host),
        "deepest_possible_us": lambda: _deepest(host, disabled_too=True),
    }
    return [SubjectRow("", columns)]


def _khz(host: Host, file: str, which: Callable[[list[int]], int]) -> Value:
    """Over all frequency policies."""
    found = [
        khz for path in host.glob(f"{ROOT}/cpufreq/policy*/{file}") if present(khz := host.integer(path))
    ]
    return which(found) if found else Absent(f"no policy reports {file}", "unsupported")


def _named(found: str | Absent) -> Value:
    return found if isinstance(found, Absent) else found != ""


def _nodes(host: Host) -> Value:
    found = numa(host)
    if isinstance(found, Absent):
        return found
    return Absent(found.doubt, "invalid") if found.doubt else len(found.nodes)


def _deepest(host: Host, *, disabled_too: bool = False) -> Value:
    """Exit latency, in µs, of the deepest idle state that is not disabled on all CPUs."""
    found = host.once(idle)
    if isinstance(found, Absent):
        return found
    usable = [
        s.wake_us for s in found.states if (disabled_too or s.disabled_on < s.cpus) and present(s.wake_us)
    ]
    return max(usable, default=0)


def policy_rows(host: Host) -> list[SubjectRow] | Absent:
    """One row per frequency policy: clocks in kHz. Kernels before 4.3 have a folder for each CPU instead."""
    folders = host.glob(f"{ROOT}/cpufreq/policy*") or host.glob(f"{ROOT}/cpu[0-9]*/cpufreq")
    if not folders:
        return [] if host.live or host.exists(ROOT) else Absent("cpufreq was not captured", "captured")
    clock = host.once(frequency)
    driver: Value = clock if isinstance(clock, Absent) else clock.driver
    active: Value = clock if isinstance(clock, Absent) else _active(clock.driver, clock.active)
    rows = []
    for folder in folders:
        name = folder.split("/")[-2] if folder.endswith("/cpufreq") else folder.rsplit("/", 1)[-1]
        columns = {
            "name": name,
            "driver": driver,
            "active": active,
            "governor": partial(host.word, f"{folder}/scaling_governor"),
            "governors": partial(host.word, f"{folder}/scaling_available_governors"),
            "preference": partial(host.word, f"{folder}/energy_performance_preference"),
            "max_khz": partial(host.integer, f"{folder}/scaling_max_freq"),
            "min_khz": partial(host.integer, f"{folder}/scaling_min_freq"),
            "hw_max_khz": partial(host.integer, f"{folder}/cpuinfo_max_freq"),
            "base_khz": partial(host.integer, f"{folder}/base_frequency"),
            "bios_khz": partial(host.integer, f"{folder}/bios_limit"),
        }
        rows.append(SubjectRow(name, columns, folder))
    return rows


def _active(driver: str | Absent, active: bool) -> Value:
    return driver if isinstance(driver, Absent) and not active else active


def package_rows(host: Host) -> list[SubjectRow] | Absent:
    """One row per RAPL package: `limit_w`, `most_w` (the limit that the maker sets), each in watts."""
    found = packages(host)
    if isinstance(found, Absent):
        return [] if host.live or virtualisation(host).virtual else found
    return [
        SubjectRow(one.name, {"limit_w": one.limit_w, "most_w": one.most_w, "zone": one.zone}, one.zone)
        for one in found
    ]


def throttle_rows(host: Host) -> list[SubjectRow] | Absent:
    """One row: thermal throttle events since boot over all CPUs (x86)."""
    counters: dict[str, int] = {}
    for name in ("core", "package"):
        paths = host.glob(f"{ROOT}/cpu[0-9]*/thermal_throttle/{name}_throttle_count")
        read = [n for path in paths if present(n := host.integer(path))]
        if read:
            counters[name] = max(read) if name == "package" else sum(read)
    if not counters:
        return (
            [] if host.live or host.exists(ROOT) else Absent("thermal_throttle was not captured", "captured")
        )
    up_s = uptime_s(host)
    columns = {name: counters.get(name, 0) for name in ("core", "package")}
    return [SubjectRow("", columns | {"hours": up_s / 3600 if present(up_s) else up_s})]


def sensor_rows(host: Host) -> list[SubjectRow]:
    """One row per temperature sensor with a critical value (Documentation/hwmon/sysfs-interface.rst: millidegrees)."""
    rows = []
    for path in host.glob("/sys/class/hwmon/hwmon*/temp*_input"):
        base = path.removesuffix("_input")
        now, critical = host.integer(path), host.integer(f"{base}_crit")
        high = host.integer(f"{base}_max")
        name = host.text(path.rsplit("/", 1)[0] + "/name", 256)
        label = host.text(f"{base}_label", 256)
        words = " ".join(text.strip() for text in (name, label) if present(text)) or path.split("/")[4]
        if present(now) and -50_000 < now < 200_000:
            columns: dict[str, Value] = {
                "path": path,
                "celsius": now / 1000,
                "critical": critical / 1000 if present(critical) else critical,
                "high": high / 1000 if present(high) and 0 < high < 200_000 else Absent("none is reported"),
                "alarm": host.text(f"{base}_crit_alarm", 16) == "1",
            }
            rows.append(SubjectRow(words, columns))
    return rows + _zone_rows(host)


def _zone_rows(host: Host) -> list[SubjectRow]:
    """Thermal zones with a critical trip point (Documentation/driver-api/thermal/sysfs-api.rst: millidegrees)."""
    rows = []
    for zone in host.glob("/sys/class/thermal/thermal_zone*"):
        now, kind = host.integer(f"{zone}/temp"), host.word(f"{zone}/type")
        if isinstance(now, Absent) or not -50_000 < now < 200_000:
            continue
        trips = [
            point
            for path in host.glob(f"{zone}/trip_point_*_type")
            if host.text(path, 64) == "critical"
            and present(point := host.integer(path.removesuffix("_type") + "_temp"))
            and 20_000 < point < 200_000
        ]
        columns: dict[str, Value] = {
            "path": f"{zone}/temp",
            "celsius": now / 1000,
            "critical": min(trips) / 1000
            if trips
            else Absent("it has no critical trip point", "unsupported"),
            "high": Absent("none is reported", "unsupported"),
            "alarm": False,
        }
        rows.append(SubjectRow(kind if present(kind) else zone.rsplit("/", 1)[-1], columns))
    return rows


def stat_rows(host: Host) -> list[SubjectRow] | Absent:
    """One row: shares (0..1) of CPU time since boot, over all CPUs."""
    stat = proc_stat(host)
    if isinstance(stat, Absent):
        return stat
    if stat.all is None or not (total := stat.all.total_s):
        return Absent(f"{SOURCE} has no line for all CPUs", "invalid", SOURCE)
    spent = stat.all
    shares = [(one.softirq_s / one.total_s, number) for number, one in stat.cpus.items() if one.total_s]
    busiest, which = max(shares, default=(0.0, 0))
    columns = {
        "cpus": len(shares),
        "busiest_softirq": busiest if shares else Absent(f"{SOURCE} has no line for each CPU"),
        "busiest_softirq_cpu": which,
        "steal": spent.steal_s / total,
        "iowait": spent.iowait_s / total,
        "system": spent.system_s / max(0.01, spent.tasks_s),
        "softirq": spent.softirq_s / total,
        "busy": (spent.busy_s + spent.steal_s) / total,
        "seconds": total / max(1, len(topology(host).online)),
    }
    return [SubjectRow("", columns)]
