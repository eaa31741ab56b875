"""One comparison of an experiment, from its groups to the estimate and verdict events."""

import math
from collections.abc import Sequence

import msgspec

from probes.bench.measured import WriteBudgetSpent
from scenarios import events as ev
from scenarios.experiment.budget import Pace, Undecided
from scenarios.experiment.groups import GroupBlocks, Pair
from scenarios.experiment.order import baseline_first
from scenarios.experiment.sequential import Comparison
from scenarios.experiment.statistics.drift import drifts
from scenarios.experiment.statistics.stats import Spread
from scenarios.experiment.wording import drift_text
from scenarios.plan import Metric, Workload
from scenarios.verdict.verdict import (
    LARGE_ONLY_BELOW,
    OPEN,
    GroupVerdict,
    not_applicable,
    not_measured,
    of_ratio,
    still,
    with_figures,
    withdrawn,
)


class Judge:
    """A judged metric of a pair. A decision at a look is final: later groups do not count."""

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
        self.differences: list[float] = []
        self.sides: tuple[list[float], list[float]] = ([], [])  # each group's mean, baseline and variant
        self.comparison = Comparison(
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
        self.delta: Spread | None = None
        self.seconds = 0.0
        self.loud = 0  # groups of those that count

    @property
    def decided(self) -> bool:
        return self.decision is not None

    def add(self, group: GroupBlocks, pace: Pace) -> None:
        """One undisturbed group; decides if a look is due."""
        value = group.value(self.metric, self.pair)
        if self.decided or value is None:
            return
        self.comparison.add(*value, place=group.place, baseline_first=baseline_first(group.order, *self.pair))
        self.differences.append(group.difference(self.metric, self.pair))
        self.loud += group.loud
        for side, variant in zip(self.sides, self.pair, strict=True):
            values = group.values(variant, self.metric)
            side.append(math.fsum(values) / len(values))
        self._keep(self.comparison.at_look(pace.group_s), pace, final=False)

    def seconds_left(self, pace: Pace) -> float | None:
        """The planner's word; None before the first three groups."""
        return 0.0 if self.decided else self.comparison.seconds_left(pace.group_s)

    def estimate(self, t: float, group: GroupBlocks, pace: Pace) -> ev.Estimate | None:
        """The running estimate after a group; None while there are too few, or once it is decided."""
        now = None if self.decided else self.comparison.estimate()
        if now is None:
            return None
        left = self.seconds_left(pace)
        base, other = (group.p99_ns(variant) for variant in self.pair)
        return ev.Estimate(
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
            next_look=self.comparison.next_look,
            p99_ns=None if base is None or other is None else (base, other),
        )

    def conclude(self, t: float, pace: Pace, why_ended: str) -> ev.Verdict:
        """The verdict at the end; where no look decided, what is left of alpha is spent here.

        Where a side drifts on its own the effect is a function of how long one looked, so none is given.
        """
        if drifting := drifts(*self.sides, self.pair):
            drift = {d.variant: (d.first, d.last) for d in drifting}
            said = drift_text(drifting, self.metric.unit)
            return not_applicable(self._event(t, pace.spent_s, drift=drift), said)
        if not self.decided:
            self._keep(self.comparison.final(pace.group_s), pace, final=True)
        decision = self.decision
        reason = decision.reason if decision else why_ended
        if decision is not None and decision.undecided:
            reason = "; ".join(r for r in (why_ended, decision.reason) if r)
        return msgspec.structs.replace(self._event(t, self.seconds, decision), reason=reason or None)

    def large_only(self, verdict: ev.Verdict, blame: str) -> ev.Verdict:
        """Where most of its groups were disturbed a difference is called as from few: only a large one."""
        groups = len(self.differences)
        if 2 * self.loud <= groups or not verdict.differs or verdict.ratio is None or verdict.ci95 is None:
            return verdict
        few = of_ratio(verdict.ratio, verdict.ci95, verdict.margin)._replace(least=LARGE_ONLY_BELOW)
        if still(verdict.verdict, few) == verdict.verdict:
            return verdict
        said = f"{self.loud} of {groups} groups were disturbed: only a large difference is called then"
        reason = "; ".join(r for r in (said, blame, verdict.reason) if r)
        return withdrawn(verdict, reason)

    def broken_off(self, t: float, pace: Pace, reason: str) -> ev.Verdict:
        """Too much was disturbed: nothing is claimed, whatever the numbers say; they are shown all the same.

        What was decided at a look before stays decided.
        """
        if self.decided:
            return self.conclude(t, pace, "")
        self._keep(self.comparison.final(pace.group_s), pace, final=True)
        decision = self.decision
        if decision is None or decision.ratio is None:
            return withdrawn(self._event(t, pace.spent_s), reason)
        return withdrawn(self._event(t, self.seconds, decision), reason)

    def not_applicable(self, t: float, pace: Pace, reason: str) -> ev.Verdict:
        return not_applicable(self._event(t, pace.spent_s), reason)

    def not_started(self, t: float, reason: str, needs_s: float | None = None) -> ev.Verdict:
        return msgspec.structs.replace(not_measured(self._event(t), reason), seconds_to_decide=needs_s)

    def _keep(self, decision: GroupVerdict | None, pace: Pace, *, final: bool) -> None:
        if decision is not None:
            self.decision = decision
            self.delta = None if decision.not_measured else self.comparison.natural(self.differences, final)
            self.seconds = pace.spent_s

    def _event(
        self,
        t: float,
        seconds: float = 0.0,
        decision: GroupVerdict | None = None,
        drift: dict[str, tuple[float, float]] | None = None,
    ) -> ev.Verdict:
        delta = self.delta if decision is not None else None
        event = ev.Verdict(
            t=t,
            workload=self.workload.id,
            metric=self.metric.name,
            baseline=self.pair[0],
            variant=self.pair[1],
            verdict=OPEN,
            delta=delta.estimate if delta else None,
            delta_ci95=(delta.low, delta.high) if delta else None,
            delta_unit=self.metric.unit,
            groups=len(self.differences) if drift else 0,
            drift=drift or {},
            alpha=self.comparison.share,
            seconds=round(seconds, 3),
            control=self.workload.control or self.pair[1] in self.workload.controls,
            one_file_system=self.workload.one_file_system,
            margin=self.comparison.margin,
            scope=self.scope,
        )
        return event if decision is None else with_figures(event, decision)


def in_bytes(verdict: ev.Verdict, spent: WriteBudgetSpent | None) -> ev.Verdict:
    """How much the whole run would have to write to decide it, where its write limit ended it; as it is otherwise."""
    if spent is None or not spent.most_bytes or not (verdict.undecided or verdict.not_measured):
        return verdict
    more = float(spent.lacking_bytes)
    if verdict.undecided:
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
) -> list[Judge]:
    """One for each judged metric of each pair; a workload's metrics share its part of the family's error.

    `all_pairs`: of places, 0 where the sides have none of their own.
    """
    judged = [metric for metric in workload.metrics if metric.judged]
    return [
        Judge(
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


def undecided(load: str, judges: Sequence[Judge], pace: Pace) -> Undecided:
    """What the rest of the budget must know of a load whose `judges` are open."""
    widths, next_s = [0.0], [pace.group_s]
    decides_s: list[float | None] = [0.0]
    for judge in judges:
        now = judge.comparison.spread()
        widths.append(math.inf if now is None else now.half_width)
        done = len(judge.comparison.log_ratios)
        next_s.append((max(judge.comparison.next_look, done + 1) - done) * pace.group_s)
        decides_s.append(judge.seconds_left(pace))
    known = [s for s in decides_s if s is not None]
    return Undecided(load, max(widths), max(next_s), max(known) if len(known) == len(decides_s) else None)
