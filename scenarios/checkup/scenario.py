"""Scenario `checkup`: the whole host in five minutes. Each part is a run of its own, and one list is the answer.

What a part of a checkup measures, as samples of the checkup itself: its screen draws them while the part runs.
"""

from __future__ import annotations

import asyncio
import math
import shlex
from collections.abc import Mapping, Sequence, Set
from contextlib import suppress
from functools import partial
from statistics import fmean
from typing import ClassVar

import msgspec

from hostdx.probes.engine.measured import sum_if_all_known
from hostdx.probes.reading.host import Host
from hostdx.probes.units import format_duration
from hostdx.scenarios.checkup.others import FIRST_S, HostUseSampler
from hostdx.scenarios.checkup.parts import (
    TIMES,
    CheckupPart,
    candidate_scenarios,
    checkup_parts,
    choose_directories,
    directories_named_by,
    options_for_part,
    own_and_common_options,
    seconds_for_each_part,
    seconds_that_suffice,
    sort_by_suspicion,
)
from hostdx.scenarios.checkup.ranking import (
    answer_finding,
    beside_full_cpus,
    item_of_outcome,
    item_of_rule_finding,
    rank_items,
    say_budget_ended,
    unmeasured_item,
)
from hostdx.scenarios.checkup.results import CheckupAnswer
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.declared_options import apply_declaration
from hostdx.scenarios.contract.finding import LOUD, Finding
from hostdx.scenarios.contract.model import OptionMap, OtherRunOutcome, PreparedRun, Run, Scenario
from hostdx.scenarios.contract.option_value import command_arguments
from hostdx.scenarios.contract.plan import Plan, PlannedStep, PlannedWrite
from hostdx.scenarios.contract.results.result import Item, State
from hostdx.scenarios.experiment.guards.foreign_latency import STOPS_ITSELF
from hostdx.scenarios.experiment.schedule.recorded_trains import blocks_in_batch
from hostdx.scenarios.triage.triage import examine_live_host


def samples_of_event(part: str, plan: Plan | None, event: ev.AnyEvent, now_s: float) -> list[ev.SampleTaken]:
    """Return one sample for each variant that the event measured, at the checkup's own time `now_s`; none of other
    events. Of a load the leading metric counts, of a slice batch the mean of its windows.
    """
    if isinstance(event, ev.SampleTaken):
        series = f"{part}: {event.series}"
        return [msgspec.structs.replace(event, t=now_s, at_s=None, series=series)]
    if isinstance(event, ev.SliceBatch):
        blocks = blocks_in_batch(event)
    elif isinstance(event, ev.Block):
        blocks = [event]
    else:
        return []
    load = next((w for w in plan.workloads if w.id == blocks[0].workload), None) if plan and blocks else None
    if load is None or not load.metrics:
        return []
    metric = load.metrics[0]
    values: dict[str, list[float]] = {}
    for block in blocks:
        if metric.name in block.values:
            values.setdefault(block.variant, []).append(block.values[metric.name])
    return [
        ev.SampleTaken(
            t=now_s,
            series=f"{part}: {load.title}",
            variant=variant if len(values) > 1 else "",
            block=blocks[0].index,
            value=fmean(own),
            unit=metric.unit,
        )
        for variant, own in values.items()
    ]


BUDGET_S = 300.0
TRIAGE_S = 4.0  # with what its programs say, and a look at who uses the host
PROGRAMS_S = 10.0  # at most
REFUSED_S = 1.0  # what fails sooner has measured nothing
LATE_S = 1.0  # of END_S: a part that is about to end is not stopped for it
END_S = 3.0  # of the budget, for the end of a part that is stopped, and the last look
TOO_SHORT_REASON = "the budget is too short for it"
NOT_NEEDED_REASON = "not needed: a part before it gave a clear answer (--all measures the rest too)"


@apply_declaration(__file__, budget_s=BUDGET_S)
class Checkup(Scenario):
    """Triage, how well this host can be measured, then whatever applies here and changes nothing."""

    takes_s: ClassVar[float] = BUDGET_S

    def blocking_reason(self, host: Host) -> str:
        return (
            "" if host.live else "a captured tree cannot be measured; `hostdx triage --root` reads its tasks"
        )

    def prepare(self, host: Host, options: OptionMap) -> PreparedRun:
        budget = options.as_number("budget", BUDGET_S)
        chosen_directories = choose_directories(host, options)
        if chosen_directories.suspects:
            options = OptionMap(options.values | {"dir": list(chosen_directories.directories)})
        all_parts = checkup_parts(host, options)
        able = [part for part in all_parts if part.plan is not None and not part.why_not]
        seconds_by_part = seconds_for_each_part(able, budget - TRIAGE_S)
        enough_s = math.ceil(TRIAGE_S + seconds_that_suffice(able))
        plans = [part.plan for part in able if part.plan is not None and part.id in seconds_by_part]
        plan = self.make_plan(
            options=dict(options.values),
            steps=(
                PlannedStep("triage", "read the host: every read-only rule", TRIAGE_S),
                *(
                    PlannedStep(
                        part.id,
                        f"{part.id}: {part.scenario.title}",
                        seconds_by_part[part.id] + part.overhead_s,
                    )
                    for part in able
                    if part.id in seconds_by_part
                ),
            ),
            actions=tuple({a.title: a for plan in plans for a in plan.actions}.values()),
            writes=_sum_writes(plans),
            rights=tuple(dict.fromkeys(right for plan in plans for right in plan.rights)),
            seconds=budget,
            measuring_s=budget,
            sentences=(
                *chosen_directories.sentences,
                f"runs {', '.join(seconds_by_part)} one after another, first what triage's findings point to, "
                "each with a recording of its own (`hostdx plan NAME` shows what it reads)",
                "looks at who uses the CPUs, the disks and the memory meanwhile, as cpuwatch does for the CPUs",
                f"asks this host's programs (`zpool`, `smartctl`, `ipmitool`, ...) for {PROGRAMS_S:.0f} s at most",
                *(
                    (f"all {len(able)} would fit into a budget of {format_duration(enough_s)}",)
                    if len(seconds_by_part) < len(able)
                    else ()
                ),
                *((f"a part that loads the disk {STOPS_ITSELF}",) if any(p.writes for p in plans) else ()),
                "ends early when something critical was measured (--all measures the rest too); after a stop, "
                "what was measured until then is kept",
            ),
            left_out=(
                *chosen_directories.left_out,
                *(
                    f"{part.id}: {part.why_not or TOO_SHORT_REASON}"
                    for part in all_parts
                    if part.id not in seconds_by_part
                ),
            ),
            refusal="" if able else "none of the scenarios of a checkup can run here",
        )
        return PreparedRun(plan, partial(self._run, options, all_parts, frozenset(seconds_by_part)))

    async def _run(
        self, options: OptionMap, all_parts: Sequence[CheckupPart], planned: Set[str], run: Run
    ) -> None:
        """`planned`: the parts that the plan listed, and no other is measured."""
        budget = run.options.as_number("budget", BUDGET_S)
        planned_s = taken_s = 0.0  # of the parts so far: on a busy host they take longer than they were given
        triage_findings = await self._emit_triage_findings(run)
        suspected = list(dict.fromkeys(f.prove for f in triage_findings if f.prove))
        left_out = [part for part in all_parts if part.why_not or part.id not in planned]
        items = [self._left_out_item(options, part, part.why_not or TOO_SHORT_REASON) for part in left_out]
        waiting = sort_by_suspicion([part for part in all_parts if part not in left_out], suspected)
        fates: dict[str, State] = {}  # of triage's findings, by id and subject
        clear = False
        others = HostUseSampler(run)
        await others.sample_use(FIRST_S)
        try:
            while waiting:
                left = budget - END_S - run.elapsed_s()
                pace = min(1.0, planned_s / taken_s) if taken_s else 1.0
                seconds = seconds_for_each_part(waiting, left * pace).get(waiting[0].id)
                part = waiting.pop(0)
                if clear and not run.options.is_set("all"):
                    items.append(self._left_out_item(options, part, NOT_NEEDED_REASON))
                elif seconds is None:
                    why = f"the parts before it took longer than planned: {max(0.0, left):.0f} s were left for it"
                    items.append(self._left_out_item(options, part, why))
                else:
                    before = run.elapsed_s()
                    clear |= await self._measure_part_is_answer_clear(
                        run, options, part, (seconds, left), items, triage_findings, fates
                    )
                    planned_s, taken_s = (
                        planned_s + seconds + part.overhead_s,
                        taken_s + run.elapsed_s() - before,
                    )
                    await others.sample_use()
                    self._emit_answer(run, _ordered_items(others, items, triage_findings, fates))
        except asyncio.CancelledError:
            items += [self._left_out_item(options, part, "stopped before it began") for part in waiting]
            raise
        finally:
            self._emit_answer(run, _ordered_items(others, items, triage_findings, fates))

    async def _emit_triage_findings(self, run: Run) -> list[Finding]:
        """The worst first."""
        with run.begin_step("triage", "read the host: every read-only rule"):
            events, findings = await asyncio.to_thread(examine_live_host, run.elapsed_s, PROGRAMS_S)
            for event in events:
                run.emit(event)
        return findings

    async def _measure_part_is_answer_clear(
        self,
        run: Run,
        options: OptionMap,
        part: CheckupPart,
        times_s: tuple[float, float],
        items: list[Item],
        triage_findings: Sequence[Finding],
        fates: dict[str, State],
    ) -> bool:
        """Return whether the answer is clear: something critical was measured. `times_s`: of measuring, and at most."""
        seconds, most_s = times_s
        outcomes: list[OtherRunOutcome] = []
        limit = asyncio.timeout(most_s + LATE_S)
        directories = options.as_strings("dir")
        about = [
            f
            for f in triage_findings
            if f.prove == part.id and _is_about_measured_directories(f, directories)
        ]

        def relay_event(event: ev.AnyEvent) -> None:
            for sample in samples_of_event(part.id, part.plan, event, run.elapsed_s()):
                run.emit(sample)
            if isinstance(event, ev.Progress):
                done = min(1.0, run.elapsed_s() / run.options.as_number("budget", BUDGET_S))
                run.emit_progress(part.id, f"{part.id}: {event.text}", done=done)
            elif isinstance(event, ev.Guard):  # a notice: what ends a part does not end the whole
                run.emit(
                    ev.Guard(t=run.elapsed_s(), kind=event.kind, text=f"{part.id}: {event.guard_sentence}")
                )

        def take_outcome(outcome: OtherRunOutcome) -> None:
            if limit.expired() and outcome.status != "done":
                outcome = say_budget_ended(outcome)
            outcomes.append(outcome)
            if outcome.status == "failed" and outcome.seconds < REFUSED_S:  # by the time that it was given
                part_item = self._left_out_item(options, part, outcome.reason)
            else:
                part_item = item_of_outcome(part.scenario, outcome, about)
            items.append(part_item)
            fates.update({finding.key: part_item.state for finding in about})
            for finding in outcome.findings:
                if finding.severity != "ok" and not finding.answers:
                    run.emit_finding(finding)
            run.emit_note(f"{part_item.words}. {_next_step_text(part_item)}".strip())

        with run.begin_step(part.id, f"{part.id}: {part.scenario.title}") as step:
            with suppress(TimeoutError):
                async with limit:
                    await run.run_other(
                        part.scenario,
                        options_for_part(part.scenario, options, seconds),
                        relay_event,
                        take_outcome,
                    )
            if outcomes and outcomes[0].status != "done":
                step.skip_step(outcomes[0].reason)
        return any(
            f.severity == "critical" and f.confidence == "measured" for o in outcomes for f in o.findings
        )

    def _left_out_item(self, options: OptionMap, part: CheckupPart, reason: str) -> Item:
        part_options = {
            name: value
            for name, value in options_for_part(part.scenario, options, 0.0).items()
            if name not in TIMES
        }
        argv = command_arguments(part_options, own_and_common_options(part.scenario))
        return unmeasured_item(part.scenario, reason, shlex.join(["hostdx", "run", part.id, *argv]))

    def _emit_answer(self, run: Run, items: list[Item]) -> None:
        ranked_items = rank_items(items)
        run.emit(CheckupAnswer(t=run.elapsed_s(), value=tuple(ranked_items)))
        run.emit_finding(answer_finding(ranked_items))


def _ordered_items(
    others: HostUseSampler, items: Sequence[Item], findings: Sequence[Finding], fates: Mapping[str, State]
) -> list[Item]:
    """Our own quota stands before all that was measured under it, then what costs most: who uses the host, and the
    parts that measure; before them those that only watch, behind them what triage warns of and none of them names."""
    scenarios = {item.id: item for item in candidate_scenarios()}
    open_ones = [
        scenarios[item.scenario].suspect
        for item in items
        if item.state == "open" and item.scenario in scenarios
    ]
    watched = [item for item in items if item.scenario in scenarios and not scenarios[item.scenario].measures]
    parts = [item for item in items if item not in watched]
    if others.are_cpus_full:
        parts = [beside_full_cpus(item) for item in parts]
    measured = [*others.items(open_ones), *parts]
    ordered_items = [*watched, *others.quota_items(findings), *sorted(measured, key=lambda item: -item.loss)]
    return [
        *ordered_items,
        *_items_of_warnings(findings, fates, {key for item in ordered_items for key in item.about}),
    ]


def _sum_writes(plans: Sequence[Plan]) -> tuple[PlannedWrite, ...]:
    """The parts run one after another: what they write to a device adds up."""
    writes_by_place: dict[tuple[str, str], list[PlannedWrite]] = {}
    for plan in plans:
        for planned_write in plan.writes:
            writes_by_place.setdefault((planned_write.device, planned_write.where), []).append(planned_write)
    return tuple(
        PlannedWrite(
            device,
            sum(planned_write.bytes for planned_write in parts_of),
            directory,
            sum_if_all_known([o.endurance_share for o in parts_of]),
        )
        for (device, directory), parts_of in writes_by_place.items()
    )


def _is_about_measured_directories(finding: Finding, directories: Sequence[str]) -> bool:
    """Not about a directory that was not measured."""
    named_directories = directories_named_by(finding)
    return not named_directories or any(directory in directories for directory in named_directories)


def _items_of_warnings(findings: Sequence[Finding], fates: Mapping[str, State], keys: Set[str]) -> list[Item]:
    """Triage's warnings, but those that a measured cause confirms: it names them itself."""
    open_findings = [finding for finding in findings if finding.severity in LOUD and finding.key not in keys]
    return [
        item_of_rule_finding(finding, fates.get(finding.key, "not measured")) for finding in open_findings
    ]


def _next_step_text(ranked_item: Item) -> str:
    step = next(iter(ranked_item.following), None)
    if step is None:
        return ""
    return f"Next: {step.title}" + (f": `{'; '.join(step.all_commands)}`" if step.all_commands else "")
