"""The machine's shape as one value: what the picture, the report and `--json` are made of. Plain numbers, no paths."""

import re
from collections import Counter
from typing import NamedTuple

import msgspec

from probes.host import Host, once
from probes.system.nodes.nodes_per_socket import NodesPerSocket, nodes_per_socket
from probes.system.nodes.numa import Numa, NumaNode, numa
from probes.system.pci import STORAGE, PciDevice, pci_devices
from probes.system.processor.caches import Cache, CacheKind, caches, kinds, last_level
from probes.system.processor.cpu import Cpu, arm_parts, cpu
from probes.system.processor.cpulist import as_list, parse_list
from probes.system.processor.topology import ROOT, Topology, cpuinfo, distinct, topology
from probes.system.running.allowed import allowed
from probes.types import Absent, present
from scenarios import ranges as of

_DISK = re.compile(r"nvme\d+n\d+|[sv]d[a-z]+")
_SWITCH = {"off": "off", "forceoff": "off", "notsupported": "none", "notimplemented": "none"}


class CoreGroup(msgspec.Struct, frozen=True):
    """So many cores of so many threads each; a hybrid processor has several groups. `kind`: P, E, low-power E."""

    cores: of.Number
    threads: of.Number
    kind: str = ""


class DeviceShape(msgspec.Struct, frozen=True):
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


class Machine(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
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
    devices: tuple[DeviceShape, ...] = ()
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


@once
def machine(host: Host) -> Machine:
    """Never raises."""
    it, placed, table = cpu(host), topology(host), numa(host)
    believed = present(table) and not table.doubt
    may = allowed(host)
    limited = present(may.cpus) and bool(placed.online) and not placed.online <= may.cpus
    found = caches(host)
    parts = _Parts(placed, found if present(found) else (), _kinds_of_cores(host))
    quota = may.quota_cores
    modules = _is_modules(cpuinfo(host))
    return Machine(
        model=it.model if present(it.model) else arm_parts(host) or None,
        sockets=it.sockets if present(it.sockets) else None,
        dies=len(distinct(placed.dies)) or None,
        cores=it.cores if present(it.cores) else None,
        threads=it.threads if present(it.threads) else None,
        threads_per_core=it.threads_per_core,
        hybrid=it.hybrid is True,
        places_are_nodes=believed,
        places=_nodes(table, parts) if believed and present(table) else _sockets(parts),
        caches=kinds(parts.caches),
        devices=_devices(pci_devices(host)),
        offline=as_list(it.offline),
        isolated=as_list(it.isolated & placed.online),
        allowed=as_list(may.cpus & placed.online) if limited and present(may.cpus) else "",
        quota_cores=quota if isinstance(quota, float) else None,
        books=len(distinct(placed.books)),
        drawers=len(distinct(placed.drawers)),
        nowhere=as_list(_nowhere(table, placed)) if believed and present(table) else "",
        nodes=len(table.nodes) if believed and present(table) else None,
        nodes_with_cpus=table.with_cpus if believed and present(table) else None,
        doubt=table.doubt if present(table) else "",
        distance_doubt=table.distance_doubt if present(table) else "",
        smt="" if modules else _smt(host, it),
        modules=modules,
        setting=_setting(nodes_per_socket(host)),
    )


def _smt(host: Host, it: Cpu) -> str:
    """On where some core has several threads online; else by the kernel's switch, which older kernels do not have."""
    if any(size > 1 for size in it.threads_per_core):
        return "on"
    switch = host.text(f"{ROOT}/smt/control", 64)
    return _SWITCH.get(switch.strip(), "") if present(switch) else ""


def _is_modules(info: list[dict[str, str]]) -> bool:
    first = next(iter(info), {})
    return (first.get("vendor_id"), first.get("cpu family")) == ("AuthenticAMD", "21")


def _setting(found: NodesPerSocket | Absent) -> str:
    """Nothing where a node a socket is all that there is to say."""
    if isinstance(found, Absent) or (
        found.value == 1 and found.scheme in ("nodes per socket", "node per die")
    ):
        return ""
    return found.words


def _nowhere(table: Numa, placed: Topology) -> frozenset[int]:
    told = frozenset[int]().union(*(node.cpus for node in table.nodes))
    return placed.online - told if told else told


class _Parts(NamedTuple):
    """Of which the places are made; `kinds`: CPU -> kind of its core, on a hybrid processor."""

    placed: Topology
    caches: tuple[Cache, ...]
    kinds: dict[int, str]

    def cores(self, cpus: frozenset[int]) -> tuple[CoreGroup, ...]:
        """Most threads first; empty where the host does not tell cores."""
        threads = [core & cpus for core in distinct(self.placed.cores) if core & cpus]
        groups = Counter((len(core), self.kinds.get(min(core), "")) for core in threads)
        rank = ["P", "E", "low-power E", ""]
        ordered = sorted(groups.items(), key=lambda item: (rank.index(item[0][1]), -item[0][0]))
        return tuple(CoreGroup(count, threads, kind) for (threads, kind), count in ordered)

    def last_level(self, cpus: frozenset[int]) -> tuple[tuple[int, int], ...]:
        mine = last_level(tuple(c for c in self.caches if c.cpus & cpus))
        if not mine or mine[0].level < 3:  # without an L3 the line would repeat each core's own cache
            return ()
        sizes = Counter(c.size_bytes if present(c.size_bytes) else 0 for c in mine)
        return tuple(sorted(sizes.items(), reverse=True))


def _nodes(table: Numa, parts: _Parts) -> tuple[NodeOrSocket, ...]:
    return tuple(_node(node, parts, not table.distance_doubt) for node in table.nodes)


def _node(node: NumaNode, parts: _Parts, distances: bool) -> NodeOrSocket:
    return NodeOrSocket(
        number=node.number,
        sockets=tuple(sorted({parts.placed.ids[n] for n in node.cpus if n in parts.placed.ids})),
        cpus=as_list(node.cpus),
        cores=parts.cores(node.cpus),
        caches=parts.last_level(node.cpus),
        memory_bytes=node.memory_bytes if present(node.memory_bytes) else None,
        distances=node.distances if distances else (),
        kind=node.kind,
    )


def _sockets(parts: _Parts) -> tuple[NodeOrSocket, ...]:
    placed = parts.placed
    sets = distinct(placed.sockets) or ((placed.online,) if placed.online else ())
    return tuple(
        NodeOrSocket(
            number=placed.ids.get(min(cpus), position),
            sockets=(placed.ids.get(min(cpus), position),),
            cpus=as_list(cpus),
            cores=parts.cores(cpus),
            caches=parts.last_level(cpus),
        )
        for position, cpus in enumerate(sets)
    )


def _kinds_of_cores(host: Host) -> dict[int, str]:
    """By the kernel's counters, of an Intel hybrid processor; a processor of one kind has no such folders."""
    found: dict[int, str] = {}
    for name, kind in (("cpu_core", "P"), ("cpu_atom", "E"), ("cpu_lowpower", "low-power E")):
        text = host.text(f"/sys/devices/{name}/cpus")
        found |= dict.fromkeys((parse_list(text) or ()) if present(text) else (), kind)
    return found if len(set(found.values())) > 1 else {}


def _devices(found: tuple[PciDevice, ...] | Absent) -> tuple[DeviceShape, ...]:
    if isinstance(found, Absent):
        return ()
    return tuple(
        DeviceShape(device.kind, name, device.node if present(device.node) else None)
        for device in found
        if not device.virtual_function
        for name in _names(device)
    )


def _names(device: PciDevice) -> tuple[str, ...]:
    """The disks rather than their controller, the card rather than its verbs; else the address."""
    if device.kind in STORAGE:
        disks = tuple(name for name in device.names if _DISK.fullmatch(name))
        return disks or device.names[:1] or (device.address,)
    return device.names[:1] or (device.address,)
