"""Topology at a glance, for triage: caches, each node with its CPUs, memory and devices, distances, limits."""

from collections.abc import Iterator

from hostdx.probes import units
from hostdx.probes.reading.host import Host
from hostdx.probes.system.nodes.nodes_per_socket import read_nodes_per_socket
from hostdx.probes.system.nodes.numa import ROOT
from hostdx.probes.system.processor.caches import group_caches_by_name, read_caches
from hostdx.probes.types import Absent, Fact, FactOrUnread, Json, UnreadFact, is_present
from hostdx.scenarios.numa.machine import MachineShape, NodeOrSocket, read_machine

MAX_SHOWN_NODES = 16  # more are counted: the scenario's plan folds them


def glance(host: Host) -> Iterator[FactOrUnread]:
    """Some hundred small files; on a thousand CPUs a few thousand."""
    shape = read_machine(host)
    cache_table = read_caches(host)
    if isinstance(cache_table, Absent):
        yield UnreadFact("cpu", "caches", cache_table)
    for kind in group_caches_by_name(cache_table) if is_present(cache_table) else ():
        sizes = " or ".join(units.format_size(size) for size in kind.sizes_bytes) or "size unknown"
        yield Fact(
            "cpu", f"cache {kind.name}", f"{kind.instances} x {sizes}", "/sys/devices/system/cpu/cpu*/cache"
        )
    if shape.dies and shape.sockets and shape.dies > shape.sockets:
        yield Fact("cpu", "dies", shape.dies, "/sys/devices/system/cpu/cpu*/topology/die_cpus_list")
    setting = read_nodes_per_socket(host)
    yield (
        UnreadFact("numa", "setting", setting)
        if isinstance(setting, Absent)
        else Fact("numa", "setting", setting.setting_text, ROOT)
    )
    if shape.places_are_nodes and (len(shape.places) > 1 or shape.devices):
        yield from _node_and_device_facts(shape)
    if shape.allowed:
        yield Fact("cpu", "allowed", shape.allowed, "/proc/self/status")


def _node_and_device_facts(shape: MachineShape) -> Iterator[FactOrUnread]:
    for place in shape.places[:MAX_SHOWN_NODES]:
        yield from _node_facts(shape, place)
    if len(shape.places) > MAX_SHOWN_NODES:
        yield Fact("numa", "more_nodes", len(shape.places) - MAX_SHOWN_NODES, ROOT)
    elsewhere: list[Json] = [d.name for d in shape.devices if d.node is None]
    if elsewhere:
        yield Fact("numa", "devices_without_node", elsewhere[:32], "/sys/bus/pci/devices/*/numa_node")


def _node_facts(shape: MachineShape, place: NodeOrSocket) -> Iterator[FactOrUnread]:
    name, folder = f"node:{place.number}", f"{ROOT}/node{place.number}"
    yield Fact(name, "cpus", place.cpus or "none", f"{folder}/cpulist")
    if place.memory_bytes is not None:
        yield Fact(name, "memory", place.memory_bytes, f"{folder}/meminfo", "B")
    if place.distances:
        yield Fact(name, "distances", list(place.distances), f"{folder}/distance")
    devices: list[Json] = [f"{d.kind} {d.name}" for d in shape.devices if d.node == place.number]
    if devices:
        yield Fact(name, "devices", devices[:32], "/sys/bus/pci/devices/*/numa_node")
