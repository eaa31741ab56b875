"""Which CPUs a job of so many cores gets: one node, one last-level cache where it fits, whole nodes kept free. Pure.

As batch systems with defragmenting slots do: the fullest node that still has room, so that the next large job finds an
empty one. A core is given with all its threads; what is taken comes in as a set.
"""

from collections.abc import Iterable

import msgspec

from probes.system.nodes.numa import Numa
from probes.system.processor.caches import last_level
from probes.system.processor.cpulist import as_list
from probes.units import counted
from scenarios.cpus.usable import UsableCpus
from scenarios.finding import Remedy
from scenarios.rules.texts import texts

SAYS = texts("cpus")


class Slot(msgspec.Struct, frozen=True, kw_only=True):
    """`cpus` with all threads of its cores. `nodes` is empty where nodes are not told or not believed."""

    cpus: frozenset[int]
    cores: int
    nodes: tuple[int, ...]
    shared: bool = False  # not enough cores were free: it lies on others' CPUs

    @property
    def listed(self) -> str:
        return as_list(self.cpus)

    @property
    def words(self) -> str:
        return f"CPU{'s' * (len(self.cpus) > 1)} {self.listed}"


class Bay(msgspec.Struct, frozen=True):
    """A node (or all CPUs) with its free cores by last-level cache."""

    node: int | None
    caches: tuple[tuple[frozenset[int], ...], ...]

    @property
    def free(self) -> int:
        return sum(map(len, self.caches))


def slot(usable: UsableCpus, cores: int, taken: frozenset[int] = frozenset()) -> Slot | None:
    """None where there are fewer cores than asked even when shared."""
    found = _choose(_bays(usable, taken), cores, usable.nodes)
    if found is not None:
        return found
    crowded = _choose(_bays(usable, frozenset()), cores, usable.nodes)
    return None if crowded is None else msgspec.structs.replace(crowded, shared=True)


def _bays(usable: UsableCpus, taken: frozenset[int]) -> list[Bay]:
    cores, groups = usable.cores(), [cache.cpus for cache in last_level(usable.caches)]
    nodes: list[tuple[int | None, frozenset[int]]] = [*usable.node_sets] or [(None, usable.cpus)]
    bays = []
    for number, cpus in nodes:
        free = [core for core in cores if core <= cpus and not core & taken]
        bays.append(Bay(number, _by_cache(free, groups)))
    return bays


def _by_cache(
    cores: Iterable[frozenset[int]], groups: list[frozenset[int]]
) -> tuple[tuple[frozenset[int], ...], ...]:
    found: dict[int, list[frozenset[int]]] = {}
    for core in cores:
        key = next((number for number, group in enumerate(groups) if core <= group), -1)
        found.setdefault(key, []).append(core)
    return tuple(tuple(sorted(some, key=min)) for some in found.values())


def _choose(bays: list[Bay], cores: int, table: Numa | None) -> Slot | None:
    fitting = [bay for bay in bays if bay.free >= cores]
    if fitting:
        # An untouched node only where no begun one has room.
        best = min(fitting, key=lambda b: (b.free, b.node if b.node is not None else -1))
        return _slot([best], cores)
    first = max(bays, key=lambda b: (b.free, -(b.node or 0)), default=None)
    if first is None or sum(bay.free for bay in bays) < cores:
        return None
    others = sorted((b for b in bays if b is not first), key=lambda b: (_distance(table, first, b), -b.free))
    used, left = [first], cores - first.free
    for bay in others:
        if left <= 0:
            break
        if bay.free:
            used.append(bay)
            left -= bay.free
    return _slot(used, cores)


def _distance(table: Numa | None, one: Bay, other: Bay) -> int:
    if table is None or one.node is None or other.node is None:
        return 0
    return table.distance(one.node, other.node)


def _slot(bays: list[Bay], cores: int) -> Slot:
    chosen: list[frozenset[int]] = []
    nodes: list[int] = []
    for bay in bays:
        left = cores - len(chosen)
        if left <= 0:
            break
        chosen += _from(bay, left)
        nodes += [] if bay.node is None else [bay.node]
    return Slot(cpus=frozenset().union(*chosen), cores=len(chosen), nodes=tuple(sorted(nodes)))


def _from(bay: Bay, cores: int) -> list[frozenset[int]]:
    """The smallest cache that holds all; else whole caches, the fullest first."""
    fitting = [some for some in bay.caches if len(some) >= cores]
    if fitting:
        return list(min(fitting, key=len)[:cores])
    chosen: list[frozenset[int]] = []
    for some in sorted(bay.caches, key=len, reverse=True):
        chosen += some[: cores - len(chosen)]
    return chosen


def pin(slot: Slot, command: str = "COMMAND") -> Remedy:
    """The same CPUs by four tools; memory is preferred there, not bound: bound memory ends in out-of-memory."""
    nodes = ",".join(map(str, slot.nodes))
    memory = f" --preferred={slot.nodes[0]}" if len(slot.nodes) == 1 else f" --interleave={nodes}"
    return SAYS.remedy(
        "pin",
        count=counted(slot.cores, "core"),
        where=slot.words + (f" (node {nodes})" if nodes else ""),
        cores=slot.cores,
        command=command,
        listed=slot.listed,
        memory=(memory,) if nodes else (),
        mems=f" -p AllowedMemoryNodes={nodes}" if nodes else "",
        nodes=f" && echo {nodes} > job/cpuset.mems" if nodes else "",
    )
