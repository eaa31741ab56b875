"""Memory, measured: bandwidth and latency from each node's CPUs to each node's memory, huge pages against small.

Bandwidth is what memcpy copies (each byte is read once and written once, so that the channels carry two to three
times as much); latency is a chain of dependent loads walked by the C library's tree search. Pages are bound and
checked to lie where they should.
"""

import random
from collections import defaultdict
from collections.abc import Iterator

import msgspec

from hostdx.probes.engine.pool import WorkerFailed
from hostdx.probes.reading.host import Host
from hostdx.probes.system.nodes.memory import read_memory
from hostdx.probes.system.nodes.numa import NumaTable
from hostdx.probes.system.processor.caches import Cache
from hostdx.scenarios.numa.measurement.figures import RoundsFigure, RoundValue, estimate_figure
from hostdx.scenarios.numa.measurement.placement import PlacementBench, WorkerPlacement, WorkerSeat
from hostdx.scenarios.triage.cpus.usable import UsableCpus

MIB = 1 << 20
SLICE_S = 0.04
MIN_COPIED_BYTES, MAX_COPIED_BYTES = 4 * MIB, 32 * MIB  # each buffer of each worker
MIN_CHASED_BYTES, MAX_CHASED_BYTES = 16 * MIB, 128 * MIB
SHARE_OF_FREE = 8  # an eighth of a node's free memory at most
MAX_COPIERS = 32  # of a node: its channels are full long before
MAX_NODES = 16
CELLS_OF_PAIR = 3  # slices of each pair a round


class NodeReach(msgspec.Struct, frozen=True, kw_only=True):
    """From one node's CPUs to one node's memory; `is_near` is its own. Nodes are None where the host has none."""

    cpu_node: int | None
    memory_node: int | None
    distance: int | None
    workers: int
    copied_bytes_per_s: RoundsFigure | None
    one_worker_bytes_per_s: RoundsFigure | None
    latency_ns: RoundsFigure | None

    @property
    def is_near(self) -> bool:
        return self.cpu_node == self.memory_node


class MemoryResult(msgspec.Struct, frozen=True, kw_only=True):
    reaches: tuple[NodeReach, ...]
    small_ns: RoundsFigure | None  # latency with small and with huge pages, near memory
    huge_ns: RoundsFigure | None
    beyond_cache: bool  # the chain's buffer is larger than the last-level cache is told to be
    problems: tuple[str, ...]


class CpuMemoryPair(msgspec.Struct, frozen=True):
    cpu_node: int | None
    memory_node: int | None
    distance: int | None
    cpus: tuple[int, ...]

    @property
    def is_near(self) -> bool:
        return self.cpu_node is not None and self.cpu_node == self.memory_node


def list_node_pairs(usable: UsableCpus) -> tuple[CpuMemoryPair, ...]:
    """All pairs of nodes with CPUs and nodes with memory; one pair without numbers where nodes are not believed."""
    table = usable.nodes
    if table is None:
        return (CpuMemoryPair(None, None, None, _one_cpu_per_core(usable, usable.cpus)),)
    near = [node for node in table.nodes if node.cpus & usable.cpus][:MAX_NODES]
    stores = [n for n in table.nodes if isinstance(n.memory_bytes, int) and n.memory_bytes > 0][:MAX_NODES]
    numbers = [node.number for node in table.nodes]
    pairs = []
    for node in near:
        cpus = _one_cpu_per_core(usable, node.cpus)
        for store in stores or near:
            at = numbers.index(store.number)
            distance = node.distances[at] if at < len(node.distances) and not table.distance_doubt else None
            pairs.append(CpuMemoryPair(node.number, store.number, distance, cpus))
    return tuple(pairs)


def limit_pairs(pairs: tuple[CpuMemoryPair, ...], seconds: float, rounds: int) -> tuple[CpuMemoryPair, ...]:
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
        pairs: tuple[CpuMemoryPair, ...],
        bench: PlacementBench,
        seed: int,
    ) -> None:
        self._bench = bench
        self._rng = random.Random(seed)
        self._targets = pairs
        self._bind = usable.nodes is not None
        level = _last_level_bytes(usable.caches)
        free = _least_free_bytes(host, usable.nodes)
        stores = len({t.memory_node for t in self._targets})
        workers = max((min(MAX_COPIERS, len(t.cpus)) for t in self._targets), default=1)
        room = free // SHARE_OF_FREE // (2 * workers * max(1, stores))
        self.copied = max(MIN_COPIED_BYTES, min(MAX_COPIED_BYTES, 2 * level // workers, room)) // MIB * MIB
        self.chased = _round_to_power_of_two(
            max(MIN_CHASED_BYTES, min(MAX_CHASED_BYTES, 2 * level, free // SHARE_OF_FREE // max(1, stores)))
        )
        self.beyond_cache = self.chased > level
        self._values: dict[tuple[int, str], list[float]] = defaultdict(list)
        self._pages: dict[str, list[float]] = defaultdict(list)
        self._problems: dict[str, None] = {}
        self._refused: set[tuple[int, str]] = set()
        self.round_values: list[RoundValue] = []  # of the last round

    async def measure_round(self) -> None:
        """Every pair once: all CPUs copying, one copying, one chasing; and the two page sizes."""
        cells = [(at, kind) for at in range(len(self._targets)) for kind in ("all", "one", "chase")]
        cells += [(0, "small"), (0, "huge")]
        self._rng.shuffle(cells)
        for at, measurement in cells:
            if (at, measurement) not in self._refused:
                await self._measure_slice(at, measurement)
        self.round_values = list(self._last_round_values())

    def _last_round_values(self) -> Iterator[RoundValue]:
        for (at, measurement), values in self._values.items():
            target = self._targets[at]
            pair = "" if target.cpu_node is None else f", node {target.cpu_node} to {target.memory_node}"
            copied = measurement != "chase"
            series = f"copy{pair}" if copied else f"latency{pair}"
            variant = "all cores" if measurement == "all" else "one core"
            if values:
                yield RoundValue(
                    series, variant, values[-1] / (1e6 if copied else 1), "MB/s" if copied else "ns"
                )
        for page, values in self._pages.items():
            if values:
                yield RoundValue(f"latency, {page} pages", "one core", values[-1], "ns")

    def discard_measured(self) -> None:
        """What was measured until now does not count."""
        self._values.clear()
        self._pages.clear()

    async def _measure_slice(self, at: int, measurement: str) -> None:
        target = self._targets[at]
        node = target.memory_node if self._bind else None
        cpus = target.cpus[:MAX_COPIERS] if measurement == "all" else target.cpus[:1]
        place = WorkerPlacement(measurement, measurement, tuple(WorkerSeat((cpu,), node) for cpu in cpus))
        copying = measurement in ("all", "one")
        size = self.copied if copying else self.chased
        page = measurement if measurement in ("small", "huge") else ""
        try:
            placed_slice = await self._bench.measure_slice(
                "copy" if copying else "chase", place, SLICE_S, size_bytes=size, page=page
            )
        except WorkerFailed as failed:
            # Memory cannot be placed (a container without the right, a full node): the others go on.
            self._refused.add((at, measurement))
            self._problems[str(failed)] = None
            return
        if copying:
            self._values[at, measurement].append(placed_slice.bytes_per_s(calm=True))
        elif page:
            self._pages[page].append(placed_slice.nanoseconds_a_call())
        else:
            self._values[at, measurement].append(placed_slice.nanoseconds_a_call())

    def build_result(self) -> MemoryResult:
        return MemoryResult(
            reaches=tuple(self._reach_of_pair(at, target) for at, target in enumerate(self._targets)),
            small_ns=estimate_figure(self._pages["small"]),
            huge_ns=estimate_figure(self._pages["huge"]),
            beyond_cache=self.beyond_cache,
            problems=tuple(self._problems),
        )

    def _reach_of_pair(self, at: int, target: CpuMemoryPair) -> NodeReach:
        return NodeReach(
            cpu_node=target.cpu_node,
            memory_node=target.memory_node,
            distance=target.distance,
            workers=min(MAX_COPIERS, len(target.cpus)),
            copied_bytes_per_s=estimate_figure(self._values[at, "all"]),
            one_worker_bytes_per_s=estimate_figure(self._values[at, "one"]),
            latency_ns=estimate_figure(self._values[at, "chase"]),
        )


def _one_cpu_per_core(usable: UsableCpus, cpus: frozenset[int]) -> tuple[int, ...]:
    """One CPU of each core."""
    return tuple(sorted(map(min, usable.usable_cores(cpus))))


def _last_level_bytes(caches: tuple[Cache, ...]) -> int:
    deepest = max((c.level for c in caches), default=0)
    sizes = [c.size_bytes for c in caches if c.level == deepest]
    return max((size for size in sizes if isinstance(size, int)), default=0)


def _least_free_bytes(host: Host, table: NumaTable | None) -> int:
    """Of the node with the least; of the whole host where nodes do not tell."""
    frees = [n.free_bytes for n in table.nodes if n.cpus] if table is not None else []
    known_bytes = [free for free in frees if isinstance(free, int)]
    if known_bytes:
        return min(known_bytes)
    available = read_memory(host).available
    return available if isinstance(available, int) else 1 << 30


def _round_to_power_of_two(number: int) -> int:
    return 1 << (number.bit_length() - 1)
