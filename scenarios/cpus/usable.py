"""The CPUs that a job may get and how they lie: one value for a plan, its run and its remedies."""

from collections.abc import Iterable

import msgspec

from probes.host import Host
from probes.system.nodes.numa import Numa, numa
from probes.system.processor.caches import Cache, caches
from probes.system.processor.topology import Topology, distinct, topology
from probes.system.running.allowed import allowed
from probes.types import present


class UsableCpus(msgspec.Struct, frozen=True):
    """`nodes` is None where the host has none or they are not believed; `cpus` are online and may be used."""

    placed: Topology
    nodes: Numa | None
    caches: tuple[Cache, ...]
    cpus: frozenset[int]

    def usable_cores(self, within: Iterable[int] | None = None) -> list[frozenset[int]]:
        """The usable threads of each core, by the lowest CPU. Where cores are not told each CPU counts as one."""
        cpus = self.cpus if within is None else self.cpus & frozenset(within)
        core_sets = [core & cpus for core in distinct(self.placed.cores) if core & cpus]
        return core_sets or [frozenset({n}) for n in sorted(cpus)]

    @property
    def node_sets(self) -> list[tuple[int, frozenset[int]]]:
        """The nodes that have usable CPUs, with these."""
        nodes = self.nodes.nodes if self.nodes is not None else ()
        return [(node.number, node.cpus & self.cpus) for node in nodes if node.cpus & self.cpus]


def usable_cpus(host: Host) -> UsableCpus:
    """Of a captured host all that are online: what may be used there is its capturer's affair."""
    placed, table, cache_list, permitted = topology(host), numa(host), caches(host), allowed(host).cpus
    return UsableCpus(
        placed,
        table if present(table) and not table.doubt else None,
        cache_list if present(cache_list) else (),
        placed.online & permitted if present(permitted) and host.live else placed.online,
    )
