"""All loads of a run: each gets its share of the budget; what remains undecided gets what is left."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.model import Run
from hostdx.scenarios.contract.plan import Workload
from hostdx.scenarios.experiment.budget import TimeBudget, next_undecided
from hostdx.scenarios.experiment.experiment import LoadExperiment, Recast
from hostdx.scenarios.experiment.guards.watch import InterferenceWatch
from hostdx.scenarios.experiment.levels import Pair
from hostdx.scenarios.experiment.schedule.blocks import BlockScheduler, VariantBench
from hostdx.scenarios.experiment.scheduler import LoadScheduler

BEGUN_WITH_S = 1.0
CONTROL_S = 3.0  # kept for each control that still waits: it must be measured whatever the others take
MIN_LOAD_S = 4.0  # of a load's budget: the warm-up and a first look on a usual disk
WARM_UP_PART = 0.25  # of a load's share of the budget, at most
MAY_BE_LEFT_OUT = (
    "loads are measured in this order; a load that runs out of time before its first check is reported as "
    "not measured (raise --budget)"
)
SPARE = 1.2  # of the seconds until a first look: some trains are measured again


class ScheduledLoad(NamedTuple):
    """One load of a run. `done` is called once, when its verdicts are given."""

    scheduler: LoadScheduler
    done: Callable[[LoadExperiment], None]
    recast: Recast | None = None  # of a verdict, what else is known of how it came about


async def measure_loads(
    run: Run,
    budget: TimeBudget,
    entries: Sequence[ScheduledLoad],
    *,
    family: int,
    pairs: Sequence[Pair] | None = None,
    scope: str = "",
    steps: bool = True,
) -> None:
    """Measure and judge the loads. `family`, `pairs` and `scope` are as in `LoadExperiment`; `steps`: whether each
    load is a step of the plan.

    All loads are measured in their order, then those that are undecided again, the widest interval first, until
    everything is decided or the budget is used. If the run is stopped, the events until then are kept and no verdict is
    given.
    """
    open_entries: list[tuple[ScheduledLoad, LoadExperiment]] = []

    def emit_step(entry: ScheduledLoad, state: ev.StepState, reason: str = "") -> None:
        load = entry.scheduler.workload
        if steps:
            run.emit(ev.RunStep(t=run.elapsed_s(), id=load.id, title=load.title, state=state, reason=reason))

    def finish_load(entry: ScheduledLoad, experiment: LoadExperiment) -> None:
        verdicts = experiment.conclude_verdicts(recast=entry.recast)
        nothing = bool(verdicts) and all(v.groups == 0 for v in verdicts)
        state: ev.StepState = "skipped" if nothing else "done"
        reason = next((v.reason for v in verdicts if v.reason), "") if nothing else ""
        emit_step(entry, state, reason)
        entry.done(experiment)

    for number, entry in enumerate(entries):
        waiting = entries[number:]
        controls_s = CONTROL_S * sum(other.scheduler.workload.control for other in waiting[1:])
        free = max(0.0, budget.left_s - controls_s)
        emit_step(entry, "started")
        began_s, share_s, left_s = budget.left_s, free / len(waiting), free
        experiment = LoadExperiment(entry.scheduler, most_s=free, family=family, pairs=pairs, scope=scope)
        need_s = max(BEGUN_WITH_S, experiment.least_s)
        if need_s <= free:
            await experiment.look_and_warm_up(share_s * WARM_UP_PART)
            left_s = budget.left_s - controls_s
            share_s -= began_s - budget.left_s
            experiment.shorten_groups(share_s / SPARE)
            need_s = experiment.first_look_s
        if need_s > left_s and not experiment.reason:
            experiment.leave_out(
                f"its first interim look needs {need_s:.0f} s, and {max(0.0, left_s):.0f} s of the budget were left "
                "(raise --budget)",
                budget.total_s - left_s + need_s,
            )
        await experiment.measure_for(min(max(share_s, SPARE * need_s), left_s))
        if experiment.is_over:
            finish_load(entry, experiment)
        else:
            open_entries.append((entry, experiment))
        if len(entries) > 1:  # judged first: a side that does not come to rest takes no verdict away
            await entry.scheduler.pause_workers()
    while open_entries:
        chosen = next_undecided(budget.left_s, [experiment.as_undecided for _, experiment in open_entries])
        if chosen is None:
            break
        entry, experiment = next(both for both in open_entries if both[1].workload.id == chosen.load)
        before = experiment.measured
        await experiment.measure_for(min(chosen.next_s * 1.001 + 0.01, budget.left_s))
        if experiment.is_over or experiment.measured == before:
            open_entries.remove((entry, experiment))
            finish_load(entry, experiment)
        if open_entries:
            await entry.scheduler.pause_workers()
    for entry, experiment in open_entries:
        finish_load(entry, experiment)


class MeasuredLoad(NamedTuple):
    """The verdicts of a load, and the windows that count: without warm-up, onsets and disturbed groups."""

    verdicts: list[ev.RunVerdict]
    blocks: list[ev.Block]


async def measure_workload(
    run: Run,
    workload: Workload,
    benches: Sequence[VariantBench],
    *,
    budget_s: float,
    family: int,
    watch: InterferenceWatch | None = None,
    pairs: Sequence[Pair] | None = None,
    scope: str = "",
    longer_settle: Callable[[], float] = lambda: 0.0,
) -> MeasuredLoad:
    """Measure and judge one load; every judged metric of every pair gets its verdict, as an event and in the result.

    budget_s: seconds of measuring for this load, warm-up and switching included.
    family, pairs, scope: as in `LoadExperiment`. longer_settle: as in `BlockScheduler`.
    """
    blocks = BlockScheduler(run, workload, benches, watch, longer_settle)
    verdicts: list[ev.RunVerdict] = []
    load = ScheduledLoad(blocks, lambda experiment: verdicts.extend(experiment.verdicts))
    budget = TimeBudget(budget_s, run.clock)
    await measure_loads(run, budget, [load], family=family, pairs=pairs, scope=scope, steps=False)
    return MeasuredLoad(verdicts, blocks.blocks.counted_blocks(workload.id))
