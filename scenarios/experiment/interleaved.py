"""One load on several variants in blocks, until it is decided: a campaign of one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from scenarios import events as ev
from scenarios.experiment.budget import Budget
from scenarios.experiment.groups import Pair
from scenarios.experiment.load_schedule import ScheduledLoad, campaign
from scenarios.experiment.schedule.blocks import Arm, Blocks
from scenarios.guards.watch import Watch
from scenarios.model import Run
from scenarios.plan import Workload


class Comparison(NamedTuple):
    """What came out: the verdicts, and the blocks that count (no warm-up, no disturbed group; onsets apart)."""

    verdicts: list[ev.Verdict]
    blocks: list[ev.Block]


async def compare(
    run: Run,
    workload: Workload,
    arms: Sequence[Arm],
    *,
    budget_s: float,
    family: int,
    watch: Watch | None = None,
    pairs: Sequence[Pair] | None = None,
    scope: str = "",
) -> Comparison:
    """Measures and judges; every judged metric of every pair gets its verdict, as an event and in the result.

    budget_s  wall seconds of measuring for this workload, warm-up and switching included.
    family, pairs, scope  as of `Experiment`.
    """
    blocks = Blocks(run, workload, arms, watch)
    verdicts: list[ev.Verdict] = []
    one = ScheduledLoad(blocks, lambda experiment: verdicts.extend(experiment.verdicts))
    budget = Budget(budget_s, run.clock)
    await campaign(run, budget, [one], family=family, pairs=pairs, scope=scope, steps=False)
    return Comparison(verdicts, blocks.blocks.counted(workload.id))
