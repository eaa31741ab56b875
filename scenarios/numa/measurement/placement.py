"""Loads on chosen CPUs with memory on chosen nodes, slice by slice, by the engine's workers.

The same workers serve every placement in turn: they are moved before a slice, outside of its time, and a slice whose
worker or memory is not where it was put is refused.
"""

import random
from collections.abc import Sequence

import msgspec

from hostdx.probes.engine.loads.pinned_loads import BLOCK, CHASED, MIB, READINGS, SYSTEM_CALLS
from hostdx.probes.engine.pool import WorkerPool
from hostdx.probes.engine.spec import BlockReply, LoadSpec, SliceReply

LEAD_S = 0.002
AT_MOST = 50  # slices long: an operation of a large buffer may take longer than a slice

# Bytes or calls of one operation, as the engine counts them.
BYTES = {
    "copy": MIB,
    "hash": BLOCK,
    "compress": BLOCK,
    "own-cache": 8 * 2 * BLOCK,
    "loopback-stream": MIB,
}
CALLS = {"chase": CHASED, "clock": READINGS, "system-call": SYSTEM_CALLS}


class WorkerSeat(msgspec.Struct, frozen=True):
    """Where one worker may run, and the node that its memory comes from (None: where the kernel likes). `peer`: where
    the process at the other end of its loopback connection may run. `store`: a worker has buffers of its own for each,
    where two placements on one node's memory must not find what the other left in a cache.
    """

    cpus: tuple[int, ...]
    node: int | None = None
    peer: tuple[int, ...] = ()
    store: str = ""


class WorkerPlacement(msgspec.Struct, frozen=True):
    id: str
    title: str
    seats: tuple[WorkerSeat, ...]


class WorkerSlice(msgspec.Struct, frozen=True):
    """One worker's slice. `quartile_ns`: the lower quartile of an operation's time, what it takes undisturbed."""

    operations: int
    seconds: float
    cpu_s: float
    quartile_ns: int
    parts: tuple[float, ...] = ()  # operations a second in each fourth, where that was asked for


class PlacedSlice(msgspec.Struct, frozen=True):
    """All workers' slice of one placement."""

    work: str
    served: tuple[WorkerSlice, ...]

    @property
    def rate(self) -> float:
        """Operations a second of all workers together, waits of every kind included."""
        return sum(s.operations / s.seconds for s in self.served if s.seconds > 0)

    @property
    def calm_rate(self) -> float:
        """The same by each worker's lower quartile: without what took the CPU away in between."""
        return sum(1e9 / s.quartile_ns for s in self.served if s.quartile_ns > 0)

    @property
    def cpu_per_operation_s(self) -> float | None:
        """None where nothing finished."""
        done = sum(s.operations for s in self.served)
        return sum(s.cpu_s for s in self.served) / done if done else None

    def bytes_per_s(self, calm: bool = False) -> float:
        return (self.calm_rate if calm else self.rate) * BYTES.get(self.work, 0)

    def nanoseconds_a_call(self) -> float:
        """Of the slowest worker's usual call; 0 where none finished."""
        return max((s.quartile_ns for s in self.served), default=0) / CALLS.get(self.work, 1)


class PlacementBench:
    """One pool of workers; as many are started as the largest placement has seats."""

    def __init__(self, seed: int, stretch: dict[str, float] | None = None) -> None:
        """`stretch` plants longer operations by placement id, as a share: for tests."""
        self._rng = random.Random(seed)
        self._pool = WorkerPool(())
        self._stretch = dict(stretch or {})

    async def measure_slice(
        self,
        work: str,
        placement: WorkerPlacement,
        seconds: float,
        *,
        size_bytes: int = 0,
        page: str = "",
        onset_s: float = 0.0,
        quarters: bool = False,
    ) -> PlacedSlice:
        """`size_bytes` of each buffer of each worker; the first `onset_s` do not count.

        Raises WorkerFailed: where it cannot run so, and why.
        """
        ends = [seconds * part / 4 for part in (1, 2, 3, 4)] if quarters else [seconds]
        ends = [onset_s, *ends] if 0 < onset_s < ends[0] else ends
        stretch = self._stretch.get(placement.id, 0.0)
        specs = [self._seat_spec(work, seat, ends, size_bytes, page, stretch) for seat in placement.seats]
        replies = await self._pool.run_block(specs, LEAD_S + 0.0002 * len(specs))
        return PlacedSlice(
            work, tuple(_worker_slice(reply, len(ends) > 1 and 0 < onset_s < ends[1]) for reply in replies)
        )

    async def forget_buffers(self) -> None:
        """Gives the workers' buffers back."""
        count = len(self._pool.workers)
        if count:
            everywhere = WorkerPlacement("", "", (WorkerSeat(tuple(range(1 << 10))),) * count)
            await self.measure_slice("forget", everywhere, 0.001)

    @property
    def all_pids(self) -> tuple[int, ...]:
        return self._pool.all_pids

    async def close(self) -> None:
        await self._pool.close()

    def _seat_spec(
        self, work: str, seat: WorkerSeat, slice_ends: list[float], size_bytes: int, page: str, stretch: float
    ) -> LoadSpec:
        return {
            "kind": "call",
            "call": "placed",
            "work": work,
            "cpus": seat.cpus,
            "node": seat.node,
            "peer": seat.peer,
            "store": seat.store,
            "page": page,
            "bytes": size_bytes,
            "seed": self._rng.getrandbits(48),
            "stretch": stretch,
            "slices": slice_ends,
            "least": 1,
            "most": None,
            "at_most_s": AT_MOST * slice_ends[-1],
        }


def _worker_slice(reply: BlockReply, onset: bool) -> WorkerSlice:
    pieces: Sequence[SliceReply] = reply["slices"][1:] if onset else reply["slices"]
    parts = [piece for piece in pieces if piece["n"]]
    return WorkerSlice(
        operations=sum(int(part["n"]) for part in parts),
        seconds=sum(part["ns"] for part in parts) / 1e9,
        cpu_s=sum(part["cpu"] for part in parts),
        quartile_ns=min((int(part["q"]) for part in parts), default=0),
        parts=tuple(piece["n"] / piece["ns"] * 1e9 if piece["ns"] else 0.0 for piece in pieces),
    )
