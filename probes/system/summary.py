"""The facts that every run records: one flat list, in the order in which a person reads it."""

from collections.abc import Iterator

from hostdx.probes.cpu_list import format_cpu_list
from hostdx.probes.reading.host import Host
from hostdx.probes.system.disk.arrays import md_arrays
from hostdx.probes.system.disk.block import BlockDevice, block_devices, device_and_layers_below
from hostdx.probes.system.disk.drive.transport import VIRTUAL_TRANSPORTS
from hostdx.probes.system.disk.mounts import read_mounts
from hostdx.probes.system.disk.scheduler import queue_folder_of, read_scheduler_state
from hostdx.probes.system.disk.scheduler_origin import find_scheduler_origin
from hostdx.probes.system.disk.topology import read_disk_topology
from hostdx.probes.system.network.nic import read_nics
from hostdx.probes.system.nodes.memory import read_memory
from hostdx.probes.system.nodes.numa import read_numa
from hostdx.probes.system.processor.cpu import ask_cpuinfo, read_cpu, read_cpu_model
from hostdx.probes.system.processor.frequency import read_frequency
from hostdx.probes.system.processor.topology import ROOT
from hostdx.probes.system.running.cgroup import read_cgroup
from hostdx.probes.system.software.distribution import read_distribution
from hostdx.probes.system.software.kernel import read_kernel
from hostdx.probes.system.virtualisation import read_virtualisation
from hostdx.probes.types import Absent, Fact, FactOrUnread, UnreadFact, is_present, make_fact

MAX_DISKS = 48  # a SAN shows hundreds of paths; the report of a run needs what it ran on
MAX_MOUNTS = 32
NONE = "none"
NAMELESS = VIRTUAL_TRANSPORTS | {"pmem"}  # these have no model by design


def summary_facts(host: Host) -> list[FactOrUnread]:
    """Values and, for what matters and could not be read, the reason. Takes about 20 ms on a small live host."""
    return [
        *_host_and_kernel_facts(host),
        *_processor_facts(host),
        *_memory_facts(host),
        *_cgroup_limit_facts(host),
        *_all_disk_facts(host),
        *_disk_mount_facts(host),
        *_physical_nic_facts(host),
        *_cpu_model_if_unnamed(host),
    ]


def _cpu_model_if_unnamed(host: Host) -> Iterator[FactOrUnread]:
    if isinstance(read_cpu(host).model, Absent):
        yield make_fact("cpu", "model", read_cpu_model(host), "py-cpuinfo")


def _host_and_kernel_facts(host: Host) -> Iterator[FactOrUnread]:
    name = host.read_file_text("/proc/sys/kernel/hostname")
    yield make_fact("host", "name", name, "/proc/sys/kernel/hostname")
    system = read_distribution(host)
    if isinstance(system, Absent):
        yield UnreadFact("os", "name", system)
    else:
        yield Fact("os", "name", system.name, system.source)
        yield Fact("os", "family", system.family, system.source)
    core = read_kernel(host)
    yield make_fact("kernel", "release", core.release, "uname -r")
    yield make_fact("kernel", "build", core.build, "uname -v")
    yield make_fact("kernel", "machine", core.machine, "uname -m")
    parameters = core.speed_parameters()
    yield make_fact(
        "kernel",
        "parameters",
        parameters if isinstance(parameters, Absent) else parameters or NONE,
        "/proc/cmdline",
    )
    virtual_state = read_virtualisation(host)
    text = "; ".join(virtual_state.evidence) or "CPU flags, DMI, namespaces"
    for word, value in (("hypervisor", virtual_state.hypervisor), ("container", virtual_state.container)):
        yield make_fact("virtualisation", word, value if isinstance(value, Absent) else value or NONE, text)


def _processor_facts(host: Host) -> Iterator[FactOrUnread]:
    processors = read_cpu(host)
    place = f"{ROOT}/cpu*/topology"
    yield make_fact("cpu", "vendor", processors.vendor, "/proc/cpuinfo")
    if is_present(processors.model):
        yield make_fact("cpu", "model", processors.model, "/proc/cpuinfo")
    else:
        ask_cpuinfo(host)  # it takes a second, in which the rest is read
    yield make_fact("cpu", "sockets", processors.sockets, place)
    yield make_fact("cpu", "cores", processors.cores, place)
    yield make_fact("cpu", "threads", processors.threads, f"{ROOT}/online")
    if processors.offline:
        yield Fact("cpu", "offline", format_cpu_list(processors.offline), f"{ROOT}/offline")
    if processors.isolated:
        yield Fact("cpu", "isolated", format_cpu_list(processors.isolated), f"{ROOT}/isolated")
    yield make_fact("cpu", "smt", processors.smt, f"{ROOT}/smt/control")
    yield make_fact("cpu", "hybrid", processors.hybrid, place)
    clock = read_frequency(host)
    if isinstance(clock, Absent):
        yield UnreadFact("cpu", "governor", clock)
    else:
        folder = f"{ROOT}/cpufreq/policy*"
        words = [f"{name} ({n})" if len(clock.governors) > 1 else name for name, n in clock.governors.items()]
        yield Fact("cpu", "governor", ", ".join(words), f"{folder}/scaling_governor")
        yield make_fact("cpu", "frequency_driver", clock.driver, f"{folder}/scaling_driver")
        yield make_fact("cpu", "highest", clock.highest_khz, f"{folder}/cpuinfo_max_freq", "kHz")
        yield make_fact("cpu", "turbo", clock.turbo, "intel_pstate/no_turbo or cpufreq/boost")
    nodes = read_numa(host)
    if isinstance(nodes, Absent):
        yield UnreadFact("numa", "nodes", nodes)
    else:
        doubt = Absent(nodes.doubt, "invalid", "/sys/devices/system/node") if nodes.doubt else None
        if doubt is None and not nodes.with_cpus:
            doubt = Absent("no node reports its CPUs", "missing", "/sys/devices/system/node/node*/cpulist")
        yield make_fact(
            "numa", "nodes", nodes.with_cpus if doubt is None else doubt, "/sys/devices/system/node"
        )
        yield make_fact("numa", "nodes_per_socket", nodes.per_socket, "/sys/devices/system/node")


def _memory_facts(host: Host) -> Iterator[FactOrUnread]:
    sizes = read_memory(host)
    yield make_fact("memory", "total", sizes.total, "/proc/meminfo MemTotal", "B")
    yield make_fact("memory", "available", sizes.available, "/proc/meminfo MemAvailable", "B")
    yield make_fact("memory", "swap", sizes.swap_total, "/proc/meminfo SwapTotal", "B")
    source = "/sys/kernel/mm/transparent_hugepage/enabled"
    yield make_fact("memory", "transparent_huge_pages", sizes.transparent_huge_pages, source)


def _cgroup_limit_facts(host: Host) -> Iterator[FactOrUnread]:
    group = read_cgroup(host)
    if isinstance(group, Absent):
        yield UnreadFact("cgroup", "path", group)
        return
    yield Fact("cgroup", "version", group.version, "/proc/self/cgroup")
    yield Fact("cgroup", "path", group.path, "/proc/self/cgroup")
    for word, value, source, unit in (
        ("cpu", group.cpu_cores, "cpu.max, cpu.cfs_quota_us", "CPUs"),
        ("memory", group.memory_bytes, "memory.max, memory.limit_in_bytes", "B"),
    ):
        shown = NONE if value is None else value
        yield make_fact("cgroup", word, shown, source, "" if shown == NONE else unit)
    yield make_fact(
        "cgroup",
        "cpus",
        group.cpus if isinstance(group.cpus, Absent) else format_cpu_list(group.cpus),
        "cpuset.cpus.effective",
    )
    smallest = {
        (limit.devno, limit.limit_name): limit for limit in sorted(group.io, key=lambda io: -io.value)
    }
    for limit in smallest.values():  # each group up to the root may have one, and the smallest counts
        yield Fact("cgroup", f"io {limit.devno} {limit.limit_name}", limit.value, limit.group)


def _all_disk_facts(host: Host) -> Iterator[FactOrUnread]:
    everything = block_devices(host)
    if not everything:
        why = host.list_names("/sys/block")
        none = why if isinstance(why, Absent) else Absent("no block device", "missing", "/sys/block")
        yield UnreadFact("disk", "devices", none)
    shown = [d for d in everything.values() if not d.parent and _is_worth_showing(d)]
    shown.sort(key=lambda d: d.kind != "disk")  # what is built on disks must not crowd them out
    mounted = read_disk_topology(host).file_system_types_by_device()
    for disk in shown[:MAX_DISKS]:
        yield from _disk_facts(host, disk)
        if types := mounted.get(disk.name):
            yield Fact(f"disk:{disk.name}", "file_systems", list(types), "/proc/self/mountinfo")
    if len(shown) > MAX_DISKS:
        yield Fact("disk", "others", len(shown) - MAX_DISKS, "/sys/block")
    for array in md_arrays(host):
        place = f"/sys/block/{array.name}/md"
        yield make_fact(f"md:{array.name}", "level", array.level, f"{place}/level")
        yield make_fact(f"md:{array.name}", "state", array.state, f"{place}/array_state")
        yield make_fact(f"md:{array.name}", "missing", array.missing, f"{place}/degraded", "disks")
        yield make_fact(f"md:{array.name}", "action", array.action, f"{place}/sync_action")


def _is_worth_showing(disk: BlockDevice) -> bool:
    """Loop, ram and zram devices exist by the dozen without being used."""
    if disk.kind == "loop":
        return bool(disk.backing_file)
    return disk.kind != "ram" and disk.size_bytes != 0


def _scheduler_facts(host: Host, device: str, name: str) -> Iterator[FactOrUnread]:
    """Who chose the scheduler, its settings, and what throttles and multiplies the queue."""
    state = read_scheduler_state(host, device)
    if isinstance(state, Absent):
        return
    reason, queue = find_scheduler_origin(host, state), queue_folder_of(device)
    yield Fact(name, "scheduler_from", reason.text, reason.source or f"{queue}/scheduler")
    if state.tunables:
        text = " ".join(f"{key}={value}" for key, value in state.tunables.items())
        yield Fact(name, "scheduler_settings", text, f"{queue}/iosched")
    # older kernels and bio-based devices have neither of these
    if not isinstance(state.wbt_lat_usec, Absent):
        yield Fact(name, "wbt_lat_usec", state.wbt_lat_usec, f"{queue}/wbt_lat_usec")
    if not isinstance(state.hw_queues, Absent):
        yield Fact(name, "hw_queues", state.hw_queues, f"/sys/block/{device}/mq")


def _disk_facts(host: Host, disk: BlockDevice) -> Iterator[FactOrUnread]:
    name, path = f"disk:{disk.name}", disk.path
    physical = disk.kind == "disk"
    yield Fact(name, "kind", disk.kind, path)
    yield make_fact(name, "transport", disk.transport, path)
    if physical and not (isinstance(disk.model, Absent) and disk.transport in NAMELESS):
        yield make_fact(name, "model", disk.model, f"{path}/device/model")
    if disk.label:
        yield Fact(name, "label", disk.label, f"{path}/dm/name")
    if disk.backing_file:
        yield Fact(name, "backing_file", disk.backing_file, f"{path}/loop/backing_file")
    yield make_fact(name, "size", disk.size_bytes, f"{path}/size", "B")
    yield make_fact(name, "rotational", disk.rotational, f"{path}/queue/rotational")
    if disk.slaves:
        yield Fact(
            name, "on", list(device_and_layers_below(block_devices(host), disk.name)[1:]), f"{path}/slaves"
        )
    if not physical:
        return
    yield make_fact(name, "scheduler", disk.scheduler, f"{path}/queue/scheduler")
    yield from _scheduler_facts(host, disk.name, name)
    yield make_fact(name, "nr_requests", disk.queue.nr_requests, f"{path}/queue/nr_requests")
    yield make_fact(name, "write_cache", disk.queue.write_cache, f"{path}/queue/write_cache")
    yield make_fact(name, "discard_max", disk.queue.discard_max_bytes, f"{path}/queue/discard_max_bytes", "B")
    yield make_fact(name, "numa_node", disk.numa_node, f"{path}/../numa_node")
    if disk.transport in ("nvme", "sata", "sas"):
        link = disk.link
        yield make_fact(name, "link", link if isinstance(link, Absent) else link.now, f"{path} link")
        if not isinstance(link, Absent) and link.at_most:
            yield Fact(name, "link_at_most", link.at_most, link.source)


def _disk_mount_facts(host: Host) -> Iterator[FactOrUnread]:
    table = read_mounts(host)
    if isinstance(table, Absent):
        yield UnreadFact("mount", "mount", table)
        return
    # the last on a mount point counts
    real = {m.mountpoint: m for m in table if m.source.startswith("/dev/")}
    for mount in list(real.values())[:MAX_MOUNTS]:
        subject = f"mount:{mount.mountpoint}"
        yield Fact(subject, "type", mount.fstype, "/proc/self/mountinfo")
        yield Fact(subject, "source", mount.source, "/proc/self/mountinfo")
        yield Fact(subject, "options", ",".join(mount.options), "/proc/self/mountinfo")


def _physical_nic_facts(host: Host) -> Iterator[FactOrUnread]:
    for card in read_nics(host).values():
        if not card.physical:
            continue
        place = f"/sys/class/net/{card.name}"
        yield make_fact(f"nic:{card.name}", "driver", card.driver, f"{place}/device/driver")
        yield make_fact(f"nic:{card.name}", "speed", card.speed_mbit, f"{place}/speed", "Mbit/s")
        yield make_fact(f"nic:{card.name}", "mtu", card.mtu, f"{place}/mtu", "B")
        yield make_fact(f"nic:{card.name}", "numa_node", card.numa_node, f"{place}/device/numa_node")
