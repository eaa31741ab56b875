"""Memory, measured: bandwidth and latency from each node's CPUs to each node's memory, huge pages against small.

Bandwidth is what memcpy copies (each byte is read once and written once, so that the channels carry two to three
times as much); latency is a chain of dependent loads walked by the C library's tree search. Pages are bound and
checked to lie where they should.
"""

import random
from collections import defaultdict
from collections.abc import Iterator

import msgspec

from probes.bench.engine.pool import WorkerFailed
from probes.bench.placement import PlacementBench, Seat, WorkerPlacement
from probes.host import Host
from probes.system.nodes.memory import memory
from probes.system.nodes.numa import Numa
from probes.system.processor.caches import Cache
from scenarios.cpus.usable import UsableCpus
from scenarios.numa.measurement.figures import RoundsFigure, RoundValue, figure

MIB = 1 << 20
SLICE_S = 0.04
LEAST_COPIED, MOST_COPIED = 4 * MIB, 32 * MIB  # each buffer of each worker
LEAST_CHASED, MOST_CHASED = 16 * MIB, 128 * MIB
SHARE_OF_FREE = 8  # an eighth of a node's free memory at most
MOST_COPIERS = 32  # of a node: its channels are full long before
MOST_NODES = 16
CELLS_OF_PAIR = 3  # slices of each pair a round


class NodeReach(msgspec.Struct, frozen=True, kw_only=True):
    """From one node's CPUs to one node's memory; `near` is its own. Nodes are None where the host has none."""

    cpu_node: int | None
    memory_node: int | None
    distance: int | None
    workers: int
    copied_bytes_per_s: RoundsFigure | None
    one_worker_bytes_per_s: RoundsFigure | None
    latency_ns: RoundsFigure | None

    @property
    def near(self) -> bool:
        return self.cpu_node == self.memory_node


class MemoryResult(msgspec.Struct, frozen=True, kw_only=True):
    reaches: tuple[NodeReach, ...]
    small_ns: RoundsFigure | None  # latency with small and with huge pages, near memory
    huge_ns: RoundsFigure | None
    beyond_cache: bool  # the chain's buffer is larger than the last-level cache is told to be
    problems: tuple[str, ...]


class NodePair(msgspec.Struct, frozen=True):
    cpu_node: int | None
    memory_node: int | None
    distance: int | None
    cpus: tuple[int, ...]

    @property
    def near(self) -> bool:
        return self.cpu_node is not None and self.cpu_node == self.memory_node


def targets(usable: UsableCpus) -> tuple[NodePair, ...]:
    """All pairs of nodes with CPUs and nodes with memory; one pair without numbers where nodes are not believed."""
    table = usable.nodes
    if table is None:
        return (NodePair(None, None, None, _firsts(usable, usable.cpus)),)
    near = [node for node in table.nodes if node.cpus & usable.cpus][:MOST_NODES]
    stores = [n for n in table.nodes if isinstance(n.memory_bytes, int) and n.memory_bytes > 0][:MOST_NODES]
    numbers = [node.number for node in table.nodes]
    found = []
    for node in near:
        cpus = _firsts(usable, node.cpus)
        for store in stores or near:
            at = numbers.index(store.number)
            distance = node.distances[at] if at < len(node.distances) and not table.distance_doubt else None
            found.append(NodePair(node.number, store.number, distance, cpus))
    return tuple(found)


def fitting(pairs: tuple[NodePair, ...], seconds: float, rounds: int) -> tuple[NodePair, ...]:
    """All of them, or where that takes too long (64 pairs of eight nodes: 40 s) each node's own memory, and all that
    the first node reaches.
    """
    if (rounds + 1) * len(pairs) * CELLS_OF_PAIR * SLICE_S <= seconds:
        return pairs
    return tuple(t for t in pairs if t.cpu_node in (t.memory_node, pairs[0].cpu_node))


class MemoryBench:
    """Rounds of slices over all pairs of nodes."""

    def __init__(
        self,
        host: Host,
        usable: UsableCpus,
        pairs: tuple[NodePair, ...],
        bench: PlacementBench,
        seed: int,
    ) -> None:
        self._bench = bench
        self._rng = random.Random(seed)
        self._targets = pairs
        self._bind = usable.nodes is not None
        level = _last_level_bytes(usable.caches)
        free = _free(host, usable.nodes)
        stores = len({t.memory_node for t in self._targets})
        workers = max((min(MOST_COPIERS, len(t.cpus)) for t in self._targets), default=1)
        room = free // SHARE_OF_FREE // (2 * workers * max(1, stores))
        self.copied = max(LEAST_COPIED, min(MOST_COPIED, 2 * level // workers, room)) // MIB * MIB
        self.chased = _power_of_two(
            max(LEAST_CHASED, min(MOST_CHASED, 2 * level, free // SHARE_OF_FREE // max(1, stores)))
        )
        self.beyond_cache = self.chased > level
        self._values: dict[tuple[int, str], list[float]] = defaultdict(list)
        self._pages: dict[str, list[float]] = defaultdict(list)
        self._problems: dict[str, None] = {}
        self._refused: set[tuple[int, str]] = set()
        self.told: list[RoundValue] = []  # of the last round

    async def round(self) -> None:
        """Every pair once: all CPUs copying, one copying, one chasing; and the two page sizes."""
        cells = [(at, what) for at in range(len(self._targets)) for what in ("all", "one", "chase")]
        cells += [(0, "small"), (0, "huge")]
        self._rng.shuffle(cells)
        for at, what in cells:
            if (at, what) not in self._refused:
                await self._slice(at, what)
        self.told = list(self._told())

    def _told(self) -> Iterator[RoundValue]:
        for (at, what), values in self._values.items():
            target = self._targets[at]
            pair = "" if target.cpu_node is None else f", node {target.cpu_node} to {target.memory_node}"
            copied = what != "chase"
            series = f"copy{pair}" if copied else f"latency{pair}"
            variant = "all cores" if what == "all" else "one core"
            if values:
                yield RoundValue(
                    series, variant, values[-1] / (1e6 if copied else 1), "MB/s" if copied else "ns"
                )
        for page, values in self._pages.items():
            if values:
                yield RoundValue(f"latency, {page} pages", "one core", values[-1], "ns")

    def forget(self) -> None:
        """What was measured until now does not count."""
        self._values.clear()
        self._pages.clear()

    async def _slice(self, at: int, what: str) -> None:
        target = self._targets[at]
        node = target.memory_node if self._bind else None
        cpus = target.cpus[:MOST_COPIERS] if what == "all" else target.cpus[:1]
        place = WorkerPlacement(what, what, tuple(Seat((cpu,), node) for cpu in cpus))
        copying = what in ("all", "one")
        size = self.copied if copying else self.chased
        page = what if what in ("small", "huge") else ""
        try:
            taken = await self._bench.measure_slice(
                "copy" if copying else "chase", place, SLICE_S, size_bytes=size, page=page
            )
        except WorkerFailed as failed:
            # Memory cannot be placed (a container without the right, a full node): the others go on.
            self._refused.add((at, what))
            self._problems[str(failed)] = None
            return
        if copying:
            self._values[at, what].append(taken.bytes_per_s(calm=True))
        elif page:
            self._pages[page].append(taken.nanoseconds_a_call())
        else:
            self._values[at, what].append(taken.nanoseconds_a_call())

    def result(self) -> MemoryResult:
        return MemoryResult(
            reaches=tuple(self._reach(at, target) for at, target in enumerate(self._targets)),
            small_ns=figure(self._pages["small"]),
            huge_ns=figure(self._pages["huge"]),
            beyond_cache=self.beyond_cache,
            problems=tuple(self._problems),
        )

    def _reach(self, at: int, target: NodePair) -> NodeReach:
        return NodeReach(
            cpu_node=target.cpu_node,
            memory_node=target.memory_node,
            distance=target.distance,
            workers=min(MOST_COPIERS, len(target.cpus)),
            copied_bytes_per_s=figure(self._values[at, "all"]),
            one_worker_bytes_per_s=figure(self._values[at, "one"]),
            latency_ns=figure(self._values[at, "chase"]),
        )


def _firsts(usable: UsableCpus, cpus: frozenset[int]) -> tuple[int, ...]:
    """One CPU of each core."""
    return tuple(sorted(map(min, usable.usable_cores(cpus))))


def _last_level_bytes(found: tuple[Cache, ...]) -> int:
    deepest = max((c.level for c in found), default=0)
    sizes = [c.size_bytes for c in found if c.level == deepest]
    return max((size for size in sizes if isinstance(size, int)), default=0)


def _free(host: Host, table: Numa | None) -> int:
    """Of the node with the least; of the whole host where nodes do not tell."""
    frees = [n.free_bytes for n in table.nodes if n.cpus] if table is not None else []
    known = [free for free in frees if isinstance(free, int)]
    if known:
        return min(known)
    available = memory(host).available
    return available if isinstance(available, int) else 1 << 30


def _power_of_two(number: int) -> int:
    return 1 << (number.bit_length() - 1)
