"""The facts that every run records: one flat list, in the order in which a person reads it."""

from collections.abc import Iterator

from probes.host import Host
from probes.system.disk.arrays import md_arrays
from probes.system.disk.block import BlockDevice, block_devices, layers
from probes.system.disk.drive.transport import VIRTUAL_TRANSPORTS
from probes.system.disk.mounts import mounts
from probes.system.disk.scheduler import queue_path, scheduling
from probes.system.disk.scheduler_origin import why
from probes.system.disk.topology import topology
from probes.system.network.nic import nics
from probes.system.nodes.memory import memory
from probes.system.nodes.numa import numa
from probes.system.processor.cpu import ask, brand, cpu
from probes.system.processor.cpulist import as_list
from probes.system.processor.frequency import frequency
from probes.system.processor.topology import ROOT
from probes.system.running.cgroup import cgroup
from probes.system.software.distribution import distribution
from probes.system.software.kernel import kernel
from probes.system.virtualisation import virtualisation
from probes.types import Absent, Entry, Fact, Unread, entry, present

MOST_DISKS = 48  # a SAN shows hundreds of paths; the report of a run needs what it ran on
MOST_MOUNTS = 32
NONE = "none"
NAMELESS = VIRTUAL_TRANSPORTS | {"pmem"}  # these have no model by design


def summary_facts(host: Host) -> list[Entry]:
    """Values and, for what matters and could not be read, the reason. Takes about 20 ms on a small live host."""
    return [
        *_system(host),
        *_processors(host),
        *_memory(host),
        *_limits(host),
        *_disks(host),
        *_mounts(host),
        *_cards(host),
        *_unnamed(host),
    ]


def _unnamed(host: Host) -> Iterator[Entry]:
    if isinstance(cpu(host).model, Absent):
        yield entry("cpu", "model", brand(host), "py-cpuinfo")


def _system(host: Host) -> Iterator[Entry]:
    name = host.text("/proc/sys/kernel/hostname")
    yield entry("host", "name", name, "/proc/sys/kernel/hostname")
    system = distribution(host)
    if isinstance(system, Absent):
        yield Unread("os", "name", system)
    else:
        yield Fact("os", "name", system.name, system.source)
        yield Fact("os", "family", system.family, system.source)
    core = kernel(host)
    yield entry("kernel", "release", core.release, "uname -r")
    yield entry("kernel", "build", core.build, "uname -v")
    yield entry("kernel", "machine", core.machine, "uname -m")
    parameters = core.speed_parameters()
    yield entry(
        "kernel",
        "parameters",
        parameters if isinstance(parameters, Absent) else parameters or NONE,
        "/proc/cmdline",
    )
    found = virtualisation(host)
    seen = "; ".join(found.evidence) or "CPU flags, DMI, namespaces"
    for word, value in (("hypervisor", found.hypervisor), ("container", found.container)):
        yield entry("virtualisation", word, value if isinstance(value, Absent) else value or NONE, seen)


def _processors(host: Host) -> Iterator[Entry]:
    it = cpu(host)
    place = f"{ROOT}/cpu*/topology"
    yield entry("cpu", "vendor", it.vendor, "/proc/cpuinfo")
    if present(it.model):
        yield entry("cpu", "model", it.model, "/proc/cpuinfo")
    else:
        ask(host)  # it takes a second, in which the rest is read
    yield entry("cpu", "sockets", it.sockets, place)
    yield entry("cpu", "cores", it.cores, place)
    yield entry("cpu", "threads", it.threads, f"{ROOT}/online")
    if it.offline:
        yield Fact("cpu", "offline", as_list(it.offline), f"{ROOT}/offline")
    if it.isolated:
        yield Fact("cpu", "isolated", as_list(it.isolated), f"{ROOT}/isolated")
    yield entry("cpu", "smt", it.smt, f"{ROOT}/smt/control")
    yield entry("cpu", "hybrid", it.hybrid, place)
    clock = frequency(host)
    if isinstance(clock, Absent):
        yield Unread("cpu", "governor", clock)
    else:
        folder = f"{ROOT}/cpufreq/policy*"
        words = [f"{name} ({n})" if len(clock.governors) > 1 else name for name, n in clock.governors.items()]
        yield Fact("cpu", "governor", ", ".join(words), f"{folder}/scaling_governor")
        yield entry("cpu", "frequency_driver", clock.driver, f"{folder}/scaling_driver")
        yield entry("cpu", "highest", clock.highest_khz, f"{folder}/cpuinfo_max_freq", "kHz")
        yield entry("cpu", "turbo", clock.turbo, "intel_pstate/no_turbo or cpufreq/boost")
    nodes = numa(host)
    if isinstance(nodes, Absent):
        yield Unread("numa", "nodes", nodes)
    else:
        doubt = Absent(nodes.doubt, "invalid", "/sys/devices/system/node") if nodes.doubt else None
        if doubt is None and not nodes.with_cpus:
            doubt = Absent("no node reports its CPUs", "missing", "/sys/devices/system/node/node*/cpulist")
        yield entry("numa", "nodes", nodes.with_cpus if doubt is None else doubt, "/sys/devices/system/node")
        yield entry("numa", "nodes_per_socket", nodes.per_socket, "/sys/devices/system/node")


def _memory(host: Host) -> Iterator[Entry]:
    it = memory(host)
    yield entry("memory", "total", it.total, "/proc/meminfo MemTotal", "B")
    yield entry("memory", "available", it.available, "/proc/meminfo MemAvailable", "B")
    yield entry("memory", "swap", it.swap_total, "/proc/meminfo SwapTotal", "B")
    where = "/sys/kernel/mm/transparent_hugepage/enabled"
    yield entry("memory", "transparent_huge_pages", it.transparent_huge_pages, where)


def _limits(host: Host) -> Iterator[Entry]:
    it = cgroup(host)
    if isinstance(it, Absent):
        yield Unread("cgroup", "path", it)
        return
    yield Fact("cgroup", "version", it.version, "/proc/self/cgroup")
    yield Fact("cgroup", "path", it.path, "/proc/self/cgroup")
    for word, value, source, unit in (
        ("cpu", it.cpu_cores, "cpu.max, cpu.cfs_quota_us", "CPUs"),
        ("memory", it.memory_bytes, "memory.max, memory.limit_in_bytes", "B"),
    ):
        shown = NONE if value is None else value
        yield entry("cgroup", word, shown, source, "" if shown == NONE else unit)
    yield entry(
        "cgroup",
        "cpus",
        it.cpus if isinstance(it.cpus, Absent) else as_list(it.cpus),
        "cpuset.cpus.effective",
    )
    for limit in it.io:
        yield Fact("cgroup", f"io {limit.devno} {limit.what}", limit.value, limit.group)


def _disks(host: Host) -> Iterator[Entry]:
    everything = block_devices(host)
    if not everything:
        why = host.listing("/sys/block")
        none = why if isinstance(why, Absent) else Absent("no block device", "missing", "/sys/block")
        yield Unread("disk", "devices", none)
    shown = [d for d in everything.values() if not d.parent and _worth_showing(d)]
    shown.sort(key=lambda d: d.kind != "disk")  # what is built on disks must not crowd them out
    mounted = topology(host).file_systems()
    for disk in shown[:MOST_DISKS]:
        yield from _disk(host, disk)
        if types := mounted.get(disk.name):
            yield Fact(f"disk:{disk.name}", "file_systems", list(types), "/proc/self/mountinfo")
    if len(shown) > MOST_DISKS:
        yield Fact("disk", "others", len(shown) - MOST_DISKS, "/sys/block")
    for array in md_arrays(host):
        place = f"/sys/block/{array.name}/md"
        yield entry(f"md:{array.name}", "level", array.level, f"{place}/level")
        yield entry(f"md:{array.name}", "state", array.state, f"{place}/array_state")
        yield entry(f"md:{array.name}", "missing", array.missing, f"{place}/degraded", "disks")
        yield entry(f"md:{array.name}", "action", array.action, f"{place}/sync_action")


def _worth_showing(disk: BlockDevice) -> bool:
    """Loop, ram and zram devices exist by the dozen without being used."""
    if disk.kind == "loop":
        return bool(disk.backing_file)
    return disk.kind != "ram" and disk.size_bytes != 0


def _scheduling(host: Host, device: str, name: str) -> Iterator[Entry]:
    """Who chose the scheduler, its settings, and what throttles and multiplies the queue."""
    state = scheduling(host, device)
    if isinstance(state, Absent):
        return
    reason, queue = why(host, state), queue_path(device)
    yield Fact(name, "scheduler_from", reason.text, reason.source or f"{queue}/scheduler")
    if state.tunables:
        text = " ".join(f"{key}={value}" for key, value in state.tunables.items())
        yield Fact(name, "scheduler_settings", text, f"{queue}/iosched")
    # older kernels and bio-based devices have neither of these
    if not isinstance(state.wbt_lat_usec, Absent):
        yield Fact(name, "wbt_lat_usec", state.wbt_lat_usec, f"{queue}/wbt_lat_usec")
    if not isinstance(state.hw_queues, Absent):
        yield Fact(name, "hw_queues", state.hw_queues, f"/sys/block/{device}/mq")


def _disk(host: Host, disk: BlockDevice) -> Iterator[Entry]:
    name, path = f"disk:{disk.name}", disk.path
    physical = disk.kind == "disk"
    yield Fact(name, "kind", disk.kind, path)
    yield entry(name, "transport", disk.transport, path)
    if physical and not (isinstance(disk.model, Absent) and disk.transport in NAMELESS):
        yield entry(name, "model", disk.model, f"{path}/device/model")
    if disk.label:
        yield Fact(name, "label", disk.label, f"{path}/dm/name")
    if disk.backing_file:
        yield Fact(name, "backing_file", disk.backing_file, f"{path}/loop/backing_file")
    yield entry(name, "size", disk.size_bytes, f"{path}/size", "B")
    yield entry(name, "rotational", disk.rotational, f"{path}/queue/rotational")
    if disk.slaves:
        yield Fact(name, "on", list(layers(block_devices(host), disk.name)[1:]), f"{path}/slaves")
    if not physical:
        return
    yield entry(name, "scheduler", disk.scheduler, f"{path}/queue/scheduler")
    yield from _scheduling(host, disk.name, name)
    yield entry(name, "nr_requests", disk.queue.nr_requests, f"{path}/queue/nr_requests")
    yield entry(name, "write_cache", disk.queue.write_cache, f"{path}/queue/write_cache")
    yield entry(name, "discard_max", disk.queue.discard_max_bytes, f"{path}/queue/discard_max_bytes", "B")
    yield entry(name, "numa_node", disk.numa_node, f"{path}/../numa_node")
    if disk.transport in ("nvme", "sata", "sas"):
        link = disk.link
        yield entry(name, "link", link if isinstance(link, Absent) else link.now, f"{path} link")
        if not isinstance(link, Absent) and link.at_most:
            yield Fact(name, "link_at_most", link.at_most, link.source)


def _mounts(host: Host) -> Iterator[Entry]:
    table = mounts(host)
    if isinstance(table, Absent):
        yield Unread("mount", "mount", table)
        return
    # the last on a mount point counts
    real = {m.mountpoint: m for m in table if m.source.startswith("/dev/")}
    for mount in list(real.values())[:MOST_MOUNTS]:
        subject = f"mount:{mount.mountpoint}"
        yield Fact(subject, "type", mount.fstype, "/proc/self/mountinfo")
        yield Fact(subject, "source", mount.source, "/proc/self/mountinfo")
        yield Fact(subject, "options", ",".join(mount.options), "/proc/self/mountinfo")


def _cards(host: Host) -> Iterator[Entry]:
    for card in nics(host).values():
        if not card.physical:
            continue
        place = f"/sys/class/net/{card.name}"
        yield entry(f"nic:{card.name}", "driver", card.driver, f"{place}/device/driver")
        yield entry(f"nic:{card.name}", "speed", card.speed_mbit, f"{place}/speed", "Mbit/s")
        yield entry(f"nic:{card.name}", "mtu", card.mtu, f"{place}/mtu", "B")
        yield entry(f"nic:{card.name}", "numa_node", card.numa_node, f"{place}/device/numa_node")
