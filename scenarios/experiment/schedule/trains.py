"""Slice batches: measured window by window, and from slices back to groups and events."""

from __future__ import annotations

from collections.abc import Sequence

from probes.engine.batch_source import BatchSource
from probes.engine.histogram import coarser_buckets
from probes.engine.measured import Measured, MeasuredBatch, join_batches
from scenarios.contract import events as ev
from scenarios.contract.disturbance import Disturbance
from scenarios.contract.plan import Workload
from scenarios.experiment.groups import GroupBlocks
from scenarios.experiment.levels import Pair
from scenarios.experiment.schedule.slices import WarmUpSlice


async def measure_in_blocks(
    trains: BatchSource[object], order: Sequence[int], block_s: float, places: Sequence[int] = ()
) -> MeasuredBatch:
    """Measure each window by itself, and wait for requests and unwritten data of one variant before the next begins."""
    parts: list[MeasuredBatch] = []
    before = None
    for at, side in enumerate(order):
        if side != before:
            await trains.wait_until_idle()
        parts.append(await trains.measure_batch([side], block_s, places=places[at : at + 1]))
        if not parts[-1].order:  # it took far too long: no complete group can follow
            break
        before = side
    return join_batches(parts)


def batch_groups(
    train: MeasuredBatch, variants: Sequence[str], first: int, places: Sequence[int] = (), loud: bool = False
) -> list[GroupBlocks]:
    """Return the complete groups of a batch, numbered from `first`: two slices of every variant each.

    `places`: the pair of file sets of each group. `loud`: see `GroupBlocks`.
    """
    size = 2 * len(variants)
    groups = []
    for number, at in enumerate(range(0, len(train.order) - size + 1, size)):
        order = train.order[at : at + size]
        place = places[number] if places else None
        group = GroupBlocks(first + number, [variants[n] for n in order], place, loud)
        for place, side in enumerate(order, at):
            values = {metric: each[place] for metric, each in train.values.items()}
            group.add(variants[side], Measured(seconds=train.lengths[place], values=values))
        groups.append(group)
    return groups


def batch_as_group(train: MeasuredBatch, variants: Sequence[str], group: int) -> GroupBlocks:
    """Return the whole batch as one group, for figures that need many operations (p99)."""
    pooled = GroupBlocks(group, variants)
    for variant, side in zip(variants, train.sides, strict=True):
        pooled.add(variant, side)
    return pooled


def warm_up_slices(train: MeasuredBatch, variants: Sequence[str], onset_s: float) -> list[WarmUpSlice]:
    """Return the slices right after a switch, with the rates within them, without the first `onset_s` seconds."""
    each = zip(
        train.order, [None, *train.order], train.lengths, train.operations, train.quarters, strict=False
    )
    return [
        WarmUpSlice(variants[n], s + onset_s, count, within)
        for n, before, s, count, within in each
        if n != before
    ]


def batch_event(
    t: float,
    train: MeasuredBatch,
    workload: Workload,
    variants: Sequence[str],
    groups: Sequence[GroupBlocks],
    pairs: Sequence[Pair],
    *,
    index: int,
    phase: ev.Phase,
    disturbed: tuple[Disturbance, ...] = (),
) -> ev.SliceBatch:
    """Return the event that records a batch, with five digits of each value."""
    ratios: dict[str, list[float]] = {}
    if not disturbed and phase == "steady":
        for group in groups:
            for key, value in group.log_ratios(workload, pairs).items():
                ratios.setdefault(key, []).append(round(value, 5))
    size = 2 * len(variants)
    words = "".join(ev.SIDES[n] for n in train.order)
    sides = dict(zip(variants, train.sides, strict=True))
    return ev.SliceBatch(
        t=t,
        workload=workload.id,
        index=index,
        group=groups[0].index if groups else 0,
        seconds=round(train.seconds, 4),
        slice_s=round(train.slice_s, 5),
        variants=list(variants),
        order=" ".join(words[at : at + size] for at in range(0, len(words), size)),
        values={metric: [float(f"{v:.5g}") for v in each] for metric, each in train.values.items()},
        log_ratios=ratios,
        places=[group.place for group in groups if group.place is not None],
        phase=phase,
        operations={v: side.operations for v, side in sides.items()},
        bytes={v: side.bytes for v, side in sides.items() if side.bytes},
        device_bytes=train.device_bytes,
        cpu_s=round(sum(side.cpu_s for side in sides.values()), 4),
        waited_s=round(train.waited_s, 4),
        p50_ns={v: side.p50_ns for v, side in sides.items() if side.p50_ns is not None},
        p99_ns={v: p99 for v in sides if (p99 := batch_as_group(train, variants, 0).p99_ns(v)) is not None},
        histogram={v: coarser_buckets(side.histogram, COARSE) for v, side in sides.items() if side.histogram},
        disturbed=disturbed,
    )


COARSE = 1.08  # of a recorded bucket's bounds: its latencies are known within 4 %
