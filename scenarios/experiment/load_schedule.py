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

    def begin_experiment(scheduler: LoadScheduler, most_s: float) -> LoadExperiment:
        return LoadExperiment(scheduler, most_s=most_s, family=family, pairs=pairs, scope=scope)

    sequence = _LoadSequence(run, budget, begin_experiment, steps=steps)
    for number in range(len(entries)):
        await sequence.measure_first(entries[number:])
        if len(entries) > 1:  # judged first: a side that does not come to rest takes no verdict away
            await entries[number].scheduler.pause_workers()
    await sequence.measure_undecided()


class _LoadSequence:
    """The loads of a run one after another; `_open` are those that are measured and not decided."""

    def __init__(
        self,
        run: Run,
        budget: TimeBudget,
        begin_experiment: Callable[[LoadScheduler, float], LoadExperiment],
        *,
        steps: bool,
    ) -> None:
        self._run, self._budget, self._steps = run, budget, steps
        self._begin_experiment = begin_experiment
        self._open: list[tuple[ScheduledLoad, LoadExperiment]] = []

    async def measure_first(self, waiting: Sequence[ScheduledLoad]) -> None:
        """Measure the first of them with its share of the time; the others are still to come."""
        entry, budget = waiting[0], self._budget
        controls_s = CONTROL_S * sum(other.scheduler.workload.control for other in waiting[1:])
        free = max(0.0, budget.left_s - controls_s)
        self._emit_step(entry, "started")
        began_s, share_s, left_s = budget.left_s, free / len(waiting), free
        experiment = self._begin_experiment(entry.scheduler, free)
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
            self._conclude_load(entry, experiment)
        else:
            self._open.append((entry, experiment))

    async def measure_undecided(self) -> None:
        """Measure those that are open again, then judge what is left of them."""
        while self._open:
            undecided = [experiment.as_undecided for _, experiment in self._open]
            chosen = next_undecided(self._budget.left_s, undecided)
            if chosen is None:
                break
            entry, experiment = next(both for both in self._open if both[1].workload.id == chosen.load)
            before = experiment.measured
            await experiment.measure_for(min(chosen.next_s * 1.001 + 0.01, self._budget.left_s))
            if experiment.is_over or experiment.measured == before:
                self._open.remove((entry, experiment))
                self._conclude_load(entry, experiment)
            if self._open:
                await entry.scheduler.pause_workers()
        for entry, experiment in self._open:
            self._conclude_load(entry, experiment)

    def _emit_step(self, entry: ScheduledLoad, state: ev.StepState, reason: str = "") -> None:
        load = entry.scheduler.workload
        if self._steps:
            self._run.emit(
                ev.RunStep(t=self._run.elapsed_s(), id=load.id, title=load.title, state=state, reason=reason)
            )

    def _conclude_load(self, entry: ScheduledLoad, experiment: LoadExperiment) -> None:
        verdicts = experiment.conclude_verdicts(recast=entry.recast)
        nothing = bool(verdicts) and all(v.groups == 0 for v in verdicts)
        state: ev.StepState = "skipped" if nothing else "done"
        reason = next((v.reason for v in verdicts if v.reason), "") if nothing else ""
        self._emit_step(entry, state, reason)
        entry.done(experiment)


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
