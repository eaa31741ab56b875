"""Scenario `checkup`: the whole host in five minutes. Each part is a run of its own, and one list is the answer."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Mapping, Sequence, Set
from contextlib import suppress
from functools import partial
from typing import ClassVar

import msgspec

from probes.host import Host
from scenarios import events as ev
from scenarios.checkup.others import FIRST_S, Others
from scenarios.checkup.parts import (
    TIMES,
    CheckupPart,
    by_suspicion,
    candidates,
    chosen,
    named_by,
    own_and_common,
    parts,
    shares,
    values,
)
from scenarios.checkup.ranking import answer, item, ranked, rule, unmeasured
from scenarios.checkup.results import CheckupAnswer
from scenarios.declared_options import apply_declaration
from scenarios.finding import LOUD, Finding
from scenarios.model import Options, OtherRunOutcome, Prepared, Run, Scenario
from scenarios.option_value import command_arguments
from scenarios.plan import Plan, PlannedStep, Written
from scenarios.results.result import Item, State
from scenarios.triage import examine_live_host

BUDGET_S = 300.0
TRIAGE_S = 4.0  # with a look at who uses the host
END_S = 3.0  # of the budget, for the end of a part that is stopped, and the last look
SHORT = "the budget is too short for it"
CLEAR = "not needed: a part before it gave a clear answer (--all measures the rest too)"


@apply_declaration(__file__, budget_s=BUDGET_S)
class Checkup(Scenario):
    """Triage, how well this host can be measured, then whatever applies here and changes nothing."""

    takes_s: ClassVar[float] = BUDGET_S

    def blocked(self, host: Host) -> str:
        return "" if host.live else "a captured tree cannot be measured; `hostdx triage --root` reads it"

    def prepare(self, host: Host, options: Options) -> Prepared:
        budget = options.as_number("budget", BUDGET_S)
        where = chosen(host, options)
        if where.suspects:
            options = Options(options.values | {"dir": list(where.directories)})
        found = parts(host, options)
        able = [part for part in found if part.plan is not None and not part.why_not]
        told = shares(able, budget - TRIAGE_S)
        plans = [part.plan for part in able if part.plan is not None]
        plan = self.make_plan(
            options=dict(options.values),
            steps=(
                PlannedStep("triage", "read the host: every read-only rule", TRIAGE_S),
                *(
                    PlannedStep(part.id, f"{part.id}: {part.scenario.title}", told[part.id] + part.overhead_s)
                    for part in able
                    if part.id in told
                ),
            ),
            actions=tuple({a.title: a for plan in plans for a in plan.actions}.values()),
            writes=_together(plans),
            rights=tuple(dict.fromkeys(right for plan in plans for right in plan.rights)),
            seconds=budget,
            measuring_s=budget,
            sentences=(
                *where.sentences,
                f"runs {', '.join(told)} one after another, each with a recording of its own "
                "(`hostdx plan NAME` shows what it reads)",
                "ends early when an answer is clear (--all measures the rest too); after a stop, what was "
                "measured until then is kept",
            ),
            left_out=(
                *where.left_out,
                *(f"{part.id}: {part.why_not or SHORT}" for part in found if part.id not in told),
            ),
            refusal="" if able else "none of the scenarios of a checkup can run here",
        )
        return Prepared(plan, partial(self._run, options, found))

    async def _run(self, options: Options, found: Sequence[CheckupPart], run: Run) -> None:
        budget = run.options.as_number("budget", BUDGET_S)
        planned_s = taken_s = 0.0  # of the parts so far: on a busy host they take longer than they were given
        known = await self._triage(run)
        suspected = list(dict.fromkeys(f.prove for f in known if f.prove))
        items = [self._left_out(options, part, part.why_not) for part in found if part.why_not]
        waiting = by_suspicion([part for part in found if not part.why_not], suspected)
        fates: dict[str, State] = {}  # of triage's findings, by id and subject
        clear = False
        others = Others(run)
        await others.look(FIRST_S)
        try:
            while waiting:
                left = budget - END_S - run.time()
                pace = min(1.0, planned_s / taken_s) if taken_s else 1.0
                seconds = shares(waiting, left * pace).get(waiting[0].id)
                part = waiting.pop(0)
                if clear and not run.options.is_set("all"):
                    items.append(self._left_out(options, part, CLEAR))
                elif seconds is None:
                    why = f"{max(0.0, left):.0f} s of the budget were left, which is too short for it"
                    items.append(self._left_out(options, part, why))
                else:
                    before = run.time()
                    clear |= await self._measure(run, options, part, (seconds, left), items, known, fates)
                    planned_s, taken_s = planned_s + seconds + part.overhead_s, taken_s + run.time() - before
                    await others.look()
                    self._tell(run, _beside(others, items, known, fates), ended=False)
        except asyncio.CancelledError:
            items += [self._left_out(options, part, "stopped before it began") for part in waiting]
            raise
        finally:
            self._tell(run, _beside(others, items, known, fates), ended=True)

    async def _triage(self, run: Run) -> list[Finding]:
        """The worst first."""
        with run.begin_step("triage", "read the host: every read-only rule"):
            events, findings = await asyncio.to_thread(examine_live_host, run.time)
            for event in events:
                run.emit(event)
        return findings

    async def _measure(
        self,
        run: Run,
        options: Options,
        part: CheckupPart,
        times_s: tuple[float, float],
        items: list[Item],
        known: Sequence[Finding],
        fates: dict[str, State],
    ) -> bool:
        """Whether the answer is clear: something critical was measured. `times_s`: of measuring, and at most."""
        seconds, most_s = times_s
        told: list[OtherRunOutcome] = []
        limit = asyncio.timeout(most_s)
        directories = options.as_strings("dir")
        about = [f for f in known if f.prove == part.id and _is_about(f, directories)]

        def hear(event: ev.AnyEvent) -> None:
            if isinstance(event, ev.Progress):
                done = min(1.0, run.time() / run.options.as_number("budget", BUDGET_S))
                run.emit_progress(part.id, f"{part.id}: {event.text}", done=done)
            elif isinstance(event, ev.Guard):  # a notice: what ends a part does not end the whole
                run.emit(ev.Guard(t=run.time(), kind=event.kind, text=f"{part.id}: {event.guard_sentence}"))

        def done(outcome: OtherRunOutcome) -> None:
            if limit.expired() and outcome.status != "done":
                outcome = msgspec.structs.replace(outcome, reason="the budget was used up")
            told.append(outcome)
            items.append(one := item(part.scenario, outcome, about))
            fates.update({finding.key: one.state for finding in about})
            for finding in outcome.findings:
                if finding.severity != "ok" and not finding.answers:
                    run.emit_finding(finding)
            run.emit_note(f"{one.words}. {_next(one)}".strip())

        with run.begin_step(part.id, f"{part.id}: {part.scenario.title}") as step:
            with suppress(TimeoutError):
                async with limit:
                    await run.run_other(part.scenario, values(part.scenario, options, seconds), hear, done)
            if told and told[0].status != "done":
                step.skip_step(told[0].reason)
        return any(f.severity == "critical" and f.confidence == "measured" for o in told for f in o.findings)

    def _left_out(self, options: Options, part: CheckupPart, reason: str) -> Item:
        told = {
            name: value for name, value in values(part.scenario, options, 0.0).items() if name not in TIMES
        }
        argv = command_arguments(told, own_and_common(part.scenario))
        return unmeasured(part.scenario, reason, shlex.join(["hostdx", "run", part.id, *argv]))

    def _tell(self, run: Run, items: list[Item], *, ended: bool) -> None:
        found = ranked(items)
        run.emit(CheckupAnswer(t=run.time(), value=tuple(found)))
        run.emit_finding(answer(found, ended=ended))


def _beside(
    others: Others, items: Sequence[Item], findings: Sequence[Finding], fates: Mapping[str, State]
) -> list[Item]:
    """Our own quota stands before all that was measured under it, then what costs most: who uses the host, and the
    parts that measure; before them those that only watch, behind them what triage warns of and none of them names."""
    known = {one.id: one for one in candidates()}
    open_ones = [
        known[one.scenario].suspect for one in items if one.state == "open" and one.scenario in known
    ]
    watched = [one for one in items if one.scenario in known and not known[one.scenario].measures]
    measured = [*others.items(open_ones), *(one for one in items if one not in watched)]
    told = [*watched, *others.quota(findings), *sorted(measured, key=lambda one: -one.loss)]
    return [*told, *_rules(findings, fates, {key for one in told for key in one.about})]


def _together(plans: Sequence[Plan]) -> tuple[Written, ...]:
    """The parts run one after another: what they write to a device adds up."""
    found: dict[tuple[str, str], list[Written]] = {}
    for plan in plans:
        for one in plan.writes:
            found.setdefault((one.device, one.where), []).append(one)
    return tuple(
        Written(
            device, sum(one.bytes for one in parts_of), where, _sum([o.endurance_share for o in parts_of])
        )
        for (device, where), parts_of in found.items()
    )


def _sum(shares: Sequence[float | None]) -> float | None:
    known = [share for share in shares if share is not None]
    return sum(known) if len(known) == len(shares) else None


def _is_about(finding: Finding, directories: Sequence[str]) -> bool:
    """Not about a directory that was not measured."""
    named = named_by(finding)
    return not named or any(one in directories for one in named)


def _rules(findings: Sequence[Finding], fates: Mapping[str, State], named: Set[str]) -> list[Item]:
    """Triage's warnings, but those that a measured cause confirms: it names them itself."""
    told = [one for one in findings if one.severity in LOUD and one.key not in named]
    return [rule(one, fates.get(one.key, "not measured")) for one in told]


def _next(one: Item) -> str:
    step = next(iter(one.following), None)
    if step is None:
        return ""
    return f"Next: {step.title}" + (f": `{'; '.join(step.all_commands)}`" if step.all_commands else "")
