"""Trains measured one after the other, as one: what adds up does, rates weigh by their time."""

from __future__ import annotations

from probes.engine.measured import Measured, MeasuredBatch, join_batches


def part(side: int, rate: float, seconds: float, device: int | None) -> MeasuredBatch:
    count = round(rate * seconds)
    own = Measured(
        seconds=seconds, values={"IOPS": rate}, operations=count, bytes=count * 4096, cpu_s=0.1,
        histogram=[(1000, count)],
    )  # fmt: skip
    idle = Measured(seconds=0.0, values={})
    return MeasuredBatch(
        seconds=seconds + 0.1, slice_s=0.5, order=[side], values={"IOPS": [rate]}, lengths=[seconds],
        operations=[count], sides=[own, idle] if side == 0 else [idle, own], device_bytes=device, waited_s=0.01,
    )  # fmt: skip


def test_slices_stand_in_their_order_and_sides_add_up() -> None:
    whole = join_batches(
        [part(0, 100, 0.5, 7), part(1, 50, 0.5, 5), part(1, 60, 0.5, 5), part(0, 200, 1.5, 3)]
    )
    assert whole.order == [0, 1, 1, 0] and whole.values == {"IOPS": [100, 50, 60, 200]}
    assert whole.lengths == [0.5, 0.5, 0.5, 1.5] and whole.operations == [50, 25, 30, 300]
    first, second = whole.sides
    assert (first.operations, first.seconds, first.values) == (350, 2.0, {"IOPS": 175.0})
    assert second.histogram == [(1000, 55)] and second.bytes == 55 * 4096
    assert whole.device_bytes == 20 and round(whole.seconds, 6) == 3.4
    together = whole.as_one_block()
    assert together.operations == 405 and together.histogram == [(1000, 405)] and together.values == {}


def test_what_a_device_moved_is_unknown_where_one_part_does_not_know() -> None:
    assert join_batches([part(0, 100, 0.5, 7), part(1, 50, 0.5, None)]).device_bytes is None
