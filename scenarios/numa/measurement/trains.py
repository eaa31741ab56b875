"""Placements, near and far memory, page sizes as sides of a train: the same workers are moved at each slice."""

import time
from collections.abc import Sequence

import msgspec

from hostdx.probes.engine.batch_source import BatchSource
from hostdx.probes.engine.measured import Measured, MeasuredBatch, VariantsUnfit
from hostdx.probes.engine.pool import WorkerFailed
from hostdx.scenarios.contract.plan import Metric
from hostdx.scenarios.numa.measurement.placement import (
    BYTES,
    CALLS,
    PlacedSlice,
    PlacementBench,
    WorkerPlacement,
)

FIRST_SLICE_S = 0.03
ASKING, STREAMING = "loopback-ask", "loopback-stream"
THROUGHPUT, CPU_TIME, LATENCY = "throughput", "CPU time", "latency"


class PlacementSide(msgspec.Struct, frozen=True):
    """One variant: where the workers sit and what pages they use."""

    placement: WorkerPlacement
    page: str = ""

    @property
    def id(self) -> str:
        return self.page or self.placement.id


def metrics_for(work: str) -> tuple[Metric, ...]:
    if work == "chase":
        return (Metric(LATENCY, "ns", better="less"),)
    if work == ASKING:
        return (Metric(LATENCY, "µs", better="less"),)
    if work == STREAMING:  # half of the CPU time is the partner's, which no slice counts
        return (Metric(THROUGHPUT, "MB/s"),)
    if work in BYTES:
        return (Metric(THROUGHPUT, "MB/s"), Metric(CPU_TIME, "µs/MB", better="less"))
    return (Metric(THROUGHPUT, "loops/s"), Metric(CPU_TIME, "µs/loop", better="less"))


class PlacedBatches(BatchSource[PlacementSide]):
    """One load on all sides. Each slice is an order of its own to the workers: moving them costs a millisecond."""

    def __init__(
        self, bench: PlacementBench, work: str, sides: Sequence[PlacementSide], size_bytes: int = 0
    ) -> None:
        super().__init__({side.id: side for side in sides}, FIRST_SLICE_S, has_first_quarters=True)
        self._bench, self._work, self._size = bench, work, size_bytes

    async def measure_batch(
        self,
        order: Sequence[int],
        slice_s: float,
        *,
        onset_s: float = 0.0,
        quarters: bool = False,
        places: Sequence[int] = (),
    ) -> MeasuredBatch:
        """Raises VariantsUnfit for the side whose workers or memory cannot be where they should."""
        began = time.monotonic()
        sides = tuple(self._variants.values())
        slices = [await self._measure_slice(sides[number], slice_s, onset_s, quarters) for number in order]
        values = [_metric_values_of_slice(piece) for piece in slices]
        names = [metric.name for metric in metrics_for(self._work)]
        return MeasuredBatch(
            seconds=time.monotonic() - began,
            slice_s=slice_s,
            order=list(order),
            values={name: [each[name] for each in values] for name in names},
            sides=[
                _sum_slices([s for s, n in zip(slices, order, strict=True) if n == number])
                for number in range(len(sides))
            ],
            lengths=[max((w.seconds for w in piece.served), default=0.0) for piece in slices],
            operations=[sum(w.operations for w in piece.served) for piece in slices],
            quarters=[_rates_by_quarter(piece) for piece in slices] if quarters else [],
        )

    async def _measure_slice(
        self, side: PlacementSide, slice_s: float, onset_s: float, quarters: bool
    ) -> PlacedSlice:
        try:
            return await self._bench.measure_slice(
                self._work,
                side.placement,
                slice_s,
                size_bytes=self._size,
                page=side.page,
                onset_s=onset_s,
                quarters=quarters,
            )
        except WorkerFailed as failed:
            raise VariantsUnfit((side.id,), str(failed)) from failed


def _metric_values_of_slice(piece: PlacedSlice) -> dict[str, float]:
    if piece.work in ("chase", ASKING):
        done = sum(w.operations for w in piece.served) * CALLS.get(piece.work, 1)
        spent = sum(w.seconds for w in piece.served)
        return {LATENCY: spent / done * (1e6 if piece.work == ASKING else 1e9) if done else 0.0}
    per = piece.cpu_per_operation_s or 0.0
    if piece.work in BYTES:
        return {
            THROUGHPUT: piece.bytes_per_s() / 1e6,
            CPU_TIME: per * 1e6 / (BYTES[piece.work] / 1e6),
        }
    return {THROUGHPUT: piece.rate, CPU_TIME: per * 1e6}


def _sum_slices(slices: Sequence[PlacedSlice]) -> Measured:
    served = [w for piece in slices for w in piece.served]
    return Measured(
        seconds=sum(max((w.seconds for w in piece.served), default=0.0) for piece in slices),
        values={},
        operations=sum(w.operations for w in served),
        cpu_s=sum(w.cpu_s for w in served),
    )


def _rates_by_quarter(piece: PlacedSlice) -> list[float]:
    """Of all workers together; turned over for a latency, whose rate the finder of the slice's length looks at."""
    return [sum(w.parts[n] for w in piece.served if len(w.parts) > n) for n in range(4)]
