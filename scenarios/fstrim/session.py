"""One session of scenario `fstrim`: before, an idle control, the trim, after; and the ledger beside it."""

import math
from dataclasses import dataclass

import msgspec

from probes.reading.host import Host
from probes.system.disk.trim.trim_timer import TrimTimer
from scenarios.contract import events as ev
from scenarios.contract.model import Run
from scenarios.contract.plan import Plan, Workload
from scenarios.contract.verdict.verdict import OPEN, as_not_applicable, with_figures
from scenarios.experiment.before_after import BeforeAfter, judge_before_after
from scenarios.experiment.reference import judge_beside_reference
from scenarios.fstrim.findings import TREATMENT, effect_finding, idling_finding, ledger_finding
from scenarios.fstrim.ledger import Ledger
from scenarios.fstrim.measurement.phase import MeasuredPhase, PhaseMeasurer
from scenarios.fstrim.measurement.trim import Trimmed, TrimPattern, trim_and_wait
from scenarios.fstrim.plan import AFTER, BEFORE, CLOSING, IDLE, trim_action
from scenarios.fstrim.results import TrimLedger
from scenarios.fstrim.trim_setup import TrimSetup

TICK_S = 1.0


@dataclass(eq=False)
class TrimSession:
    """Made for one run. `run_phases` emits everything; what was measured before a refusal is judged all the same."""

    run: Run
    plan: Plan
    layout: TrimSetup
    pattern: TrimPattern
    blocks: PhaseMeasurer
    ledger: Ledger
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
            await self._measure_phase(BEFORE, "before", "measure before")
            await self._idle_as_control()
            await self._measure_phase(IDLE, "idle", "measure after idling")
            if self.layout.no_trim:
                with self.run.begin_step("trim", "trim") as step:
                    step.skip_step(self.layout.no_trim)
            else:
                await self._measure_trim("trim", "trim, and wait until the disk is idle", self.pattern.idle_s)
                await self._measure_phase(AFTER, "after", "measure after the trim")
                for index in range(self._closing):
                    await self._measure_trim(f"trim{index + 2}", CLOSING[index], 0.0)
        finally:
            self.run.emit(TrimLedger(t=self.run.elapsed_s(), value=tuple(self.ledger.rows)))
        self._emit_results()

    async def _measure_phase(self, name: str, label: ev.Phase, title: str) -> None:
        with self.run.begin_step(name, title) as step:
            self.ledger.begin()
            phase = await self.blocks.measure_phase(name, label)
            deleted = await self.blocks.engine.delete()
            self.ledger.end(title, written=phase.written_bytes, deleted=deleted)
            self.phases.append(phase)
            if self.blocks.cached and not self.phases[1:]:
                self.doubts.append(f"the reference reads are {self.blocks.cached}")
            if phase.reason:
                self.doubts.append(f"{title}: {phase.reason}")
            step.finish_with_remark(phase.reason)

    async def _idle_as_control(self) -> None:
        """The control: as long as the trim with its settling is given."""
        with self.run.begin_step("waiting", "idle (control)"):
            self.ledger.begin()
            await self._wait_seconds(self.pattern.idle_s, "idling, to see what time alone gives")
            self.ledger.end("idle")

    async def _measure_trim(self, step: str, title: str, pad_to_s: float) -> None:
        with self.run.begin_step(step, title):
            self.ledger.begin()
            began = self.run.clock.now()
            trimmed = await trim_and_wait(
                self.run, trim_action(self.layout), self.layout.leaf_names, self.pattern
            )
            took = self.run.clock.now() - began
            if pad_to_s:
                self.longer = max(1.0, took / pad_to_s)
                if took > pad_to_s * 1.1:
                    self.doubts.append(
                        f"trim and settling took {took:.0f} s, the idle control only {pad_to_s:.0f} s: "
                        f"for a fair comparison run it again with --idle {math.ceil(took)}"
                    )
                await self._wait_seconds(pad_to_s - took, "waiting as long as the idle control did")
            row = self.ledger.end(title, trimmed=trimmed)
            self._note_output(trimmed, row.explained)

    def _note_output(self, trimmed: Trimmed, explained: str) -> None:
        last_line = trimmed.output.splitlines()[-1] if trimmed.output else "(nothing)"
        self.run.emit_note(f"fstrim -v: {last_line}: {explained}")

    async def _wait_seconds(self, seconds: float, text: str) -> None:
        until = self.run.clock.now() + seconds
        while (left := until - self.run.clock.now()) > 1e-6:
            self.run.emit_progress("waiting", text, left)
            await self.run.clock.sleep(min(TICK_S, left))

    def _emit_results(self) -> None:
        load, control = self.plan.workloads
        if self.blocks.too_short:
            self.doubts.append(self.blocks.too_short)
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
        why = change.reason or self._why_undecided(change) or ""
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
                with_figures(event, change), reason=change.reason or self._why_undecided(change),
                groups=len(self.phases[2].values), seconds=sum(p.seconds for p in self.phases),
                explain=change.explain(TREATMENT), scope="this stack",
            )
        )  # fmt: skip

    def _why_undecided(self, change: BeforeAfter) -> str | None:
        if not change.is_undecided:
            return None
        wandered = abs((change.idle_ratio or 1.0) - 1)
        if wandered >= 0.05:
            return f"idling alone changed it by {100 * wandered:.0f} %"
        blame = self.blocks.watch.blame_text(self.blocks.load.id) if self.blocks.watch is not None else ""
        return blame or "the blocks differ too much among themselves"
