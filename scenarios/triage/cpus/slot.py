"""Which CPUs a job of so many cores gets: one node, one last-level cache where it fits, whole nodes kept free. Pure.

As batch systems with defragmenting slots do: the fullest node that still has room, so that the next large job finds an
empty one. A core is given with all its threads; what is taken comes in as a set.
"""

from collections.abc import Iterable

import msgspec

from hostdx.probes.cpu_list import format_cpu_list, name_cpus
from hostdx.probes.system.nodes.numa import NumaTable
from hostdx.probes.system.processor.caches import last_level_caches
from hostdx.probes.units import count_noun
from hostdx.scenarios.contract.finding import Remedy
from hostdx.scenarios.triage.cpus.usable import UsableCpus
from hostdx.scenarios.triage.rules.texts import finding_texts

SAYS = finding_texts("triage/cpus")


class PinningSlot(msgspec.Struct, frozen=True, kw_only=True):
    """`cpus` with all threads of its cores. `nodes` is empty where nodes are not told or not believed."""

    cpus: frozenset[int]
    cores: int
    nodes: tuple[int, ...]
    shared: bool = False  # not enough cores were free: it lies on others' CPUs

    @property
    def cpu_list(self) -> str:
        return format_cpu_list(self.cpus)

    @property
    def cpu_words(self) -> str:
        return name_cpus(self.cpus)


class NodeFreeCores(msgspec.Struct, frozen=True):
    """A node (or all CPUs) with its free cores by last-level cache."""

    node: int | None
    caches: tuple[tuple[frozenset[int], ...], ...]

    @property
    def free_cores(self) -> int:
        return sum(map(len, self.caches))


def choose_pinning_slot(
    usable: UsableCpus, cores: int, taken_cpus: frozenset[int] = frozenset()
) -> PinningSlot | None:
    """None where there are fewer cores than asked even when shared."""
    free_slot = _choose_nodes(_free_cores_by_node(usable, taken_cpus), cores, usable.nodes)
    if free_slot is not None:
        return free_slot
    crowded = _choose_nodes(_free_cores_by_node(usable, frozenset()), cores, usable.nodes)
    return None if crowded is None else msgspec.structs.replace(crowded, shared=True)


def _free_cores_by_node(usable: UsableCpus, taken_cpus: frozenset[int]) -> list[NodeFreeCores]:
    cores, groups = usable.usable_cores(), [cache.cpus for cache in last_level_caches(usable.caches)]
    nodes: list[tuple[int | None, frozenset[int]]] = [*usable.cpus_by_node] or [(None, usable.cpus)]
    bays = []
    for number, cpus in nodes:
        free = [core for core in cores if core <= cpus and not core & taken_cpus]
        bays.append(NodeFreeCores(number, _cores_by_cache(free, groups)))
    return bays


def _cores_by_cache(
    cores: Iterable[frozenset[int]], groups: list[frozenset[int]]
) -> tuple[tuple[frozenset[int], ...], ...]:
    cores_by_cache: dict[int, list[frozenset[int]]] = {}
    for core in cores:
        key = next((number for number, group in enumerate(groups) if core <= group), -1)
        cores_by_cache.setdefault(key, []).append(core)
    return tuple(tuple(sorted(some, key=min)) for some in cores_by_cache.values())


def _choose_nodes(bays: list[NodeFreeCores], cores: int, table: NumaTable | None) -> PinningSlot | None:
    fitting = [bay for bay in bays if bay.free_cores >= cores]
    if fitting:
        # An untouched node only where no begun one has room.
        best = min(fitting, key=lambda b: (b.free_cores, b.node if b.node is not None else -1))
        return _slot_of_first_cores([best], cores)
    first = max(bays, key=lambda b: (b.free_cores, -(b.node or 0)), default=None)
    if first is None or sum(bay.free_cores for bay in bays) < cores:
        return None
    others = sorted(
        (b for b in bays if b is not first), key=lambda b: (_distance_or_zero(table, first, b), -b.free_cores)
    )
    used, left = [first], cores - first.free_cores
    for bay in others:
        if left <= 0:
            break
        if bay.free_cores:
            used.append(bay)
            left -= bay.free_cores
    return _slot_of_first_cores(used, cores)


def _distance_or_zero(table: NumaTable | None, first_bay: NodeFreeCores, second_bay: NodeFreeCores) -> int:
    if table is None or first_bay.node is None or second_bay.node is None:
        return 0
    return table.node_distance(first_bay.node, second_bay.node)


def _slot_of_first_cores(bays: list[NodeFreeCores], cores: int) -> PinningSlot:
    chosen: list[frozenset[int]] = []
    nodes: list[int] = []
    for bay in bays:
        left = cores - len(chosen)
        if left <= 0:
            break
        chosen += _cores_sharing_caches(bay, left)
        nodes += [] if bay.node is None else [bay.node]
    return PinningSlot(cpus=frozenset().union(*chosen), cores=len(chosen), nodes=tuple(sorted(nodes)))


def _cores_sharing_caches(bay: NodeFreeCores, cores: int) -> list[frozenset[int]]:
    """The smallest cache that holds all; else whole caches, the fullest first."""
    fitting = [some for some in bay.caches if len(some) >= cores]
    if fitting:
        return list(min(fitting, key=len)[:cores])
    chosen: list[frozenset[int]] = []
    for some in sorted(bay.caches, key=len, reverse=True):
        chosen += some[: cores - len(chosen)]
    return chosen


def pin_remedy(slot: PinningSlot) -> Remedy:
    """The same CPUs by four tools; memory is preferred there, not bound: bound memory ends in out-of-memory."""
    nodes = ",".join(map(str, slot.nodes))
    memory = f" --preferred={slot.nodes[0]}" if len(slot.nodes) == 1 else f" --interleave={nodes}"
    return SAYS.remedy(
        "pin",
        count=count_noun(slot.cores, "core"),
        where=slot.cpu_words + (f" (node {nodes})" if nodes else ""),
        cores=slot.cores,
        command="COMMAND",
        listed=slot.cpu_list,
        memory=(memory,) if nodes else (),
        mems=f" -p AllowedMemoryNodes={nodes}" if nodes else "",
        nodes=f" && echo {nodes} > job/cpuset.mems" if nodes else "",
    )
