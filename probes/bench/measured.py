"""What one block of a measurement gives: the same for storage, CPU, network and the user's own command."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec


class BenchRefused(Exception):
    """Cannot be measured here. One line: what, where, why, what next."""


class NotApplicable(Exception):
    """Measured, but not what it claims to measure (served by a cache, variant not active). One line."""


class Spent(NotApplicable):
    """The bytes that this run may write are used up: no further block, but what was measured until now holds."""


class Unfit(NotApplicable):
    """Some of the variants of a train cannot be measured; the others may go on without them."""

    def __init__(self, variants: Sequence[str], reason: str) -> None:
        super().__init__(reason)
        self.variants = tuple(variants)


class Within(msgspec.Struct, frozen=True):
    """A value inside the block, `offset_s` after its start."""

    offset_s: float
    series: str
    value: float
    unit: str


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """One block. `values` maps metric names to the block's value; `histogram` is [upper bound ns, count] pairs.

    `cpu_s` is our own CPU time; `device_bytes` what the leaf devices' counters moved. Where the block has an
    onset, `onset` holds it apart and `values` speaks only of what follows.
    """

    seconds: float
    values: dict[str, float]
    operations: int = 0
    bytes: int = 0
    device_bytes: int | None = None
    cpu_s: float = 0.0
    p50_ns: int | None = None
    p99_ns: int | None = None
    histogram: list[tuple[int, int]] = []
    within: list[Within] = []
    onset: Measured | None = None
    remark: str = ""  # "engine-bound: 83 % of a core a worker"


class Train(msgspec.Struct, frozen=True, kw_only=True):
    """Slices of several sides in turn, by one clock.

    order      the side's number of every slice that was measured, in that order.
    values     metric name -> the value of every slice; `lengths`: how long each took, `operations` how many it held.
    quarters   of the leading metric in each fourth of a slice, where that was asked for.
    sides      each side's slices together: operations, bytes, CPU time, latencies. `device_bytes` is None where the
               sides share a device; `device_bytes` of the train is what all leaves' counters moved.
    seconds    wall time, switches included; `waited_s` of the workers' time they waited for a CPU.
    """

    seconds: float
    slice_s: float
    order: list[int]
    values: dict[str, list[float]]
    sides: list[Measured]
    lengths: list[float]
    operations: list[int]
    quarters: list[list[float]] = []
    device_bytes: int | None = None
    waited_s: float = 0.0

    def together(self) -> Measured:
        """All sides as one block: what the guards compare with the host's counters."""
        pairs: dict[int, int] = {}
        for side in self.sides:
            for bound, count in side.histogram:
                pairs[bound] = pairs.get(bound, 0) + count
        return Measured(
            seconds=self.seconds,
            values={},
            operations=sum(side.operations for side in self.sides),
            bytes=sum(side.bytes for side in self.sides),
            device_bytes=self.device_bytes,
            cpu_s=sum(side.cpu_s for side in self.sides),
            histogram=sorted(pairs.items()),
        )
