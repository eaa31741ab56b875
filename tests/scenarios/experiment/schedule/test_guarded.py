"""Which blocks count: no warm-up, none that was disturbed, none of a group that was."""

from __future__ import annotations

from probes.engine.measured import Measured
from scenarios.contract import events as ev
from scenarios.contract.disturbance import Disturbance, InterferenceCulprit
from scenarios.experiment.schedule.guarded import GuardedBlocks, metric_values
from tests.fakes.run import FakeRun
from tests.fakes.watch import FakeWatch


async def measure(blocks: GuardedBlocks, group: int, value: float, phase: ev.Phase = "steady") -> str:
    async def block() -> Measured:
        onset = Measured(seconds=0.1, values={"IOPS": 10 * value})
        return Measured(seconds=0.5, values={"IOPS": value}, onset=onset)

    _, disturbed = await blocks.measure("reads", "A", block, group=group, phase=phase)
    return disturbed


async def test_what_counts_and_what_is_recorded() -> None:
    run = FakeRun()
    blocks = GuardedBlocks(run)
    await measure(blocks, -1, 1.0, "warmup")
    await measure(blocks, 0, 10.0)
    await measure(blocks, 1, 2.0)
    await measure(blocks, 2, 12.0)
    blocks.leave_out("reads", 1)
    blocks.leave_out("writes", 2)
    counted = blocks.counted_blocks("reads")
    assert metric_values(counted, "A", "IOPS") == [10.0, 12.0]
    assert metric_values(counted, "A", "IOPS", "onset") == [100.0, 120.0]
    assert metric_values(counted, "B", "IOPS") == [] and blocks.counted_blocks("writes") == []
    steady = [b for b in run.of(ev.Block) if b.phase != "onset"]
    assert [(b.phase, b.group, b.index) for b in steady] == [
        ("warmup", -1, 0), ("steady", 0, 1), ("steady", 1, 2), ("steady", 2, 3),
    ]  # fmt: skip


async def test_a_disturbed_block_is_said_recorded_and_does_not_count() -> None:
    run = FakeRun()
    foreign = Disturbance("cpu", InterferenceCulprit(name="make"))
    watch = FakeWatch(run, lambda number: foreign if number == 1 else None)
    blocks = GuardedBlocks(run, watch)
    assert await measure(blocks, 0, 1.0) is None
    assert await measure(blocks, 1, 2.0) == foreign
    assert await measure(blocks, 2, 3.0) is None
    assert metric_values(blocks.counted_blocks("reads"), "A", "IOPS") == [1.0, 3.0]
    [said] = run.of(ev.Guard)
    assert said.disturbance == foreign and said.group == 1
    assert [b.disturbed for b in run.of(ev.Block) if b.phase == "steady"] == [(), (foreign,), ()]
