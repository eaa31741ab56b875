"""The experiment: one load on all its variants, group by group, until it is decided.

Order, unit of inference, looks, budget and guards are fixed before the first group (design: "The experiment"). What is
measured next, and how long that takes, is the scheduler's: groups of blocks, or trains of slices. It can be measured
for a while, left, and taken up again: what remains undecided gets what is left of the budget (see `campaign`).
Cancelling it propagates into what is under way, which stops its own load.
"""

import math
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

import msgspec

from hostdx.probes.engine.measured import MeasurementInvalid, VariantsUnfit, WriteBudgetSpent
from hostdx.probes.units import count_noun, plural_noun
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.disturbance import Disturbance, broken_off_reason
from hostdx.scenarios.contract.verdict.verdict import as_undecided
from hostdx.scenarios.experiment.budget import LoadPace, UndecidedLoad
from hostdx.scenarios.experiment.groups import GroupBlocks, with_value_differences
from hostdx.scenarios.experiment.judge import PairJudge, judges_for, undecided_load, with_bytes_to_decide
from hostdx.scenarios.experiment.levels import Pair
from hostdx.scenarios.experiment.order import hold_to_shared_orders
from hostdx.scenarios.experiment.scheduler import LoadScheduler, MeasuredGroups
from hostdx.scenarios.experiment.sequential import GROUPS_BEFORE_FIRST_ANALYSIS, draw_orders
from hostdx.scenarios.experiment.statistics.stats import sign_test
from hostdx.scenarios.experiment.wording import not_measured_text

Recast = Callable[[ev.RunVerdict], ev.RunVerdict]
T = TypeVar("T")

# A run that is disturbed more often than not tells of the neighbour, not of the variants. Counted from the sixth lap on
# (the fourth where blocks are long), so that one burst at the start does not end it.
MAX_DISTURBED_SHARE = 0.5
MIN_LAPS_FOR_DISTURBED = 6
# How likely stalls of one variant alone may be by chance, to be held against it: 5 %, by the exact sign test.
STALLS_BY_CHANCE = 0.05


class LoadExperiment:
    """The experiment on one load: `begin`, then `measure_for` as often as there is time, then `conclude_verdicts`.

    most_s: the most seconds that it may take, over all its turns.
    family: how many comparisons (load and pair) the whole run makes; together they err in 5 % of runs.
    pairs: (baseline, variant); without them the first variant is the baseline of all others.
    scope: "this stack" or "this disk", the subject of the verdicts.
    """

    def __init__(
        self,
        scheduler: LoadScheduler,
        *,
        most_s: float,
        family: int,
        pairs: Sequence[Pair] | None = None,
        scope: str = "",
    ) -> None:
        first, *others = scheduler.variant_names
        if not others:
            raise ValueError("an experiment needs two variants")
        self.scheduler = scheduler
        self.run, self.workload, self.watch = scheduler.run, scheduler.workload, scheduler.watch
        self.all_pairs = list(pairs) if pairs is not None else [(first, v) for v in others]
        self.pairs = scheduler.pairs = list(self.all_pairs)
        self.family, self.scope = family, scope
        self.pace = LoadPace(self.run.clock, most_s, scheduler.group_s)
        self.judges: list[PairJudge] = []
        self.verdicts: list[ev.RunVerdict] = []
        self.groups: list[GroupBlocks] = []  # that count, measured as now
        self.reason = ""  # why nothing further may be measured
        self.needs_s: float | None = None  # of a run's budget, where it was not begun
        self.spent: WriteBudgetSpent | None = None  # its write limit ended it
        self.broken_off = ""  # why nothing may be claimed
        self.not_applicable_reasons: dict[str, str] = {}  # variant -> why it is not applicable
        self.disturbed: list[Disturbance] = []
        self.measured = 0  # laps, the disturbed ones too
        self._begun = 0  # groups of them
        self._stalls: Counter[str] = Counter()  # groups in which a variant alone gave nothing

    @property
    def is_over(self) -> bool:
        """Return whether nothing more can be measured or needs to be."""
        return bool(self.reason or self.broken_off) or not (self._undecided_judges or self._must_go_on)

    @property
    def as_undecided(self) -> UndecidedLoad:
        """Return what the planner needs to share out the rest of the budget."""
        return undecided_load(self.workload.id, self._undecided_judges, self.pace)

    @property
    def least_s(self) -> float:
        """Return the seconds that must be left before it begins, as far as they are known before the warm-up."""
        return self.workload.min_groups * self.pace.group_s

    @property
    def first_look_s(self) -> float:
        """Return the seconds until the first interim analysis."""
        return max(
            (judge.comparison.looks[0] * self.pace.group_s for judge in self._undecided_judges), default=0.0
        )

    @property
    def _undecided_judges(self) -> list[PairJudge]:
        return [judge for judge in self.judges if not judge.is_decided and judge.pair in self.pairs]

    @property
    def _must_go_on(self) -> bool:
        called = any(judge.decision is not None and judge.decision.is_different for judge in self.judges)
        decided = any(judge.is_decided for judge in self.judges)
        return self.scheduler.is_premature(len(self.groups), called=called, decided=decided)

    async def look_and_warm_up(self, warm_up_s: float = math.inf) -> None:
        """Look for interference, then warm up, which shows how long a window or a slice must be."""
        with self.pace.time_running():
            if self.watch is not None:
                await self.watch.look_before_first_block()
                self.reason = self.watch.stopped
            while self.pairs and not self.reason:
                if await self._await_or_note(self.scheduler.warm_up(warm_up_s)):
                    break
        if self.watch is not None:
            self.reason = self.reason or self.watch.stopped
        self._plan_interim_analyses()
        if self.reason:
            self.leave_out(self.reason)

    def shorten_groups(self, seconds: float) -> None:
        """Shorten the groups so that the first interim analysis comes within `seconds`, where the scheduler can."""
        for _ in range(2):  # of shorter ones more fit, and the looks are planned anew
            if not self.scheduler.shorten_groups(max(0.0, seconds) / max(1e-9, self.first_look_s)):
                return
            self._plan_interim_analyses()

    def leave_out(self, why: str, needs_s: float | None = None) -> None:
        """Do not measure the load; its verdicts say why, and how many seconds of budget it would need."""
        self.needs_s = needs_s
        if not self.judges:
            self._plan_interim_analyses()
        self.reason = why
        self.run.emit_note(not_measured_text(self.workload.title, why))

    async def measure_for(self, seconds: float) -> None:
        """Measure until everything is decided or the seconds are over, but at least once where that fits."""
        until = self.run.clock.now() + seconds
        if self.watch is not None and self.watch.stopped:  # under another load: what there is may be judged
            self.reason = self.reason or self.watch.stopped
        with self.pace.time_running():
            while not self.is_over:
                left = min(until - self.run.clock.now(), self.pace.left_s)
                groups = min(self.scheduler.most_groups, int(left / self.pace.group_s + 1e-9))
                if groups < 1:
                    break
                self._emit_progress()
                await self._measure_groups(groups)

    def conclude_verdicts(self, recast: Recast | None = None) -> list[ev.RunVerdict]:
        """Emit the verdicts and return them; call it once. `recast` adds what a scenario knows of their making."""
        if not self.verdicts:
            judged = hold_to_shared_orders([self._final_verdict(judge) for judge in self.judges])
            may_recast = recast is not None and not self.broken_off
            recasted = [recast(v) if recast and may_recast and v.ratio is not None else v for v in judged]
            self.verdicts = with_value_differences(self.groups, self.workload, recasted)
            for verdict in self.verdicts:
                self.run.emit(verdict)
        return self.verdicts

    def _final_verdict(self, judge: PairJudge) -> ev.RunVerdict:
        t = self.run.elapsed_s()
        dropped_variant = next((v for v in judge.pair if v in self.not_applicable_reasons), None)
        if dropped_variant is not None and not judge.is_decided:
            verdict = judge.not_applicable_verdict(
                t, self.pace, f"{dropped_variant}: {self.not_applicable_reasons[dropped_variant]}"
            )
        elif self.broken_off:
            verdict = judge.keep_large_only_if_mostly_disturbed(
                judge.broken_off_verdict(t, self.pace, self.broken_off), self.broken_off
            )
        elif self.reason and not self.measured:
            verdict = judge.not_started_verdict(t, self.reason, self.needs_s)
        else:
            why = self.reason or judge.undecided_reason(self.pace.spent_s)
            blame = self.watch.blame_text(self.workload.id) if self.watch is not None else ""
            verdict = judge.conclude_verdict(t, self.pace, f"{why}; {blame}" if blame else why)
            verdict = self._undecide_if_one_stalled(
                self.scheduler.restrict_verdict(judge.keep_large_only_if_mostly_disturbed(verdict, blame))
            )
        return with_bytes_to_decide(verdict, self.spent)

    def _undecide_if_one_stalled(self, verdict: ev.RunVerdict) -> ev.RunVerdict:
        """Return the verdict: undecided where the variants seem equal and one alone stalled again and again."""
        here, there = self._stalls[verdict.variant], self._stalls[verdict.baseline]
        worse = verdict.variant if here >= there else verdict.baseline
        if sign_test(here, there) > STALLS_BY_CHANCE / max(1, len(self.pairs)):
            return verdict
        better = verdict.baseline if worse == verdict.variant else verdict.variant
        stalls = (
            f"{worse} stalled (no operation finished) in {max(here, there)} groups, {better} in "
            f"{min(here, there) or 'none'}; those groups are not in the ratio"
        )
        contradicted = verdict.is_equal or (
            verdict.is_faster if worse == verdict.variant else verdict.is_slower
        )
        reason = "; ".join(r for r in (stalls, verdict.reason) if r)
        return (
            as_undecided(verdict, reason) if contradicted else msgspec.structs.replace(verdict, reason=reason)
        )

    def _plan_interim_analyses(self) -> None:
        """Plan the interim analyses by the length of a group that is known now; earlier judgements no longer count."""
        self.pace.expect_group_seconds(self.scheduler.group_s)
        self.judges = judges_for(
            self.workload,
            self.all_pairs,
            family=self.family,
            margin=self.run.effect_margin,
            planned_groups=max(self.scheduler.fewest, self.pace.groups_that_fit),
            scope=self.scope,
            all_pairs=self.scheduler.places if self.scheduler.places > 1 else 0,
        )
        self._draw_next_orders()

    def _draw_next_orders(self) -> None:
        """Draw the orders of the next groups. With few groups of long windows, a batch of both orders has no more."""
        first = min(
            (judge.comparison.looks[0] for judge in self.judges), default=GROUPS_BEFORE_FIRST_ANALYSIS
        )
        self._draw = draw_orders(
            self.scheduler.variant_names, self.run.rng, min(GROUPS_BEFORE_FIRST_ANALYSIS, first)
        )

    async def _await_or_note(self, work: Awaitable[T]) -> T | None:
        """Await the work; return None where nothing could be measured, and keep the reason."""
        try:
            return await work
        except (
            WriteBudgetSpent
        ) as why:  # when it ends does not hang on how it looks: what there is may be judged
            self.reason, self.spent = str(why), why
        except MeasurementInvalid as why:
            self._drop_variants(
                why.variants if isinstance(why, VariantsUnfit) else self.scheduler.variant_names, str(why)
            )
        return None

    def _drop_variants(self, variants: Sequence[str], reason: str) -> None:
        """Go on without these variants; comparisons with them are not applicable."""
        self.not_applicable_reasons.update(dict.fromkeys(variants, reason))
        self.pairs = self.scheduler.pairs = [
            pair for pair in self.pairs if not set(pair) & set(self.not_applicable_reasons)
        ]
        needed = {variant for pair in self.pairs for variant in pair}
        if needed:
            before_s = self.scheduler.group_s
            self.scheduler.drop_variants([v for v in self.scheduler.variant_names if v not in needed])
            self._draw_next_orders()
            self.groups = []
            self.pace.expect_group_seconds(self.pace.group_s * self.scheduler.group_s / before_s)

    async def _measure_groups(self, groups: int) -> None:
        began = self.run.clock.now()
        lap = await self._await_or_note(self.scheduler.measure([next(self._draw) for _ in range(groups)]))
        if lap is None:
            return
        self.measured += 1
        self._begun += len(lap.groups)
        self._stalls.update(lap.stalled)
        if self.watch is not None:
            self.broken_off = self.watch.stopped
        if lap.groups:
            self.pace.record_groups(len(lap.groups), self.run.clock.now() - began)
        if not lap.disturbed:
            self._judge_by_groups(lap)
            return
        self.disturbed.append(lap.disturbed[0])
        enough = self.measured >= min(MIN_LAPS_FOR_DISTURBED, self.workload.min_groups)
        if enough and len(self.disturbed) > MAX_DISTURBED_SHARE * self.measured:
            why = broken_off_reason(self.disturbed, self.measured, plural_noun(self.scheduler.noun))
            self.broken_off = self.broken_off or why

    def _judge_by_groups(self, lap: MeasuredGroups) -> None:
        self.groups += lap.groups
        for judge in self._undecided_judges:
            for group in lap.groups:
                judge.add(group, self.pace)
            if estimate := judge.running_estimate(self.run.elapsed_s(), lap.pooled, self.pace):
                self.run.emit(estimate)
        if self.scheduler.begin_anew_if_needed(self.groups) or self._restart_if_orders_contradict():
            self.groups = []
            self._plan_interim_analyses()

    def _restart_if_orders_contradict(self) -> bool:
        """Return whether the load begins anew because the two orders of a pair contradict each other."""
        contradicted = any(judge.comparison.is_contradicted for judge in self._undecided_judges)
        return contradicted and self.scheduler.try_restart_with_settling(self.pace.left_s)

    def _emit_progress(self) -> None:
        left = [judge.seconds_left(self.pace) for judge in self._undecided_judges]
        known_s = [s for s in left if s is not None]
        again = (
            f", {count_noun(len(self.disturbed), self.scheduler.noun)} measured again"
            if self.disturbed
            else ""
        )
        text = f"{self.workload.title}: {count_noun(self._begun, 'group')}{again}"
        self.run.emit_progress(
            self.workload.id, text, min(max(known_s), self.pace.left_s) if known_s else None
        )
