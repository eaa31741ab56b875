"""The CPUs that a job may get and how they lie: one value for a plan, its run and its remedies."""

from collections.abc import Iterable

import msgspec

from hostdx.probes.reading.host import Host
from hostdx.probes.system.nodes.numa import NumaTable, read_numa
from hostdx.probes.system.processor.caches import Cache, read_caches
from hostdx.probes.system.processor.topology import CpuTopology, distinct_sets, read_cpu_topology
from hostdx.probes.system.running.allowed import read_allowed_resources
from hostdx.probes.types import is_present


class UsableCpus(msgspec.Struct, frozen=True):
    """`nodes` is None where the host has none or they are not believed; `cpus` are online and may be used."""

    placed: CpuTopology
    nodes: NumaTable | None
    caches: tuple[Cache, ...]
    cpus: frozenset[int]

    def usable_cores(self, among_cpus: Iterable[int] | None = None) -> list[frozenset[int]]:
        """The usable threads of each core, by the lowest CPU. Where cores are not told each CPU counts as one."""
        cpus = self.cpus if among_cpus is None else self.cpus & frozenset(among_cpus)
        core_sets = [core & cpus for core in distinct_sets(self.placed.cores) if core & cpus]
        return core_sets or [frozenset({n}) for n in sorted(cpus)]

    @property
    def cpus_by_node(self) -> list[tuple[int, frozenset[int]]]:
        """The nodes that have usable CPUs, with these."""
        nodes = self.nodes.nodes if self.nodes is not None else ()
        return [(node.number, node.cpus & self.cpus) for node in nodes if node.cpus & self.cpus]


def usable_cpus(host: Host) -> UsableCpus:
    """Of a captured host all that are online: what may be used there is its capturer's affair."""
    placed, table, cache_list, permitted = (
        read_cpu_topology(host),
        read_numa(host),
        read_caches(host),
        read_allowed_resources(host).cpus,
    )
    return UsableCpus(
        placed,
        table if is_present(table) and not table.doubt else None,
        cache_list if is_present(cache_list) else (),
        placed.online & permitted if is_present(permitted) and host.live else placed.online,
    )
