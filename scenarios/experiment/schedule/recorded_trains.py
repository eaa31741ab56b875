"""A train as its groups: what the views draw and count. A recording may come from anywhere, so nothing is presumed."""

import math
from collections.abc import Iterator

from hostdx.scenarios.contract import events as ev


def groups_in_batch(batch: ev.SliceBatch) -> list[ev.Group]:
    """Return the groups of a slice batch as single group events; without log ratios where the batch was disturbed."""
    orders: dict[int, list[str]] = {}
    for group, variant, _ in slices_in_batch(batch):
        orders.setdefault(group, []).append(variant)
    groups = []
    for number, (group, order) in enumerate(orders.items()):
        gap = "" if all(len(v) == 1 for v in order) else " "
        ratios = {key: each[number] for key, each in batch.log_ratios.items() if number < len(each)}
        groups.append(
            ev.Group(
                t=batch.t,
                workload=batch.workload,
                index=group,
                order=gap.join(order),
                log_ratios=ratios,
                disturbed=batch.disturbed,
            )
        )
    return groups


def blocks_in_batch(batch: ev.SliceBatch) -> list[ev.Block]:
    """Return one window for each group and variant: the mean of its slices. The latencies of the batch are with its
    first group.
    """
    places: dict[tuple[int, str], list[int]] = {}
    for group, variant, place in slices_in_batch(batch):
        places.setdefault((group, variant), []).append(place)
    count = len({group for group, _ in places})
    first = min((group for group, _ in places), default=0)
    blocks = []
    for (group, variant), own in places.items():
        values = {}
        for metric, each in batch.values.items():
            finite_values = [each[place] for place in own if place < len(each) and math.isfinite(each[place])]
            if finite_values:
                values[metric] = math.fsum(finite_values) / len(finite_values)
        leads = group == first
        blocks.append(
            ev.Block(
                t=max(0.0, batch.t - batch.seconds * (1 - (group - first + 1) / count)),
                workload=batch.workload,
                variant=variant,
                group=group,
                index=batch.index,
                seconds=batch.slice_s * len(own),
                values=values,
                phase=batch.phase,
                operations=batch.operations.get(variant, 0) if leads else 0,
                bytes=batch.bytes.get(variant, 0) if leads else 0,
                device_bytes=_device_bytes_of_variant(batch, variant) if leads else None,
                p50_ns=batch.p50_ns.get(variant) if leads else None,
                p99_ns=batch.p99_ns.get(variant) if leads else None,
                histogram=batch.histogram.get(variant, []) if leads else [],
                disturbed=batch.disturbed,
            )
        )
    return blocks


def slices_in_batch(batch: ev.SliceBatch) -> Iterator[tuple[int, str, int]]:
    """Yield (group, variant, position in `values`) of every slice; slices that make no sense are skipped.

    An incomplete group at the end of a batch is skipped too: the first group of the next batch has its number.
    """
    place = 0
    slices_of_group = 2 * len(batch.variants) if batch.phase == "steady" else 1
    for number, word in enumerate(batch.order.split()):
        for letter in word:
            which = ev.SIDES.find(letter)
            if 0 <= which < len(batch.variants) and len(word) >= slices_of_group:
                yield batch.group + number, batch.variants[which], place
            place += 1


def _device_bytes_of_variant(train: ev.SliceBatch, variant: str) -> int | None:
    """Return a variant's part of the bytes that the disks counted for the whole batch, by the bytes it asked for."""
    total_bytes = sum(train.bytes.values())
    if train.device_bytes is None or total_bytes <= 0:
        return train.device_bytes
    return round(train.device_bytes * train.bytes.get(variant, 0) / total_bytes)
