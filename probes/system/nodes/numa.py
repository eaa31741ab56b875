"""NUMA nodes, and whether what the firmware tells of them can be believed."""

import re

import msgspec

from hostdx.probes.reading.host import Host, compute_once_per_host
from hostdx.probes.system.nodes.memory import read_memory
from hostdx.probes.system.processor.topology import CpuTopology, distinct_sets, read_cpu_topology, read_cpus
from hostdx.probes.system.software.kernel import read_kernel
from hostdx.probes.system.virtualisation import read_virtualisation
from hostdx.probes.types import Absent, AbsentKind, is_present

ROOT = "/sys/devices/system/node"


class FirmwareMemorySpeed(msgspec.Struct, frozen=True):
    """What the nearest CPUs get of a node's memory by the firmware's HMAT (Documentation/mm/numaperf.rst)."""

    latency_ns: int
    read_mb_per_s: int


class NumaNode(msgspec.Struct, frozen=True, kw_only=True):
    """`distances` to the nodes in order, 10 is local (ACPI SLIT); empty where they are not told or no row of a table.

    `cpus` are the online ones. `free_bytes` is MemFree.
    """

    number: int
    cpus: frozenset[int]
    memory_bytes: int | Absent
    distances: tuple[int, ...]
    free_bytes: int | Absent = Absent("not read")
    access: FirmwareMemorySpeed | None = None

    @property
    def kind(self) -> str:
        """`usual`, `memory only` (CXL, HBM, a graphics card's), `CPUs only`, `empty`."""
        memory = isinstance(self.memory_bytes, Absent) or self.memory_bytes > 0
        if self.cpus:
            return "usual" if memory else "CPUs only"
        return "memory only" if memory else "empty"


class NumaTable(msgspec.Struct, frozen=True, kw_only=True):
    """`with_cpus` counts the nodes that have CPUs (CXL and memory-only nodes have none).

    Where `doubt` is not empty the table is not credible and nothing may be concluded from it; `distance_doubt` says
    the same of the distances alone.
    """

    nodes: tuple[NumaNode, ...]
    with_cpus: int
    per_socket: float | Absent
    doubt: str = ""
    distance_doubt: str = ""

    def node_distance(self, origin: int, other: int) -> int:
        """0 where it is not told or not believed."""
        numbers = [node.number for node in self.nodes]
        row = next((node.distances for node in self.nodes if node.number == origin), ())
        at = numbers.index(other) if other in numbers and not self.distance_doubt else -1
        return row[at] if 0 <= at < len(row) else 0

    def node_of(self, cpu: int) -> int | None:
        return next((node.number for node in self.nodes if cpu in node.cpus), None)


@compute_once_per_host
def read_numa(host: Host) -> NumaTable | Absent:
    """From /sys/devices/system/node; absent where the kernel has no such folder (CONFIG_NUMA=n)."""
    names = host.list_names(ROOT)
    if isinstance(names, Absent):
        return names
    numbers = sorted(int(match[1]) for name in names if (match := re.fullmatch(r"node([0-9]{1,6})", name)))
    if not numbers:
        return Absent("the kernel lists no NUMA node", "missing", ROOT)
    placed = read_cpu_topology(host)
    nodes = tuple(_read_node(host, number, placed, len(numbers)) for number in numbers)
    if len(nodes) == 1:
        nodes = (_correct_only_node(host, nodes[0]),)
    filled = [node for node in nodes if node.cpus]
    doubt = _explain_table_doubt(host, nodes, placed)
    return NumaTable(
        nodes=nodes,
        with_cpus=len(filled),
        per_socket=_nodes_per_socket(filled, placed, doubt),
        doubt=doubt,
        distance_doubt=_explain_distance_doubt(
            nodes, any(host.path_exists(f"{ROOT}/node{n}/distance") for n in numbers)
        ),
    )


def _read_node(host: Host, number: int, placed: CpuTopology, count: int) -> NumaNode:
    folder = f"{ROOT}/node{number}"
    cpus = read_cpus(host, folder, "cpulist", "cpumap")
    if isinstance(cpus, Absent):  # some captured trees hold the links only
        names = host.list_names(folder)
        matches = (re.fullmatch(r"cpu([0-9]{1,9})", name) for name in names) if is_present(names) else ()
        cpus = frozenset(int(match[1]) for match in matches if match)
    words = host.read_file_text(f"{folder}/distance", 1 << 16)
    distances = (
        [int(word) for word in words.split() if re.fullmatch(r"[0-9]{1,5}", word)]
        if is_present(words)
        else []
    )
    memory = host.read_file_text(f"{folder}/meminfo", 1 << 16)
    return NumaNode(
        number=number,
        cpus=cpus & placed.online if placed.online else cpus,
        memory_bytes=_parse_memory_bytes(memory, f"{folder}/meminfo", "MemTotal"),
        distances=tuple(distances) if len(distances) == count else (),
        free_bytes=_parse_memory_bytes(memory, f"{folder}/meminfo", "MemFree"),
        access=_read_firmware_memory_speed(host, f"{folder}/access0/initiators"),
    )


def _correct_only_node(host: Host, node: NumaNode) -> NumaNode:
    """Where pages are made later (deferred initialisation) a node's count may stay behind; it has all there is."""
    total = read_memory(host).total
    if is_present(total) and is_present(node.memory_bytes) and total > node.memory_bytes:
        return msgspec.structs.replace(node, memory_bytes=total)
    return node


def _read_firmware_memory_speed(host: Host, folder: str) -> FirmwareMemorySpeed | None:
    latency, rate = host.read_integer(f"{folder}/read_latency"), host.read_integer(f"{folder}/read_bandwidth")
    return FirmwareMemorySpeed(latency, rate) if isinstance(latency, int) and isinstance(rate, int) else None


def _parse_memory_bytes(text: str | Absent, path: str, name: str) -> int | Absent:
    if isinstance(text, Absent):
        return text
    match = re.search(rf"\b{name}:\s+([0-9]{{1,18}}) kB", text)
    return int(match[1]) * 1024 if match else Absent(f"{path} reports no {name}", "invalid", path)


def _explain_table_doubt(host: Host, nodes: tuple[NumaNode, ...], placed: CpuTopology) -> str:
    owners: dict[int, int] = {}
    for node in nodes:
        for number in node.cpus:
            owners[number] = owners.get(number, 0) + 1
    several = sum(1 for count in owners.values() if count > 1)
    if several:
        asked = read_kernel(host).boot_parameters().get("numa", "")
        fake = asked.startswith("fake=")
        why = f"the kernel was started with numa={asked}" if fake else "the firmware's table is broken"
        return f"{several} of {len(owners)} CPUs belong to more than one node: {why}"
    # Fewer nodes than sockets can be meant (NPS0, interleaving); a node in pieces of several sockets beside others not.
    # A guest's sockets and nodes are both made up, each by an option of its own.
    if read_virtualisation(host).is_virtual:
        return ""
    sockets = {at.number: {placed.ids[n] for n in at.cpus if n in placed.ids} for at in nodes if at.cpus}
    mixed = [number for number, socket_ids in sockets.items() if len(socket_ids) > 1]
    if mixed and len(sockets) > 1 and len(sockets) >= len(distinct_sets(placed.sockets)):
        return f"node {mixed[0]} has CPUs of several sockets while there are as many nodes as sockets"
    return ""


def _explain_distance_doubt(nodes: tuple[NumaNode, ...], has_distances: bool) -> str:
    """A node no nearer to itself than to another one: some firmware fills the table with one number. Or no table."""
    rows = [node.distances for node in nodes]
    if len(nodes) < 2 or not has_distances:
        return ""
    if torn := [node.number for node in nodes if not node.distances]:
        return f"node {torn[0]} reports no distance to each of the {len(nodes)} nodes"
    for position, (node, row) in enumerate(zip(nodes, rows, strict=True)):
        others = [value for column, value in enumerate(row) if column != position]
        if min(others) <= row[position]:
            return f"node {node.number} is reported to be no nearer to its own memory than to another node's"
    return ""


def _nodes_per_socket(filled: list[NumaNode], placed: CpuTopology, doubt: str) -> float | Absent:
    """Of all sockets alike: where they differ (a node's CPUs are all offline) there is no such number."""
    invalid: AbsentKind = "invalid"
    if doubt:
        return Absent(doubt, invalid, ROOT)
    sockets = distinct_sets(placed.sockets)
    if not sockets:
        return Absent("the topology reports no sockets", "missing", placed.source)
    if not filled:
        return Absent("no node has an online CPU", invalid, ROOT)
    counts = {sum(1 for node in filled if node.cpus & socket) for socket in sockets}
    if len(counts) > 1:
        return Absent("the sockets have different numbers of nodes", invalid, ROOT)
    return len(filled) / len(sockets)
