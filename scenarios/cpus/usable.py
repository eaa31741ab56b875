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

    def cores(self, within: Iterable[int] | None = None) -> list[frozenset[int]]:
        """The usable threads of each core, by the lowest CPU. Where cores are not told each CPU counts as one."""
        cpus = self.cpus if within is None else self.cpus & frozenset(within)
        found = [core & cpus for core in distinct(self.placed.cores) if core & cpus]
        return found or [frozenset({n}) for n in sorted(cpus)]

    @property
    def node_sets(self) -> list[tuple[int, frozenset[int]]]:
        """The nodes that have usable CPUs, with these."""
        nodes = self.nodes.nodes if self.nodes is not None else ()
        return [(node.number, node.cpus & self.cpus) for node in nodes if node.cpus & self.cpus]


def usable_cpus(host: Host) -> UsableCpus:
    """Of a captured host all that are online: what may be used there is its capturer's affair."""
    placed, table, found, may = topology(host), numa(host), caches(host), allowed(host).cpus
    return UsableCpus(
        placed,
        table if present(table) and not table.doubt else None,
        found if present(found) else (),
        placed.online & may if present(may) and host.live else placed.online,
    )
