"""Scenario `fstrim`: does this disk get slower from run to run, and does trimming bring it back?

One session measures before, after idling, and after a trim that was given the same time. `--round` adds one round to
the series of this file system, from cron or before each job; the trims in between are found in the counters.

One session of scenario `fstrim`: before, an idle control, the trim, after; and the ledger beside it.
"""

import math
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial

import msgspec

from hostdx.probes.engine.disk.budget import WriteBudget
from hostdx.probes.files.private_directory import PrivateDirectory
from hostdx.probes.reading.host import Host
from hostdx.probes.system.disk.trim.trim_timer import TrimTimer, trim_timer
from hostdx.probes.system.software.kernel import read_kernel
from hostdx.probes.types import is_present
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.declared_options import apply_declaration
from hostdx.scenarios.contract.model import (
    OptionMap,
    PreparedRun,
    Run,
    RunRefused,
    Scenario,
    own_test_directory,
)
from hostdx.scenarios.contract.plan import Plan, Workload
from hostdx.scenarios.contract.verdict.verdict import OPEN, as_not_applicable, with_figures
from hostdx.scenarios.experiment.before_after import BeforeAfter, judge_before_after
from hostdx.scenarios.experiment.guards.watch import InterferenceWatch, watch_for
from hostdx.scenarios.experiment.reference import judge_beside_reference
from hostdx.scenarios.fstrim.findings import TREATMENT, effect_finding, idling_finding, ledger_finding
from hostdx.scenarios.fstrim.glance import chain_facts, spare_space_facts, timer_fact
from hostdx.scenarios.fstrim.ledger import TrimLedgerKeeper
from hostdx.scenarios.fstrim.measurement.load import BuiltInTrimLoad, CommandTrimLoad, EngineSettings
from hostdx.scenarios.fstrim.measurement.phase import MeasuredPhase, PhaseMeasurer, StoppedByGuards
from hostdx.scenarios.fstrim.measurement.trim import (
    TrimOutcome,
    TrimPattern,
    block_size_after_warm_up,
    trim_and_wait,
)
from hostdx.scenarios.fstrim.plan import (
    AFTER,
    BEFORE,
    CLOSING,
    IDLE,
    TrimRequest,
    make_plan_and_setup,
    trim_action,
    without_trim_note,
)
from hostdx.scenarios.fstrim.results import TrimLedger
from hostdx.scenarios.fstrim.rounds import measure_one_round
from hostdx.scenarios.fstrim.rules import RULES
from hostdx.scenarios.fstrim.trim_setup import TrimSetup
from hostdx.scenarios.triage.triage import apply_rule

TICK_S = 1.0


@dataclass(eq=False)
class TrimSession:
    """Made for one run. `run_phases` emits everything; what was measured before a refusal is judged all the same."""

    run: Run
    plan: Plan
    layout: TrimSetup
    pattern: TrimPattern
    blocks: PhaseMeasurer
    ledger: TrimLedgerKeeper
    timer: TrimTimer
    longer: float = 1.0  # than the idle control: how many times as long the trim took

    def __post_init__(self) -> None:
        self.phases: list[MeasuredPhase] = []
        self.doubts: list[str] = []
        self._closing = sum(action.kind == "command" for action in self.plan.actions) - 1

    @property
    def run_host(self) -> Host:
        return self.run.host

    async def run_phases(self) -> None:
        try:
            await self._measure_and_keep_phase(BEFORE, "before", "measure before")
            await self._idle_as_control()
            await self._measure_and_keep_phase(IDLE, "idle", "measure after idling")
            if self.layout.no_trim:
                with self.run.begin_step("trim", "trim") as step:
                    step.skip_step(self.layout.no_trim)
            else:
                await self._measure_trim("trim", "trim, and wait until the disk is idle", self.pattern.idle_s)
                await self._measure_and_keep_phase(AFTER, "after", "measure after the trim")
                for index in range(self._closing):
                    await self._measure_trim(f"trim{index + 2}", CLOSING[index], 0.0)
        finally:
            self.run.emit(TrimLedger(t=self.run.elapsed_s(), value=tuple(self.ledger.rows)))
        self._emit_results()

    async def _measure_and_keep_phase(self, name: str, label: ev.Phase, title: str) -> None:
        with self.run.begin_step(name, title) as step:
            self.ledger.begin_row()
            phase = await self.blocks.measure_phase(name, label)
            deleted = await self.blocks.engine.delete()
            self.ledger.end_row(title, written=phase.written_bytes, deleted=deleted)
            self.phases.append(phase)
            if self.blocks.cached and not self.phases[1:]:
                self.doubts.append(f"the reference reads are {self.blocks.cached}")
            if phase.reason:
                self.doubts.append(f"{title}: {phase.reason}")
            step.finish_with_remark(phase.reason)

    async def _idle_as_control(self) -> None:
        """The control: as long as the trim with its settling is given."""
        with self.run.begin_step("waiting", "idle (control)"):
            self.ledger.begin_row()
            await self._wait_with_progress(
                "waiting", self.pattern.idle_s, "idling, to see what time alone gives"
            )
            self.ledger.end_row("idle")

    async def _measure_trim(self, step: str, title: str, pad_to_s: float) -> None:
        with self.run.begin_step(step, title):
            self.ledger.begin_row()
            began = self.run.clock.now()
            trimmed = await trim_and_wait(
                self.run, trim_action(self.layout), self.layout.leaf_names, self.pattern, pad_to_s
            )
            took = self.run.clock.now() - began
            if pad_to_s:
                self.longer = max(1.0, took / pad_to_s)
                if took > pad_to_s * 1.1:
                    self.doubts.append(
                        f"trim and settling took {took:.0f} s, the idle control only {pad_to_s:.0f} s: "
                        f"for a fair comparison run it again with --idle {math.ceil(took)}"
                    )
                await self._wait_with_progress(
                    step, pad_to_s - took, "waiting as long as the idle control did"
                )
            row = self.ledger.end_row(title, trimmed=trimmed)
            self._emit_fstrim_output(trimmed, row.explained)

    def _emit_fstrim_output(self, trimmed: TrimOutcome, explained: str) -> None:
        last_line = trimmed.output.splitlines()[-1] if trimmed.output else "(nothing)"
        self.run.emit_note(f"fstrim -v: {last_line}: {explained}")

    async def _wait_with_progress(self, step: str, seconds: float, text: str) -> None:
        until = self.run.clock.now() + seconds
        while (left := until - self.run.clock.now()) > 1e-6:
            self.run.emit_progress(step, text, left)
            await self.run.clock.sleep(min(TICK_S, left))

    def _emit_results(self) -> None:
        load, control = self.plan.workloads
        if self.blocks.too_short_text:
            self.doubts.append(self.blocks.too_short_text)
        if self.layout.no_trim:
            self._emit_verdict(load, None, self.layout.no_trim)
            before, idle = self.phases
            self.run.emit_finding(idling_finding(self.layout, before, idle, self.doubts))
            return
        margin = self.run.options.as_number("margin", 0.05)
        before, idle, after = self.phases
        change = judge_beside_reference(
            (before.values, idle.values, after.values),
            (before.references, idle.references, after.references),
            margin,
            self.longer,
        )
        # The control has no reference: it is the one. It says whether the host changed, not whether the disk did.
        control_change = judge_before_after(
            before.references, idle.references, after.references, margin=margin
        )
        self._emit_verdict(load, change)
        self._emit_verdict(control, control_change)
        if control_change.is_different:
            changed = f"the control ({control.title}) changed too ({control_change.explain(TREATMENT)})"
            text = f"{changed}: the trim is not the only cause"
            self.run.emit(ev.Guard(t=self.run.elapsed_s(), kind="control", text=text, severity="warning"))
        why = change.reason or self._why_undecided_or_none(change) or ""
        finding = effect_finding(
            self.run_host, self.layout, self.timer, change, control_change, self.doubts, why
        )
        self.run.emit_finding(finding)
        self.run.emit_finding(ledger_finding(self.ledger, self.layout))

    def _emit_verdict(self, load: Workload, change: BeforeAfter | None, reason: str = "") -> None:
        metric = load.metrics[0]
        event = ev.RunVerdict(
            t=self.run.elapsed_s(), workload=load.id, metric=metric.name, baseline=IDLE, variant=AFTER,
            verdict=OPEN, delta_unit=metric.unit, control=load.control,
        )  # fmt: skip
        if change is None:
            self.run.emit(as_not_applicable(event, reason))
            return
        self.run.emit(
            msgspec.structs.replace(
                with_figures(event, change), reason=change.reason or self._why_undecided_or_none(change),
                groups=len(self.phases[2].values), seconds=sum(p.seconds for p in self.phases),
                explain=change.explain(TREATMENT), scope="this stack",
            )
        )  # fmt: skip

    def _why_undecided_or_none(self, change: BeforeAfter) -> str | None:
        if not change.is_undecided:
            return None
        wandered = abs((change.idle_ratio or 1.0) - 1)
        if wandered >= 0.05:
            return f"idling alone changed the speed by {100 * wandered:.0f} %"
        blame = self.blocks.watch.blame_text(self.blocks.load.id) if self.blocks.watch is not None else ""
        return blame or "the windows of one phase differ too much"


EngineMaker = Callable[[Host, TrimSetup, TrimRequest, PrivateDirectory, int, WriteBudget], BuiltInTrimLoad]


def make_trim_load(
    host: Host,
    layout: TrimSetup,
    request: TrimRequest,
    private: PrivateDirectory,
    seed: int,
    budget: WriteBudget,
) -> BuiltInTrimLoad:
    ground = EngineSettings(
        host, layout.directory, private, layout.leaf_names, layout.fixed_bytes, seed, budget
    )
    return CommandTrimLoad(ground, request.command) if request.command else BuiltInTrimLoad(ground)


@apply_declaration(__file__)
class Fstrim(Scenario):
    def __init__(
        self,
        pattern: TrimPattern | None = None,
        engine: EngineMaker = make_trim_load,
        watch: Callable[[Run, TrimSetup], InterferenceWatch | None] | None = None,
    ) -> None:
        """Another pattern and engine are for tests, not for users."""
        self.pattern = pattern or TrimPattern()
        self.engine = engine
        self.watch = watch or _make_watch

    def prepare(self, host: Host, options: OptionMap) -> PreparedRun:
        plan, layout, asked, pattern = make_plan_and_setup(host, options, self.pattern, self.make_plan)
        return PreparedRun(plan, partial(self._run, layout, asked, pattern))

    async def _run(self, layout: TrimSetup, asked: TrimRequest, pattern: TrimPattern, run: Run) -> None:
        plan = run.plan
        if layout.no_trim and not asked.round:
            run.emit_note(without_trim_note(layout))
        timer = trim_timer(run.host)
        if layout.chain is not None:
            entries = (
                timer_fact(timer),
                *chain_facts(run.host, timer, layout.chain),
                *spare_space_facts(run.host, [layout.chain]),
            )
            for entry in entries:
                run.emit(ev.fact_event(entry, run.elapsed_s()))
        for rule in RULES:
            for event in apply_rule(rule, run.host, run.elapsed_s):
                if not isinstance(event, ev.Found) or event.finding.subject == layout.mount_directory:
                    run.emit(event)
        release = read_kernel(run.host).release
        ledger = TrimLedgerKeeper(run, layout, release if is_present(release) else "")
        try:
            async with AsyncExitStack() as stack:
                blocks = await self._prepare_and_warm_up(run, plan, layout, asked, pattern, stack, ledger)
                if asked.round:
                    await measure_one_round(run, layout, asked, blocks, timer)
                else:
                    await TrimSession(run, plan, layout, pattern, blocks, ledger, timer).run_phases()
        except StoppedByGuards as why:
            raise RunRefused(f"stopped: {why}") from None

    async def _prepare_and_warm_up(
        self,
        run: Run,
        plan: Plan,
        layout: TrimSetup,
        asked: TrimRequest,
        pattern: TrimPattern,
        stack: AsyncExitStack,
        ledger: TrimLedgerKeeper,
    ) -> PhaseMeasurer:
        """The private directory, the fixed file and a block that does not count."""
        with run.begin_step("prepare", "write the reference file") as step:
            ledger.begin_row()
            budget = WriteBudget(layout.most_bytes)
            private = await stack.enter_async_context(own_test_directory(run, layout.directory))
            engine = self.engine(run.host, layout, asked, private, run.seed, budget)
            stack.push_async_callback(engine.close)
            await engine.prepare_files(step.report_written)
            blocks = PhaseMeasurer(
                run, engine, plan.workloads, pattern, layout.block_bytes, self.watch(run, layout)
            )
            written = await blocks.warm_up()
            if blocks.bytes_per_s:
                block_size = block_size_after_warm_up(
                    layout, budget, pattern, asked.phase_count, blocks.bytes_per_s
                )
                blocks.pattern, blocks.block_bytes = block_size.pattern, block_size.bytes
                if block_size.text:
                    run.emit_note(block_size.text)
            deleted = await engine.delete()
            ledger.end_row("prepare", written=written + layout.fixed_bytes, deleted=deleted)
            return blocks


def _make_watch(run: Run, layout: TrimSetup) -> InterferenceWatch:
    return watch_for(run, layout.leaf_names, directories=[layout.directory])
