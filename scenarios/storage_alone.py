"""One directory alone: nothing to be interleaved with, so its level under each load, guarded all the same."""

from __future__ import annotations

from probes.bench.measured import Measured, NotApplicable, Spent
from scenarios import events as ev
from scenarios.blocks import block_events
from scenarios.guards import Watch
from scenarios.model import Run
from scenarios.plan import Workload
from scenarios.storage_arms import StorageArm

# So many blocks a load are enough for its level.
BLOCKS_AT_MOST = 24


async def measure_alone(run: Run, load: Workload, arm: StorageArm, seconds: float, watch: Watch) -> None:
    """Blocks one after another, the first a warm-up. A disturbed block is recorded and does not count."""
    ends = run.clock.now() + seconds
    await watch.settle()
    done = 0
    try:
        for index in range(BLOCKS_AT_MOST + 1):
            if watch.stopped or (index and run.clock.now() + load.block_s > ends):
                break
            await _block(run, load, arm, index, watch)
            done = index
            run.emit(
                ev.Progress(t=run.time(), step=load.id, text=load.title, seconds_left=ends - run.clock.now())
            )
    except Spent as why:  # what was measured until now holds
        run.emit(ev.Note(t=run.time(), text=f"{load.title}: ended after {done} blocks: {why}"))
    except NotApplicable as why:
        run.emit(ev.Note(t=run.time(), text=f"{load.title}: not applicable: {why}"))
    if watch.stopped:
        run.emit(ev.Note(t=run.time(), text=f"{load.title}: stopped: {watch.stopped}"))


async def _block(run: Run, load: Workload, arm: StorageArm, index: int, watch: Watch) -> Measured:
    watch.begin()
    measured = await arm.block(load.block_s)
    found = watch.end(load.id, arm.variant, measured)
    found = found or await watch.spare()
    for event in block_events(
        run.time(),
        measured,
        workload=load.id,
        variant=arm.variant,
        group=index,
        index=index,
        phase="steady" if index else "warmup",
        disturbed=found.sentence if found is not None else "",
    ):
        run.emit(event)
    if found is not None and index:
        run.emit(
            ev.Guard(
                t=run.time(),
                kind=found.kind,
                text=f"{found.text}; this block does not count",
                culprit=found.culprit,
                workload=load.id,
                group=index,
            )
        )
    return measured
