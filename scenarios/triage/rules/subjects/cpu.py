"""Rows about processors and the host as a whole."""

import re
from collections.abc import Callable
from functools import partial

from hostdx.probes.reading.host import Host
from hostdx.probes.system.disk.mounts import read_mounts
from hostdx.probes.system.disk.zfs import read_arc_reclaimable_bytes
from hostdx.probes.system.nodes.memory import read_meminfo, read_memory, read_offline_memory_bytes
from hostdx.probes.system.nodes.numa import read_numa
from hostdx.probes.system.processor.cpu import read_cpu, read_cpu_flags
from hostdx.probes.system.processor.cpu_times import SOURCE, read_proc_stat
from hostdx.probes.system.processor.frequency import ROOT, read_frequency
from hostdx.probes.system.processor.idle import read_idle_states
from hostdx.probes.system.processor.power import read_power_packages
from hostdx.probes.system.processor.topology import read_cpu_topology
from hostdx.probes.system.pulse import uptime_s
from hostdx.probes.system.software.kernel import read_kernel
from hostdx.probes.system.software.tuned import active_tuned_profiles
from hostdx.probes.system.virtualisation import read_virtualisation
from hostdx.probes.types import Absent, is_present
from hostdx.scenarios.triage.knowledge.kernels import release_family, release_numbers, upstream_numbers
from hostdx.scenarios.triage.knowledge.slabs import slab_owner
from hostdx.scenarios.triage.rules.expression import Value
from hostdx.scenarios.triage.rules.services import read_processes, service_state
from hostdx.scenarios.triage.rules.subjects.process import names_of_processes
from hostdx.scenarios.triage.rules.table import SubjectRow, field_value

_RECLAIMABLE = re.compile(
    r"dentry|\w*inode\w*|buffer_head|radix_tree_node|xfs_(?:ili|inode|buf)|ext4_extent_status"
)


MIN_UNLIKE_EVENTS = 1000  # fewer tell little of a socket


def _largest_slab_and_bytes(host: Host) -> tuple[Value, Value]:
    """Return the name and the bytes of the slab that takes most (slabinfo(5); root), without those that the kernel can
    reclaim: names and inodes of files.
    """
    text = host.read_file_text("/proc/slabinfo")
    if isinstance(text, Absent):
        return text, text
    slabs = re.findall(r"^(\S+) +[0-9]{1,18} +([0-9]{1,18}) +([0-9]{1,9}) ", text, re.MULTILINE)
    sizes = [
        (int(objects) * int(size), name) for name, objects, size in slabs if not _RECLAIMABLE.fullmatch(name)
    ]
    if not sizes:
        return (none := Absent("slabinfo lists no slab", "invalid")), none
    return max(sizes)[1], max(sizes)[0]


def _slab_field(host: Host, field: str) -> Value:
    """What knowledge/slabs.toml says of the largest slab."""
    name = host.compute_once(_largest_slab_and_bytes)[0]
    owner = slab_owner(str(name)) if is_present(name) else None
    texts = {"owner": owner.owner, "cause": owner.cause, "advice": owner.advice} if owner else {}
    return texts.get(field, Absent("who owns the largest slab is not known"))


def host_rows(host: Host) -> list[SubjectRow]:
    """One row: what most rules ask of the whole host."""
    core = read_kernel(host)
    release = core.release

    def size(name: str) -> Value:
        sizes = host.compute_once(read_meminfo)
        return sizes if isinstance(sizes, Absent) else sizes.get(name, Absent(f"/proc/meminfo has no {name}"))

    columns = {
        "virtual": lambda: _is_not_empty(read_virtualisation(host).hypervisor),
        "container": lambda: _is_not_empty(read_virtualisation(host).container),
        "release": release,
        "kernel": upstream_numbers(release, core.build if is_present(core.build) else "")
        if is_present(release)
        else release,
        "build": release_numbers(release) if is_present(release) else release,
        "family": release_family(release) if is_present(release) else release,
        "cmdline": core.cmdline,
        "machine": core.machine,
        "vendor": lambda: read_cpu(host).vendor,
        "model": lambda: read_cpu(host).model,
        "sockets": lambda: read_cpu(host).sockets,
        "threads": lambda: read_cpu(host).threads,
        "smt": lambda: read_cpu(host).smt,
        "hybrid": lambda: read_cpu(host).hybrid,
        "flags": lambda: read_cpu_flags(host),
        "nodes": lambda: _node_count(host),
        "memory": lambda: size("MemTotal"),
        "available": lambda: size("MemAvailable"),
        "offline_memory": lambda: host.compute_once(read_offline_memory_bytes),
        "arc": lambda: host.compute_once(read_arc_reclaimable_bytes),
        "swap": lambda: size("SwapTotal"),
        "swap_free": lambda: size("SwapFree"),
        "thp": lambda: host.compute_once(read_memory).transparent_huge_pages,
        "frequency_driver": lambda: field_value(host.compute_once(read_frequency), "driver"),
        "driver_active": lambda: field_value(host.compute_once(read_frequency), "active"),
        "turbo": lambda: field_value(host.compute_once(read_frequency), "turbo"),
        "running_khz": lambda: _policy_khz(host, "scaling_cur_freq", max),
        "lowest_khz": lambda: _policy_khz(host, "cpuinfo_min_freq", min),
        "highest_khz": lambda: _policy_khz(host, "cpuinfo_max_freq", max),
        "tuned": lambda: active_tuned_profiles(host),
        "slab_name": lambda: host.compute_once(_largest_slab_and_bytes)[0],
        "slab_bytes": lambda: host.compute_once(_largest_slab_and_bytes)[1],
        **{f"slab_{field}": partial(_slab_field, host, field) for field in ("owner", "cause", "advice")},
        "mounts": lambda: len(table) if is_present(table := read_mounts(host)) else table,
        "running": lambda: host.compute_once(names_of_processes),
        "nscd": lambda: service_state(host, "nscd"),
        "sssd": lambda: service_state(host, "sssd"),
        "osds": lambda: sum(
            p.name == "ceph-osd" for p in host.compute_once(read_processes).processes.values()
        ),
        "deepest_us": lambda: _deepest_exit_latency_us(host),
        "deepest_possible_us": lambda: _deepest_exit_latency_us(host, disabled_too=True),
    }
    return [SubjectRow("", columns)]


def _policy_khz(host: Host, file: str, choose: Callable[[list[int]], int]) -> Value:
    """Over all frequency policies; a kernel before 4.3 has them below each CPU."""
    paths = host.glob_paths(f"{ROOT}/cpufreq/policy*/{file}") or host.glob_paths(
        f"{ROOT}/cpu*/cpufreq/{file}"
    )
    clocks = [khz for path in paths if is_present(khz := host.read_integer(path))]
    return choose(clocks) if clocks else Absent(f"no policy reports {file}", "unsupported")


def _is_not_empty(name: str | Absent) -> Value:
    return name if isinstance(name, Absent) else name != ""


def _node_count(host: Host) -> Value:
    nodes = read_numa(host)
    if isinstance(nodes, Absent):
        return nodes
    return Absent(nodes.doubt, "invalid") if nodes.doubt else len(nodes.nodes)


def _deepest_exit_latency_us(host: Host, *, disabled_too: bool = False) -> Value:
    """Exit latency, in µs, of the deepest idle state that is not disabled on all CPUs."""
    states = host.compute_once(read_idle_states)
    if isinstance(states, Absent):
        return states
    usable = [
        s.wake_us for s in states.states if (disabled_too or s.disabled_on < s.cpus) and is_present(s.wake_us)
    ]
    return max(usable, default=0)


def policy_rows(host: Host) -> list[SubjectRow] | Absent:
    """One row per frequency policy: clocks in kHz. Kernels before 4.3 have a folder for each CPU instead."""
    folders = host.glob_paths(f"{ROOT}/cpufreq/policy*") or host.glob_paths(f"{ROOT}/cpu[0-9]*/cpufreq")
    if not folders:
        return [] if host.live or host.path_exists(ROOT) else Absent("cpufreq was not captured", "captured")
    clock = host.compute_once(read_frequency)
    driver: Value = clock if isinstance(clock, Absent) else clock.driver
    active: Value = (
        clock if isinstance(clock, Absent) else _true_or_absent_driver(clock.driver, clock.is_driver_active)
    )
    rows = []
    for folder in folders:
        name = folder.split("/")[-2] if folder.endswith("/cpufreq") else folder.rsplit("/", 1)[-1]
        columns = {
            "name": name,
            "driver": driver,
            "active": active,
            "governor": partial(host.read_word, f"{folder}/scaling_governor"),
            "governors": partial(host.read_word, f"{folder}/scaling_available_governors"),
            "preference": partial(host.read_word, f"{folder}/energy_performance_preference"),
            "max_khz": partial(host.read_integer, f"{folder}/scaling_max_freq"),
            "min_khz": partial(host.read_integer, f"{folder}/scaling_min_freq"),
            "hw_max_khz": partial(host.read_integer, f"{folder}/cpuinfo_max_freq"),
            "base_khz": partial(host.read_integer, f"{folder}/base_frequency"),
            "bios_khz": partial(host.read_integer, f"{folder}/bios_limit"),
        }
        rows.append(SubjectRow(name, columns, folder))
    return rows


def _true_or_absent_driver(driver: str | Absent, active: bool) -> Value:
    return driver if isinstance(driver, Absent) and not active else active


def rapl_package_rows(host: Host) -> list[SubjectRow] | Absent:
    """One row per RAPL package: `limit_w`, `most_w` (the limit that the maker sets), each in watts.

    None without RAPL on a live or a virtual host; Absent where a capture of a physical host has no RAPL.
    """
    rapl_packages = read_power_packages(host)
    if isinstance(rapl_packages, Absent):
        return [] if host.live or read_virtualisation(host).is_virtual else rapl_packages
    return [
        SubjectRow(
            package.name,
            {"limit_w": package.limit_w, "most_w": package.most_w, "zone": package.zone},
            package.zone,
        )
        for package in rapl_packages
    ]


def throttle_rows(host: Host) -> list[SubjectRow] | Absent:
    """One row: thermal throttle events since boot over all CPUs (x86)."""
    counters: dict[str, int] = {}
    for name in ("core", "package"):
        paths = host.glob_paths(f"{ROOT}/cpu[0-9]*/thermal_throttle/{name}_throttle_count")
        read = [n for path in paths if is_present(n := host.read_integer(path))]
        if read:
            counters[name] = max(read) if name == "package" else sum(read)
    if not counters:
        return (
            []
            if host.live or host.path_exists(ROOT)
            else Absent("thermal_throttle was not captured", "captured")
        )
    up_s = uptime_s(host)
    columns: dict[str, Value] = {name: counters.get(name, 0) for name in ("core", "package")}
    columns |= _hot_and_cool_package(host) if counters.get("package", 0) >= MIN_UNLIKE_EVENTS else {}
    return [SubjectRow("", columns | {"hours": up_s / 3600 if is_present(up_s) else up_s})]


def _hot_and_cool_package(host: Host) -> dict[str, Value]:
    """The socket with most events, and the fewest of another; empty with one socket."""
    events: dict[str, int] = {}
    for path in host.glob_paths(f"{ROOT}/cpu[0-9]*/thermal_throttle/package_throttle_count"):
        package = host.read_word(f"{path.rsplit('/', 2)[0]}/topology/physical_package_id")
        count = host.read_integer(path)
        if is_present(package) and is_present(count):
            events[package] = max(count, events.get(package, 0))
    hottest = max(events, key=lambda package: events[package], default="")
    return {"hot_package": hottest, "cool_package": min(events.values())} if len(events) > 1 else {}


def sensor_rows(host: Host) -> list[SubjectRow]:
    """One row per temperature sensor with a critical value (Documentation/hwmon/sysfs-interface.rst: millidegrees)."""
    rows = []
    for path in host.glob_paths("/sys/class/hwmon/hwmon*/temp*_input"):
        base = path.removesuffix("_input")
        now, critical = host.read_integer(path), host.read_integer(f"{base}_crit")
        high = host.read_integer(f"{base}_max")
        name = host.read_file_text(path.rsplit("/", 1)[0] + "/name", 256)
        label = host.read_file_text(f"{base}_label", 256)
        words = " ".join(text.strip() for text in (name, label) if is_present(text)) or path.split("/")[4]
        if is_present(now) and -50_000 < now < 200_000:
            columns: dict[str, Value] = {
                "path": path,
                "celsius": now / 1000,
                "critical": critical / 1000 if is_present(critical) else critical,
                "high": high / 1000
                if is_present(high) and 0 < high < 200_000
                else Absent("none is reported"),
                "alarm": host.read_file_text(f"{base}_crit_alarm", 16) == "1",
            }
            rows.append(SubjectRow(words, columns))
    return rows + _thermal_zone_rows(host)


def _thermal_zone_rows(host: Host) -> list[SubjectRow]:
    """Thermal zones with a critical trip point (Documentation/driver-api/thermal/sysfs-api.rst: millidegrees)."""
    rows = []
    for zone in host.glob_paths("/sys/class/thermal/thermal_zone*"):
        now, kind = host.read_integer(f"{zone}/temp"), host.read_word(f"{zone}/type")
        if isinstance(now, Absent) or not -50_000 < now < 200_000:
            continue
        trips = [
            point
            for path in host.glob_paths(f"{zone}/trip_point_*_type")
            if host.read_file_text(path, 64) == "critical"
            and is_present(point := host.read_integer(path.removesuffix("_type") + "_temp"))
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
        rows.append(SubjectRow(kind if is_present(kind) else zone.rsplit("/", 1)[-1], columns))
    return rows


def stat_rows(host: Host) -> list[SubjectRow] | Absent:
    """One row: shares (0..1) of CPU time since boot, over all CPUs."""
    stat = read_proc_stat(host)
    if isinstance(stat, Absent):
        return stat
    if stat.all is None or not (total := stat.all.total_s):
        return Absent(f"{SOURCE} has no line for all CPUs", "invalid", SOURCE)
    spent = stat.all
    shares = [(cpu.softirq_s / cpu.total_s, number) for number, cpu in stat.cpus.items() if cpu.total_s]
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
        "seconds": total / max(1, len(read_cpu_topology(host).online)),
    }
    return [SubjectRow("", columns)]
