"""What one block of a measurement gives: the same for storage, CPU, network and the user's own command."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import msgspec
from msgspec.structs import replace

SomeNumber = TypeVar("SomeNumber", int, float)


class BenchRefused(Exception):
    """An error that says why a bench cannot measure here. One line: what, where, why, what next."""


class MeasurementInvalid(Exception):
    """An error that says why a measurement is not what it claims to be (served by a cache, variant
    not active). One line.
    """


class WriteBudgetSpent(MeasurementInvalid):
    """An error that says that the next window does not fit into what this run may still write; earlier ones hold.

    Of `most_bytes` that the run may write (0: not known) this load wrote `load_bytes`; it gets `share` of what is left
    when it begins. The refused window needs `lacking_bytes` more than there are.
    """

    def __init__(
        self,
        reason: str,
        most_bytes: int = 0,
        load_bytes: int = 0,
        lacking_bytes: int = 0,
        share: float = 1.0,
    ) -> None:
        super().__init__(reason)
        self.most_bytes, self.share = most_bytes, share
        self.load_bytes, self.lacking_bytes = load_bytes, lacking_bytes


class VariantsUnfit(MeasurementInvalid):
    """An error that says which variants cannot be measured; the others may go on without them."""

    def __init__(self, variants: Sequence[str], reason: str) -> None:
        super().__init__(reason)
        self.variants = tuple(variants)


class ValueInWindow(msgspec.Struct, frozen=True):
    """A value within the window, `offset_s` seconds after its start."""

    offset_s: float
    series: str
    value: float
    unit: str


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """One window. `values` maps metric names to the window's value; `histogram` holds [upper bound ns, count] pairs.

    `cpu_s` is our own CPU time; `device_bytes` is what the disks' counters moved. Where the window
    has an onset, `onset` holds it apart, and `values` are of the rest. `completions` counts the
    operations that finished in each 2 ms since the start, those of the onset too.
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
    within: list[ValueInWindow] = []
    onset: Measured | None = None
    completions: list[int] = []
    remark: str = ""  # "engine-bound: 83 % of a core a worker"


class MeasuredBatch(msgspec.Struct, frozen=True, kw_only=True):
    """Slices of several sides in turn, by one clock.

    order      the side's number of every slice that was measured, in that order.
    values     metric name -> the value of every slice; `lengths`: how long each took, `operations` how many it held.
    quarters   of the leading metric in each fourth of a slice, where that was asked for.
    sides      each side's slices together: operations, bytes, CPU time, latencies. `device_bytes` is None where the
               sides share a device; `device_bytes` of the train is what all leaves' counters moved.
    begins     of every slice, in seconds by one clock for all trains; `completions`: operations in each 2 ms of it,
               with those that do not count elsewhere.
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
    begins: list[float] = []
    completions: list[list[int]] = []

    def as_one_block(self) -> Measured:
        """Return the slices of all variants as one block, which the guards compare with the host's counters."""
        return replace(
            _pool_windows(self.sides), seconds=self.seconds, values={}, device_bytes=self.device_bytes
        )


def join_batches(parts: Sequence[MeasuredBatch]) -> MeasuredBatch:
    """Return slice batches measured one after another as one batch; at least one, all of the same variants."""
    return MeasuredBatch(
        seconds=sum(part.seconds for part in parts),
        slice_s=parts[0].slice_s,
        order=[side for part in parts for side in part.order],
        values={name: [v for part in parts for v in part.values.get(name, [])] for name in parts[0].values},
        sides=[_pool_windows(side) for side in zip(*(part.sides for part in parts), strict=True)],
        lengths=[s for part in parts for s in part.lengths],
        operations=[n for part in parts for n in part.operations],
        device_bytes=sum_if_all_known([part.device_bytes for part in parts]),
        waited_s=sum(part.waited_s for part in parts),
        begins=[begin for part in parts for begin in part.begins],
        completions=[steps for part in parts for steps in part.completions],
    )


def _pool_windows(parts: Sequence[Measured]) -> Measured:
    """Return the windows as one: rates are weighted by their seconds, latencies are pooled, percentiles are not."""
    counts: dict[int, int] = {}
    for part in parts:
        for bound, count in part.histogram:
            counts[bound] = counts.get(bound, 0) + count
    seconds = sum(part.seconds for part in parts)
    values = {
        name: sum(p.values[name] * p.seconds for p in parts if name in p.values) / seconds
        for name in dict.fromkeys(name for part in parts for name in part.values)
        if seconds > 0
    }
    return Measured(
        seconds=seconds,
        values=values,
        operations=sum(part.operations for part in parts),
        bytes=sum(part.bytes for part in parts),
        device_bytes=sum_if_all_known([part.device_bytes for part in parts]),
        cpu_s=sum(part.cpu_s for part in parts),
        histogram=sorted(counts.items()),
    )


def sum_if_all_known(values: Sequence[SomeNumber | None]) -> SomeNumber | int | None:
    """Return the sum, or None where one of them is not known."""
    known_values = [value for value in values if value is not None]
    return sum(known_values) if len(known_values) == len(values) else None


# Did a read come from the device, or from a cache on the way?
MIN_DEVICE_SHARE = 0.95


def served_by_cache_reason(measured: Measured) -> str:
    """For a block of a read load: why its bytes did not come from the device, or "".

    Without counters (`device_bytes` None) nothing is checked. More than was read is no cause: others read too.
    """
    if measured.device_bytes is None or measured.bytes <= 0:
        return ""
    share = measured.device_bytes / measured.bytes
    if share >= MIN_DEVICE_SHARE:
        return ""
    return f"served by a cache: {100 * share:.0f} % of the bytes read came from the device"
