"""NUMA nodes, and whether what the firmware tells of them can be believed."""

from __future__ import annotations

import re

import msgspec

from probes.host import Host
from probes.system.cpu import Cpu, cpu
from probes.system.cpulist import read_cpus
from probes.types import Absent, present

ROOT = "/sys/devices/system/node"


class NumaNode(msgspec.Struct, frozen=True, kw_only=True):
    """`distances` to all nodes in order, 10 is local (ACPI SLIT)."""

    number: int
    cpus: frozenset[int]
    memory_bytes: int | Absent
    distances: tuple[int, ...]


class Numa(msgspec.Struct, frozen=True, kw_only=True):
    """`with_cpus` counts the nodes that have CPUs (CXL and memory-only nodes have none).

    Where `doubt` is not empty the table is not credible and nothing may be concluded from it.
    """

    nodes: tuple[NumaNode, ...]
    with_cpus: int
    per_socket: float | Absent
    doubt: str = ""


def numa(host: Host) -> Numa | Absent:
    """From /sys/devices/system/node; absent where the kernel has no such folder (CONFIG_NUMA=n)."""
    names = host.listing(ROOT)
    if isinstance(names, Absent):
        return names
    numbers = sorted(int(match[1]) for name in names if (match := re.fullmatch(r"node(\d+)", name)))
    if not numbers:
        return Absent("the kernel lists no NUMA node", "missing", ROOT)
    nodes = tuple(_node(host, number) for number in numbers)
    processors = host.once(cpu)
    filled = [node for node in nodes if node.cpus]
    doubt = _doubt(nodes, processors)
    return Numa(
        nodes=nodes,
        with_cpus=len(filled),
        per_socket=_per_socket(len(filled), processors, doubt),
        doubt=doubt,
    )


def _node(host: Host, number: int) -> NumaNode:
    folder = f"{ROOT}/node{number}"
    cpus = read_cpus(host, folder, "cpulist", "cpumap")
    if isinstance(cpus, Absent):  # some captured trees hold the links only
        names = host.listing(folder)
        found = (re.fullmatch(r"cpu(\d+)", name) for name in names) if present(names) else ()
        cpus = frozenset(int(match[1]) for match in found if match)
    distances = host.text(f"{folder}/distance")
    words = distances.split() if present(distances) else []
    return NumaNode(
        number=number,
        cpus=cpus,
        memory_bytes=_memory(host, f"{folder}/meminfo"),
        distances=tuple(int(word) for word in words if word.isdigit()),
    )


def _memory(host: Host, path: str) -> int | Absent:
    text = host.text(path)
    if isinstance(text, Absent):
        return text
    found = re.search(r"MemTotal:\s+(\d+) kB", text)
    return int(found[1]) * 1024 if found else Absent(f"{path} tells no MemTotal", "invalid", path)


def _doubt(nodes: tuple[NumaNode, ...], processors: Cpu) -> str:
    owners: dict[int, int] = {}
    for node in nodes:
        for number in node.cpus:
            owners[number] = owners.get(number, 0) + 1
    several = sum(1 for count in owners.values() if count > 1)
    if several:
        return f"{several} of {len(owners)} CPUs belong to more than one node: the firmware's table is broken"
    sockets: dict[int, set[int]] = {}
    for node in nodes:
        for number in node.cpus & processors.socket_of.keys():
            sockets.setdefault(node.number, set()).add(processors.socket_of[number])
    # Fewer nodes than sockets can be meant (NPS0, interleaving); a node in pieces of several sockets beside others not.
    mixed = [number for number, found in sockets.items() if len(found) > 1]
    if mixed and len(sockets) > 1 and len(sockets) >= len(set(processors.socket_of.values())):
        return f"node {mixed[0]} has CPUs of several sockets while there are as many nodes as sockets"
    return ""


def _per_socket(filled: int, processors: Cpu, doubt: str) -> float | Absent:
    if doubt:
        return Absent(doubt, "invalid", ROOT)
    if isinstance(processors.sockets, Absent):
        return processors.sockets
    return filled / processors.sockets
