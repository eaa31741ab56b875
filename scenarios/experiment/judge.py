"""One comparison of an experiment, from its groups to the estimate and verdict events."""

import math
from collections.abc import Sequence

import msgspec

from hostdx.probes.engine.measured import WriteBudgetSpent
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.plan import Metric, Workload
from hostdx.scenarios.contract.verdict.verdict import (
    MIN_UNITS_FOR_SMALL_EFFECTS,
    OPEN,
    GroupVerdict,
    as_not_applicable,
    as_not_measured,
    as_undecided,
    estimate_of_ratio,
    with_figures,
    word_that_still_holds,
)
from hostdx.scenarios.experiment.budget import LoadPace, UndecidedLoad
from hostdx.scenarios.experiment.groups import GroupBlocks
from hostdx.scenarios.experiment.levels import Pair
from hostdx.scenarios.experiment.order import baseline_first
from hostdx.scenarios.experiment.sequential import SequentialComparison
from hostdx.scenarios.experiment.statistics.drift import drifting_variants
from hostdx.scenarios.experiment.wording import drift_text


class PairJudge:
    """Judges one metric of one pair. A decision at an interim analysis is final: later groups do not count."""

    def __init__(
        self,
        workload: Workload,
        metric: Metric,
        pair: Pair,
        *,
        family: int,
        margin: float,
        planned_groups: int,
        scope: str = "",
        all_pairs: int = 0,
    ) -> None:
        self.workload = workload
        self.metric = metric
        self.pair = pair
        self.scope = scope
        self.sides: tuple[list[float], list[float]] = ([], [])  # each group's mean, baseline and variant
        self.comparison = SequentialComparison(
            baseline=pair[0],
            variant=pair[1],
            metric=metric.name,
            better=metric.better,
            margin=margin,
            family=family,
            min_groups=workload.min_groups,
            planned_groups=planned_groups,
            all_pairs=all_pairs,
        )
        self.decision: GroupVerdict | None = None
        self.seconds = 0.0
        self.loud = 0  # groups of those that count

    @property
    def is_decided(self) -> bool:
        return self.decision is not None

    def add(self, group: GroupBlocks, pace: LoadPace) -> None:
        """Add one undisturbed group, and decide if an interim analysis is due."""
        value = group.value(self.metric, self.pair)
        if self.is_decided or value is None:
            return
        self.comparison.add(*value, place=group.place, baseline_first=baseline_first(group.order, *self.pair))
        self.loud += group.loud
        for side, variant in zip(self.sides, self.pair, strict=True):
            values = group.values(variant, self.metric)
            side.append(math.fsum(values) / len(values))
        self._keep_decision_and_seconds(self.comparison.verdict_if_due(pace.group_s), pace)

    def seconds_left(self, pace: LoadPace) -> float | None:
        """Return about how many seconds are needed to decide; None before the first three groups."""
        return 0.0 if self.is_decided else self.comparison.seconds_left(pace.group_s)

    def running_estimate(self, t: float, group: GroupBlocks, pace: LoadPace) -> ev.RunningEstimate | None:
        """Return the running estimate after a group; None with too few groups, or once it is decided."""
        now = None if self.is_decided else self.comparison.interim_estimate()
        if now is None:
            return None
        left = self.seconds_left(pace)
        base, other = (group.p99_ns(variant) for variant in self.pair)
        return ev.RunningEstimate(
            t=t,
            workload=self.workload.id,
            metric=self.metric.name,
            baseline=self.pair[0],
            variant=self.pair[1],
            groups=now.groups,
            ratio=now.ratio,
            ci95=now.ci95,
            seconds_left=None if left is None else min(left, pace.left_s),
            planned_groups=self.comparison.planned_groups,
            next_look=self.comparison.next_analysis_groups,
            p99_ns=None if base is None or other is None else (base, other),
        )

    def undecided_reason(self, spent_s: float) -> str:
        """Return why the time was not enough: without an interval nothing was judged."""
        groups = len(self.comparison.log_ratios)
        if self.is_decided or self.comparison.interim_estimate() is not None:
            return f"not decided within {spent_s:.0f} s"
        return f"{groups} undisturbed group{'' if groups == 1 else 's'} within {spent_s:.0f} s: too few"

    def conclude_verdict(self, t: float, pace: LoadPace, why_ended: str) -> ev.RunVerdict:
        """Return the verdict at the end. Where no interim analysis decided, the rest of alpha is spent here.

        Where one variant drifts on its own the effect depends on how long it was measured, so no effect is given.
        """
        if drifting := drifting_variants(*self.sides, self.pair):
            drift = {d.variant: (d.first, d.last) for d in drifting}
            text = drift_text(drifting, self.metric.unit)
            return as_not_applicable(self._verdict_event(t, pace.spent_s, drift=drift), text)
        if not self.is_decided:
            self._keep_decision_and_seconds(self.comparison.final_verdict(pace.group_s), pace)
        decision = self.decision
        reason = decision.reason if decision else why_ended
        if decision is not None and decision.is_undecided:
            # without an interval it says no more than why it ended does
            own = "" if why_ended and decision.ratio is None else decision.reason
            reason = "; ".join(r for r in (why_ended, own) if r)
        return msgspec.structs.replace(self._verdict_event(t, self.seconds, decision), reason=reason or None)

    def keep_large_only_if_mostly_disturbed(self, verdict: ev.RunVerdict, blame: str) -> ev.RunVerdict:
        """Return the verdict by the stricter rule for few groups, where most groups were disturbed: only a large
        difference stands.
        """
        groups = len(self.comparison.log_ratios)
        if (
            2 * self.loud <= groups
            or not verdict.is_different
            or verdict.ratio is None
            or verdict.ci95 is None
        ):
            return verdict
        few = estimate_of_ratio(verdict.ratio, verdict.ci95, verdict.margin)._replace(
            least=MIN_UNITS_FOR_SMALL_EFFECTS
        )
        if word_that_still_holds(verdict.verdict, few) == verdict.verdict:
            return verdict
        text = f"{self.loud} of {groups} groups were disturbed: only a large difference is called then"
        reason = "; ".join(r for r in (text, blame, verdict.reason) if r)
        return as_undecided(verdict, reason)

    def broken_off_verdict(self, t: float, pace: LoadPace, reason: str) -> ev.RunVerdict:
        """Return an undecided verdict with its figures, because too much was disturbed. A decision of an earlier
        interim analysis stands.
        """
        if self.is_decided:
            return self.conclude_verdict(t, pace, "")
        self._keep_decision_and_seconds(self.comparison.final_verdict(pace.group_s), pace)
        decision = self.decision
        if decision is None or decision.ratio is None:
            return as_undecided(self._verdict_event(t, pace.spent_s), reason)
        return as_undecided(self._verdict_event(t, self.seconds, decision), reason)

    def not_applicable_verdict(self, t: float, pace: LoadPace, reason: str) -> ev.RunVerdict:
        return as_not_applicable(self._verdict_event(t, pace.spent_s), reason)

    def not_started_verdict(self, t: float, reason: str, needs_s: float | None = None) -> ev.RunVerdict:
        return msgspec.structs.replace(
            as_not_measured(self._verdict_event(t), reason), seconds_to_decide=needs_s
        )

    def _keep_decision_and_seconds(self, decision: GroupVerdict | None, pace: LoadPace) -> None:
        if decision is not None:
            self.decision = decision
            self.seconds = pace.spent_s

    def _verdict_event(
        self,
        t: float,
        seconds: float = 0.0,
        decision: GroupVerdict | None = None,
        drift: dict[str, tuple[float, float]] | None = None,
    ) -> ev.RunVerdict:
        event = ev.RunVerdict(
            t=t,
            workload=self.workload.id,
            metric=self.metric.name,
            baseline=self.pair[0],
            variant=self.pair[1],
            verdict=OPEN,
            delta_unit=self.metric.unit,
            groups=len(self.comparison.log_ratios) if drift else 0,
            drift=drift or {},
            alpha=self.comparison.alpha_share,
            seconds=round(seconds, 3),
            control=self.workload.control or self.pair[1] in self.workload.controls,
            one_file_system=self.workload.one_file_system,
            margin=self.comparison.margin,
            scope=self.scope,
        )
        return event if decision is None else with_figures(event, decision)


def with_bytes_to_decide(verdict: ev.RunVerdict, spent: WriteBudgetSpent | None) -> ev.RunVerdict:
    """Return the verdict with the bytes that a whole run would write to decide it, where the write limit ended it."""
    if spent is None or not spent.most_bytes or not (verdict.is_undecided or verdict.is_not_measured):
        return verdict
    more = float(spent.lacking_bytes)
    if verdict.is_undecided:
        if verdict.seconds_to_decide is None or not verdict.seconds:
            return verdict
        more = max(more, spent.load_bytes * verdict.seconds_to_decide / verdict.seconds)
    return msgspec.structs.replace(verdict, bytes_to_decide=int(spent.most_bytes + more / spent.share))


def judges_for(
    workload: Workload,
    pairs: Sequence[Pair],
    *,
    family: int,
    margin: float,
    planned_groups: int,
    scope: str,
    all_pairs: int = 0,
) -> list[PairJudge]:
    """Return one judge for each judged metric of each pair. The metrics of a load share its part of the family's
        error.

    `all_pairs`: how many pairs of file sets there are; 0 where the variants have none of their own.
    """
    judged = [metric for metric in workload.metrics if metric.judged]
    return [
        PairJudge(
            workload,
            metric,
            pair,
            family=family * len(judged),
            margin=margin,
            planned_groups=planned_groups,
            scope=scope,
            all_pairs=all_pairs,
        )
        for pair in pairs
        for metric in judged
    ]


def undecided_load(load: str, judges: Sequence[PairJudge], pace: LoadPace) -> UndecidedLoad:
    """Return what the planner needs to know about a load whose `judges` have not decided."""
    widths, next_s = [0.0], [pace.group_s]
    decides_s: list[float | None] = [0.0]
    for judge in judges:
        now = judge.comparison.current_spread()
        widths.append(math.inf if now is None else now.half_width)
        done = len(judge.comparison.log_ratios)
        next_s.append((max(judge.comparison.next_analysis_groups, done + 1) - done) * pace.group_s)
        decides_s.append(judge.seconds_left(pace))
    known_s = [s for s in decides_s if s is not None]
    return UndecidedLoad(
        load, max(widths), max(next_s), max(known_s) if len(known_s) == len(decides_s) else None
    )
