"""One directory alone: nothing to be interleaved with, so its level under each load, guarded all the same."""

from probes.engine.measured import Measured, NotApplicable, WriteBudgetSpent
from scenarios.contract.model import Run
from scenarios.contract.plan import Workload
from scenarios.experiment.files.variant_bench import StorageVariantBench
from scenarios.experiment.schedule.guarded import GuardedBlocks
from scenarios.storage.throttling.detection import BlockCompletions

# So many blocks a load are enough for its level.
BLOCKS_AT_MOST = 24


async def measure_alone(
    run: Run,
    load: Workload,
    bench: StorageVariantBench,
    seconds: float,
    blocks: GuardedBlocks,
    courses: list[BlockCompletions],
) -> str:
    """Blocks one after another, the first a warm-up; `blocks` keeps those that count, `courses` gets how all went.

    Returns why it ended early, or "".
    """
    ends = run.clock.now() + seconds
    if blocks.watch is not None:
        await blocks.watch.look_before_first_block()
    done = 0

    async def measure_block() -> Measured:
        measured = await bench.measure_block(load.block_s)
        began_s = run.clock.now() - measured.seconds
        courses.append(
            BlockCompletions(began_s=began_s, seconds=measured.seconds, completions=measured.completions)
        )
        return measured

    try:
        for index in range(BLOCKS_AT_MOST + 1):
            if blocks.stop_reason or (index and run.clock.now() + load.block_s > ends):
                break
            await blocks.measure(
                load.id,
                bench.variant,
                measure_block,
                group=index,
                phase="steady" if index else "warmup",
            )
            await blocks.spare_others(load.id, index)
            done = index
            # a block ends a little late
            run.emit_progress(load.id, load.title, max(0.0, ends - run.clock.now()))
    except WriteBudgetSpent as why:  # what was measured until now holds
        return f"ended after {done} blocks: {why}"
    except NotApplicable as why:
        return f"not applicable: {why}"
    return f"stopped: {blocks.stop_reason}" if blocks.stop_reason else ""
