"""The machine's shape as one value: what the picture, the report and `--json` are made of. Plain numbers, no paths."""

import re
from collections import Counter
from typing import NamedTuple

import msgspec

from hostdx.probes.cpu_list import format_cpu_list, parse_cpu_list
from hostdx.probes.reading.host import Host, compute_once_per_host
from hostdx.probes.system.nodes.nodes_per_socket import NodesPerSocket, read_nodes_per_socket
from hostdx.probes.system.nodes.numa import NumaNode, NumaTable, read_numa
from hostdx.probes.system.pci import STORAGE, PciDevice, read_pci_devices
from hostdx.probes.system.processor.caches import (
    Cache,
    CacheKind,
    group_caches_by_name,
    last_level_caches,
    read_caches,
)
from hostdx.probes.system.processor.cpu import Cpu, arm_core_names, read_cpu
from hostdx.probes.system.processor.topology import (
    ROOT,
    CpuTopology,
    distinct_sets,
    read_cpu_topology,
    read_cpuinfo,
)
from hostdx.probes.system.running.allowed import read_allowed_resources
from hostdx.probes.types import Absent, is_present
from hostdx.scenarios.contract import ranges as of

_DISK = re.compile(r"nvme\d+n\d+|[sv]d[a-z]+")
_SWITCH = {"off": "off", "forceoff": "off", "notsupported": "none", "notimplemented": "none"}


class CoreGroup(msgspec.Struct, frozen=True):
    """So many cores of so many threads each; a hybrid processor has several groups. `kind`: P, E, low-power E."""

    cores: of.Number
    threads: of.Number
    kind: str = ""


class DrawnDevice(msgspec.Struct, frozen=True):
    kind: str
    name: str
    node: of.Number | None


class NodeOrSocket(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A NUMA node, or a socket where nodes are not told or not believed. `memory_bytes` None: not told."""

    number: of.Number
    sockets: tuple[of.Number, ...]
    cpus: str
    cores: tuple[CoreGroup, ...]
    caches: tuple[tuple[of.Count, of.Number], ...] = ()  # last level: size in bytes (0: not told), how many
    memory_bytes: of.Count | None = None
    distances: tuple[of.Number, ...] = ()
    kind: str = "usual"


class MachineShape(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Counts are of what is online; None where the host does not tell. `doubt`: why nodes are not believed."""

    model: str | None
    sockets: of.Number | None
    dies: of.Number | None
    cores: of.Number | None
    threads: of.Number | None
    threads_per_core: tuple[of.Number, ...]
    hybrid: bool
    places_are_nodes: bool
    places: tuple[NodeOrSocket, ...]
    caches: tuple[CacheKind, ...] = ()
    devices: tuple[DrawnDevice, ...] = ()
    offline: str = ""
    isolated: str = ""
    allowed: str = ""  # only where it is less than all that is online
    quota_cores: of.Rate | None = None
    books: of.Number = 0
    drawers: of.Number = 0
    nowhere: str = ""  # CPUs that belong to no node, where others do
    nodes: of.Number | None = None
    nodes_with_cpus: of.Number | None = None
    doubt: str = ""
    distance_doubt: str = ""
    smt: str = ""  # on, off, none; empty where the host does not tell
    modules: bool = False  # AMD's family 15h: two integer cores each, which the kernel tells as threads
    setting: str = ""  # what of the firmware explains the nodes


@compute_once_per_host
def read_machine(host: Host) -> MachineShape:
    """Never raises."""
    processor, placed, table = read_cpu(host), read_cpu_topology(host), read_numa(host)
    believed = is_present(table) and not table.doubt
    may = read_allowed_resources(host)
    limited = is_present(may.cpus) and bool(placed.online) and not placed.online <= may.cpus
    cache_table = read_caches(host)
    parts = _PlaceParts(placed, cache_table if is_present(cache_table) else (), _kinds_of_cores(host))
    quota = may.quota_cores
    modules = _is_amd_bulldozer(read_cpuinfo(host))
    return MachineShape(
        model=processor.model if is_present(processor.model) else arm_core_names(host) or None,
        sockets=processor.sockets if is_present(processor.sockets) else None,
        dies=len(distinct_sets(placed.dies)) or None,
        cores=processor.cores if is_present(processor.cores) else None,
        threads=processor.threads if is_present(processor.threads) else None,
        threads_per_core=processor.threads_per_core,
        hybrid=processor.hybrid is True,
        places_are_nodes=believed,
        places=_make_nodes(table, parts) if believed and is_present(table) else _make_sockets(parts),
        caches=group_caches_by_name(parts.caches),
        devices=_make_devices(read_pci_devices(host)),
        offline=format_cpu_list(processor.offline),
        isolated=format_cpu_list(processor.isolated & placed.online),
        allowed=format_cpu_list(may.cpus & placed.online) if limited and is_present(may.cpus) else "",
        quota_cores=quota if isinstance(quota, float) else None,
        books=len(distinct_sets(placed.books)),
        drawers=len(distinct_sets(placed.drawers)),
        nowhere=format_cpu_list(_cpus_without_node(table, placed)) if believed and is_present(table) else "",
        nodes=len(table.nodes) if believed and is_present(table) else None,
        nodes_with_cpus=table.with_cpus if believed and is_present(table) else None,
        doubt=table.doubt if is_present(table) else "",
        distance_doubt=table.distance_doubt if is_present(table) else "",
        smt="" if modules else _smt_on_or_switch(host, processor),
        modules=modules,
        setting=_node_setting_if_special(read_nodes_per_socket(host)),
    )


def _smt_on_or_switch(host: Host, processor: Cpu) -> str:
    """On where some core has several threads online; else by the kernel's switch, which older kernels do not have."""
    if any(size > 1 for size in processor.threads_per_core):
        return "on"
    switch = host.read_file_text(f"{ROOT}/smt/control", 64)
    return _SWITCH.get(switch.strip(), "") if is_present(switch) else ""


def _is_amd_bulldozer(info: list[dict[str, str]]) -> bool:
    first = next(iter(info), {})
    return (first.get("vendor_id"), first.get("cpu family")) == ("AuthenticAMD", "21")


def _node_setting_if_special(setting: NodesPerSocket | Absent) -> str:
    """Nothing where a node a socket is all that there is to say."""
    if isinstance(setting, Absent) or (
        setting.value == 1 and setting.scheme in ("nodes per socket", "node per die")
    ):
        return ""
    return setting.setting_text


def _cpus_without_node(table: NumaTable, placed: CpuTopology) -> frozenset[int]:
    node_cpus = frozenset[int]().union(*(node.cpus for node in table.nodes))
    return placed.online - node_cpus if node_cpus else node_cpus


class _PlaceParts(NamedTuple):
    """Of which the places are made; `kinds`: CPU -> kind of its core, on a hybrid processor."""

    placed: CpuTopology
    caches: tuple[Cache, ...]
    kinds: dict[int, str]

    def core_groups(self, cpus: frozenset[int]) -> tuple[CoreGroup, ...]:
        """Most threads first; empty where the host does not tell cores."""
        threads = [core & cpus for core in distinct_sets(self.placed.cores) if core & cpus]
        groups = Counter((len(core), self.kinds.get(min(core), "")) for core in threads)
        rank = ["P", "E", "low-power E", ""]
        ordered = sorted(groups.items(), key=lambda item: (rank.index(item[0][1]), -item[0][0]))
        return tuple(CoreGroup(count, threads, kind) for (threads, kind), count in ordered)

    def last_level(self, cpus: frozenset[int]) -> tuple[tuple[int, int], ...]:
        mine = last_level_caches(tuple(c for c in self.caches if c.cpus & cpus))
        if not mine or mine[0].level < 3:  # without an L3 the line would repeat each core's own cache
            return ()
        sizes = Counter(c.size_bytes if is_present(c.size_bytes) else 0 for c in mine)
        return tuple(sorted(sizes.items(), reverse=True))


def _make_nodes(table: NumaTable, parts: _PlaceParts) -> tuple[NodeOrSocket, ...]:
    return tuple(_make_node(node, parts, not table.distance_doubt) for node in table.nodes)


def _make_node(node: NumaNode, parts: _PlaceParts, with_distances: bool) -> NodeOrSocket:
    return NodeOrSocket(
        number=node.number,
        sockets=tuple(sorted({parts.placed.ids[n] for n in node.cpus if n in parts.placed.ids})),
        cpus=format_cpu_list(node.cpus),
        cores=parts.core_groups(node.cpus),
        caches=parts.last_level(node.cpus),
        memory_bytes=node.memory_bytes if is_present(node.memory_bytes) else None,
        distances=node.distances if with_distances else (),
        kind=node.kind,
    )


def _make_sockets(parts: _PlaceParts) -> tuple[NodeOrSocket, ...]:
    placed = parts.placed
    sets = distinct_sets(placed.sockets) or ((placed.online,) if placed.online else ())
    return tuple(
        NodeOrSocket(
            number=placed.ids.get(min(cpus), position),
            sockets=(placed.ids.get(min(cpus), position),),
            cpus=format_cpu_list(cpus),
            cores=parts.core_groups(cpus),
            caches=parts.last_level(cpus),
        )
        for position, cpus in enumerate(sets)
    )


def _kinds_of_cores(host: Host) -> dict[int, str]:
    """By the kernel's counters, of an Intel hybrid processor; a processor of one kind has no such folders."""
    core_kinds: dict[int, str] = {}
    for name, kind in (("cpu_core", "P"), ("cpu_atom", "E"), ("cpu_lowpower", "low-power E")):
        text = host.read_file_text(f"/sys/devices/{name}/cpus")
        core_kinds |= dict.fromkeys((parse_cpu_list(text) or ()) if is_present(text) else (), kind)
    return core_kinds if len(set(core_kinds.values())) > 1 else {}


def _make_devices(devices: tuple[PciDevice, ...] | Absent) -> tuple[DrawnDevice, ...]:
    if isinstance(devices, Absent):
        return ()
    return tuple(
        DrawnDevice(device.kind, name, device.node if is_present(device.node) else None)
        for device in devices
        if not device.virtual_function
        for name in _shown_device_names(device)
    )


def _shown_device_names(device: PciDevice) -> tuple[str, ...]:
    """The disks rather than their controller, the card rather than its verbs; else the address."""
    if device.kind in STORAGE:
        disks = tuple(name for name in device.names if _DISK.fullmatch(name))
        return disks or device.names[:1] or (device.address,)
    return device.names[:1] or (device.address,)
