"""The state of a run as its events tell it: what every view (screen, report, `--json`) is drawn from (law 1)."""

from collections import deque
from collections.abc import Callable, Collection, Iterable
from typing import Any, NamedTuple, TypeVar, cast

import msgspec

from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.card import Card, card_of
from hostdx.scenarios.contract.finding import Finding, finding_sort_key
from hostdx.scenarios.contract.plan import Metric, Plan, Variant, Workload
from hostdx.scenarios.contract.verdict.order import apply_order_guard
from hostdx.scenarios.contract.verdict.verdict import OrderEffect, smallest_effect_of
from hostdx.scenarios.experiment.order import baseline_first, order_effect
from hostdx.scenarios.experiment.schedule.recorded_trains import blocks_in_batch, groups_in_batch

MAX_PULSES = 3600  # of a run, one a second: the graphs show the whole of it
UNKNOWN_HOST = "unknown host"  # of an import whose files do not say

AnyValue = TypeVar("AnyValue")
AResult = TypeVar("AResult", bound=ev.Result)


def compared_pair_key(event: ev.RunningEstimate | ev.RunVerdict) -> tuple[str, str, str, str]:
    return (event.workload, event.metric, event.baseline, event.variant)


class RunSession:
    """Folds events into state. `apply` is total: any known event in any order is survived."""

    def __init__(self) -> None:
        self.time: float = 0.0  # the screen's clock: the last event's time
        self.count: int = 0
        self.began: ev.Began | None = None
        self.plan: Plan | None = None
        self.offers: list[ev.ScenarioOffer] = []
        self.facts: dict[str, ev.FactRead] = {}  # by label
        self.absent: dict[str, ev.AbsentFact] = {}
        self.checks: dict[str, ev.Checked] = {}
        self.steps: dict[str, ev.RunStep] = {}
        self.began_at: dict[str, float] = {}  # by step
        self.share = 0.0  # of the whole run: the largest that was told so far
        self.actions: dict[str, ev.ActionEvent] = {}
        self.blocks: dict[str, list[ev.Block]] = {}  # by workload
        # by workload, how many; their groups stand among `blocks` and `groups`
        self.trains: dict[str, int] = {}
        self.slices: dict[str, ev.SliceLengthChosen] = {}  # by workload: the last word on how long they are
        self.samples: dict[str, list[ev.SampleTaken]] = {}  # by series
        self.inside: dict[str, list[ev.ProcessTreeSample]] = {}  # by variant
        self.groups: dict[str, list[ev.Group]] = {}  # by workload
        self.estimates: dict[tuple[str, str, str, str], ev.RunningEstimate] = {}
        self.verdicts: dict[tuple[str, str, str, str], ev.RunVerdict] = {}
        self.series: list[ev.SeriesVerdict] = []
        self.guards: list[ev.Guard] = []
        self.watched: list[ev.Watched] = []
        self.pulses: deque[ev.Pulse] = deque(maxlen=MAX_PULSES)
        self.progress: ev.Progress | None = None
        self.findings: dict[str, Finding] = {}
        self.results: dict[type[ev.Result], ev.Result] = {}  # the last of each type
        self.notes: list[ev.Note] = []
        self.ended: ev.RunEnded | None = None
        self.left_out: dict[str, int] = {}  # by kind: events beyond the bounds, which are not kept
        self.unsound = 0  # lines with a value that does not fit its type, `unsound_why` the first of them
        self.unsound_why: str = ""
        self.counted_from: dict[str, int] = {}  # by workload: no group before this number counts
        self._recalled: tuple[int, dict[object, object]] = (0, {})  # after so many events
        self.workload: str = ""  # the one under way: whose step began, or whose block or group came last

    def apply(self, event: ev.AnyEvent) -> None:
        if event.t > self.time:
            self.time = event.t
        self.count += 1
        cap = CAPS.get(type(event))
        if cap is not None:
            held = cap.place(self)
            if len(held) >= cap.most and (cap.key is None or cap.key(event) not in held):
                self.left_out[cap.name] = self.left_out.get(cap.name, 0) + 1
                return
        fold = _FOLDS.get(type(event))  # a table: 200,000 events go through here when a recording is loaded
        if fold is not None:
            fold(self, event)
        elif isinstance(event, ev.Result):
            self.results[type(event)] = event

    def _fold_fact(self, event: ev.FactRead) -> None:
        self.facts[event.label] = event
        self.absent.pop(event.label, None)

    def _fold_block(self, event: ev.Block) -> None:
        self.blocks.setdefault(event.workload, []).append(event)
        self.workload = event.workload

    def _fold_step(self, event: ev.RunStep) -> None:
        self.steps[event.id] = event
        if event.state == "started":
            self.began_at.setdefault(event.id, event.t)
        self._update_share_done()
        if (
            event.state == "started"
            and self.plan is not None
            and any(w.id == event.id for w in self.plan.workloads)
        ):
            self.workload = event.id  # plot, estimate and head change together, not with its first block

    def _update_share_done(self) -> None:
        """The share never falls, unless the rest of the run is estimated anew as much longer."""
        from hostdx.app.recordings.progress import (
            share_of_time_done,
            smoothed_share,
        )  # not for the first screen

        self.share = smoothed_share(self.share, share_of_time_done(self) or 0.0)

    def _fold_pulse(self, event: ev.Pulse) -> None:
        self.pulses.append(event)
        self._update_share_done()

    def _fold_progress(self, event: ev.Progress) -> None:
        self.progress = event
        self._update_share_done()
        if event.step in self.blocks:  # a load's second turn has no step of its own
            self.workload = event.step

    def _fold_slice_batch(self, event: ev.SliceBatch) -> None:
        self.trains[event.workload] = self.trains.get(event.workload, 0) + 1
        for block in blocks_in_batch(event):
            self._fold_block(block)
        if event.phase == "steady":
            self.groups.setdefault(event.workload, []).extend(groups_in_batch(event))
        self.workload = event.workload

    def _fold_slice_length(self, event: ev.SliceLengthChosen) -> None:
        self.slices[event.workload] = event
        self.counted_from.setdefault(event.workload, 0)
        if event.begins_anew:
            indexes = (group.index for group in self.groups.get(event.workload, ()))
            self.counted_from[event.workload] = max(indexes, default=-1) + 1

    def _fold_verdict(self, event: ev.RunVerdict) -> None:
        """A recording from before the order was looked at is judged by it now, and has today's smallest effect."""
        if event.ci95 is not None and event.smallest_effect is not None:
            event = msgspec.structs.replace(event, smallest_effect=smallest_effect_of(event.ci95))
        if event.order is None and event.is_judged and event.groups:
            event = apply_order_guard(event, self._order_effect(event))
        self.verdicts[compared_pair_key(event)] = event

    def _order_effect(self, verdict: ev.RunVerdict) -> OrderEffect | None:
        logs, firsts = [], []
        for group in self.groups_behind(verdict):
            first = baseline_first(group.ordered_variants, verdict.baseline, verdict.variant)
            if first is not None:
                logs.append(group.log_ratios[verdict.group_ratio_key])
                firsts.append(first)
        return order_effect(logs, firsts, verdict.margin)

    def groups_behind(self, verdict: ev.RunVerdict) -> list[ev.Group]:
        """The groups that the verdict rests on; empty where they do not hold its ratios."""
        first = self.counted_from.get(verdict.workload, 0)
        groups = self.groups.get(verdict.workload, ())
        used = [
            g
            for g in groups
            if g.index >= first and not g.disturbed and verdict.group_ratio_key in g.log_ratios
        ]
        return used[: verdict.groups]

    def compute_once(self, key: object, make: Callable[[], AnyValue]) -> AnyValue:
        """Return what `make` gives, made once between two events."""
        if self._recalled[0] != self.count:
            self._recalled = (self.count, {})
        memo = self._recalled[1]
        if key not in memo:
            memo[key] = make()
        return cast(AnyValue, memo[key])

    def _count_left_out_line(self, event: ev.LeftOutLine) -> None:
        self.unsound += 1
        self.unsound_why = self.unsound_why or event.why

    def _fold_group(self, event: ev.Group) -> None:
        self.groups.setdefault(event.workload, []).append(event)
        self.workload = event.workload

    @property
    def scenario_name(self) -> str:
        """`run` before it is known."""
        return self.began.scenario if self.began is not None else "run"

    @property
    def scenario_card(self) -> Card:
        """Of the scenario that ran; an empty one before that is known."""
        return card_of(self.began.scenario) if self.began is not None else Card()

    @property
    def planned_workloads(self) -> tuple[Workload, ...]:
        """As planned; none before the plan is there."""
        return self.plan.workloads if self.plan is not None else ()

    @property
    def planned_variants(self) -> tuple[Variant, ...]:
        return self.plan.variants if self.plan is not None else ()

    def find_workload(self, workload: str) -> Workload | None:
        return next((w for w in self.planned_workloads if w.id == workload), None)

    def find_metric(self, workload: str, name: str) -> Metric | None:
        load = self.find_workload(workload)
        return next((m for m in load.metrics if m.name == name), None) if load is not None else None

    def metric_of(self, verdict: ev.RunVerdict) -> Metric:
        """Return the verdict's metric; one of its name where no plan was recorded."""
        planned = self.find_metric(verdict.workload, verdict.metric)
        return planned or Metric(verdict.metric, verdict.metric)

    def order_variants(self, variants: Iterable[str]) -> list[str]:
        """Each once, in the plan's order, the baseline first: they are measured in a random one."""
        there = dict.fromkeys(variants)
        planned = dict.fromkeys(v.id for v in self.planned_variants if v.id in there)
        return list(planned | there)

    def has_result_tagged(self, tag: str) -> bool:
        return any(type(result).__struct_config__.tag == tag for result in self.results.values())

    def find_result(self, kind: type[AResult]) -> AResult | None:
        """The one of that type, or of a type made from it."""
        return next((result for result in self.results.values() if isinstance(result, kind)), None)

    @property
    def is_captured(self) -> bool:
        """Return whether it is of a tree that was captured, and not of the host that it was read on."""
        return self.began is not None and "root" in self.began.options

    @property
    def worst_first(self) -> list[Finding]:
        """The findings by severity, worst first; within one severity in the order they came."""
        return sorted(self.findings.values(), key=finding_sort_key)

    @property
    def current_progress(self) -> ev.Progress | None:
        """The progress of the step under way; None where the last one told is of a step that is
        over, or of a load that waits for its second turn."""
        progress, now = self.progress, self._latest_started_step
        if progress is None or now is None:
            return progress
        about = self.steps.get(progress.step)
        over = about is not None and about.state != "started"
        return None if over or now.t > progress.t else progress

    @property
    def _latest_started_step(self) -> ev.RunStep | None:
        return max((s for s in self.steps.values() if s.state == "started"), key=lambda s: s.t, default=None)

    @property
    def current_step_id(self) -> str:
        """Of the steps that have begun the one that goes on: undecided loads wait for a second turn."""
        progress, step = self.current_progress, self._latest_started_step
        told_step = progress.step if progress is not None and progress.step in self.steps else ""
        return told_step or (step.id if step is not None else "")

    @property
    def activity_text(self) -> str:
        """Return what the run is at: what it told of its progress, until that step is over; empty for nothing yet."""
        progress, step = self.current_progress, self._latest_started_step
        if progress is not None:
            return progress.text
        return step.title if step is not None else ""

    @property
    def disturbed_groups(self) -> int:
        return sum(1 for groups in self.groups.values() for g in groups if g.disturbed)


_FOLDS: dict[type, Callable[[RunSession, Any], None]] = {
    ev.Began: lambda s, e: setattr(s, "began", e),
    ev.Planned: lambda s, e: setattr(s, "plan", e.plan),
    ev.ScenarioOffer: lambda s, e: s.offers.append(e),
    ev.FactRead: RunSession._fold_fact,
    ev.AbsentFact: lambda s, e: s.absent.__setitem__(e.label, e),
    ev.Checked: lambda s, e: s.checks.__setitem__(e.rule, e),
    ev.RunStep: RunSession._fold_step,
    ev.ActionEvent: lambda s, e: s.actions.__setitem__(e.id, e),
    ev.Block: RunSession._fold_block,
    ev.SliceBatch: RunSession._fold_slice_batch,
    ev.SliceLengthChosen: RunSession._fold_slice_length,
    ev.SampleTaken: lambda s, e: s.samples.setdefault(e.series, []).append(e),
    ev.ProcessTreeSample: lambda s, e: s.inside.setdefault(e.variant, []).append(e),
    ev.Group: RunSession._fold_group,
    ev.RunningEstimate: lambda s, e: s.estimates.__setitem__(compared_pair_key(e), e),
    ev.RunVerdict: RunSession._fold_verdict,
    ev.SeriesVerdict: lambda s, e: s.series.append(e),
    ev.Guard: lambda s, e: s.guards.append(e),
    ev.Watched: lambda s, e: s.watched.append(e),
    ev.Pulse: RunSession._fold_pulse,
    ev.Progress: RunSession._fold_progress,
    ev.Found: lambda s, e: s.findings.__setitem__(e.finding.key, e.finding),
    ev.Note: lambda s, e: s.notes.append(e),
    ev.LeftOutLine: RunSession._count_left_out_line,
    ev.RunEnded: lambda s, e: setattr(s, "ended", e),
}


class SessionCap(NamedTuple):
    """At most so many different ones are kept in that place; `key` tells one that is there already, None: never.

    Far above what any run of ours writes: a foreign recording may name fifty thousand workloads.
    """

    name: str
    most: int
    place: Callable[[RunSession], Collection[Any]]
    key: Callable[[Any], object] | None = None


CAPS: dict[type, SessionCap] = {
    ev.ScenarioOffer: SessionCap("scenarios", 500, lambda s: s.offers),
    ev.FactRead: SessionCap("facts", 20_000, lambda s: s.facts, lambda e: e.label),
    ev.AbsentFact: SessionCap("absent facts", 5_000, lambda s: s.absent, lambda e: e.label),
    ev.Checked: SessionCap("checks", 2_000, lambda s: s.checks, lambda e: e.rule),
    ev.RunStep: SessionCap("steps", 2_000, lambda s: s.steps, lambda e: e.id),
    ev.ActionEvent: SessionCap("changes", 2_000, lambda s: s.actions, lambda e: e.id),
    ev.Block: SessionCap("workloads' blocks", 500, lambda s: s.blocks, lambda e: e.workload),
    ev.SliceBatch: SessionCap("workloads' trains", 500, lambda s: s.trains, lambda e: e.workload),
    ev.SliceLengthChosen: SessionCap("workloads' slices", 500, lambda s: s.slices, lambda e: e.workload),
    ev.SampleTaken: SessionCap("series of samples", 500, lambda s: s.samples, lambda e: e.series),
    ev.ProcessTreeSample: SessionCap(
        "variants with samples inside their runs", 64, lambda s: s.inside, lambda e: e.variant
    ),
    ev.Group: SessionCap("workloads' groups", 500, lambda s: s.groups, lambda e: e.workload),
    ev.RunningEstimate: SessionCap("estimates", 1_000, lambda s: s.estimates, compared_pair_key),
    ev.RunVerdict: SessionCap("verdicts", 1_000, lambda s: s.verdicts, compared_pair_key),
    ev.SeriesVerdict: SessionCap("verdicts on series", 500, lambda s: s.series),
    ev.Guard: SessionCap("disturbances", 5_000, lambda s: s.guards),
    ev.Watched: SessionCap("looks of the guards", 20_000, lambda s: s.watched),
    ev.Found: SessionCap("findings", 1_000, lambda s: s.findings, lambda e: e.finding.key),
    ev.Note: SessionCap("notes", 1_000, lambda s: s.notes),
}
