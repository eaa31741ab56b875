"""Scenario `kernel`: a short benchmark set of everyday loads, recorded with the host's fingerprint, to compare later.

One run gives no verdict: there is nothing to compare with yet. `hostdx compare` and a baseline give it.
"""

import asyncio
import itertools
from collections.abc import Sequence
from contextlib import AsyncExitStack
from functools import partial
from typing import ClassVar

from hostdx.probes import units
from hostdx.probes.engine.battery import BenchmarkSet
from hostdx.probes.engine.battery_loads import SLOTS, Slot
from hostdx.probes.engine.disk.budget import WriteBudget
from hostdx.probes.engine.measured import Measured, MeasurementInvalid
from hostdx.probes.reading.host import Host
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.declared_options import apply_declaration
from hostdx.scenarios.contract.model import (
    EarlierRun,
    OptionMap,
    PreparedRun,
    Run,
    Scenario,
    SeriesProgress,
    own_test_directory,
)
from hostdx.scenarios.contract.plan import Plan
from hostdx.scenarios.experiment.guards.watch import InterferenceWatch, emit_disturbance, watch_for
from hostdx.scenarios.kernel import reboots
from hostdx.scenarios.kernel.findings import BenchmarkFigures, build_findings
from hostdx.scenarios.kernel.fingerprint import read_fingerprint
from hostdx.scenarios.kernel.plan import (
    DEFAULT_BUDGET_S,
    FEWEST_ROUNDS,
    FINGERPRINT,
    LOADS,
    MAX_WRITTEN_BYTES,
    SIZE_BYTES,
    KernelSetup,
    make_plan_and_setup,
)
from hostdx.scenarios.triage.triage import examine_live_host


@apply_declaration(
    __file__,
    size=units.format_size(SIZE_BYTES),
    writes=units.format_size(MAX_WRITTEN_BYTES),
    orders=list(reboots.ORDERS),
    order=reboots.ORDERS[0],
    loads=list(LOADS),
)
class KernelScenario(Scenario):
    takes_s: ClassVar[float] = DEFAULT_BUDGET_S + 5

    def __init__(self, stretch: dict[str, float] | None = None) -> None:
        """`stretch` plants longer operations, by load: for tests, not for users."""
        self.stretch = stretch

    def prepare(self, host: Host, options: OptionMap) -> PreparedRun:
        plan, layout = make_plan_and_setup(host, options, self.make_plan)
        return PreparedRun(plan, partial(self._run, layout))

    def depends_on_earlier_runs(self, options: OptionMap) -> bool:
        return reboots.variant_of_options(options) is not None

    def check(self, options: OptionMap, boot_id: str, earlier: Sequence[EarlierRun]) -> None:
        if (side := reboots.variant_of_options(options)) is not None:
            reboots.check_boot_of_variant(side, boot_id, earlier)

    def describe_series(self, earlier: Sequence[EarlierRun]) -> SeriesProgress:
        return reboots.describe_boot_series(earlier)

    async def _run(self, layout: KernelSetup, run: Run) -> None:
        plan = run.plan
        with run.begin_step("fingerprint", FINGERPRINT):
            place = layout.fit.placement if layout.fit is not None else None
            for trait in read_fingerprint(run.host, place):
                run.emit(ev.fact_event(trait, run.elapsed_s()))
            _, suspect_findings = await asyncio.to_thread(examine_live_host, run.elapsed_s)
            for finding in suspect_findings:
                run.emit_finding(finding)
        if layout.refusal:
            run.emit_note(f"disk and files are not measured: {layout.refusal}")
        async with AsyncExitStack() as stack:
            battery = await self._prepare_loads(run, layout, stack)
            directories = [layout.directory_path] if layout.fit is not None else []
            watch = watch_for(run, layout.leaf_devices, directories=directories)
            await watch.look_before_first_block()
            figures = await _BenchmarkRounds(run, plan, layout, battery, watch).measure()
        for finding in build_findings(plan, figures):
            run.emit_finding(finding)

    async def _prepare_loads(self, run: Run, layout: KernelSetup, stack: AsyncExitStack) -> BenchmarkSet:
        private = None
        if layout.fit is not None:
            private = await stack.enter_async_context(own_test_directory(run, layout.directory_path))
        battery = BenchmarkSet(
            run.host,
            layout.directory_path or None,
            private,
            layout.size_bytes,
            run.seed,
            layout.leaf_devices,
            layout.cpus,
            budget=WriteBudget(layout.most_bytes),
            stretch=self.stretch,
        )
        stack.push_async_callback(battery.close)
        if layout.fit is None:
            return battery
        with run.begin_step("prepare", "write the test files") as step:
            await battery.prepare_files(step.report_written)
        for note in battery.disk_notes:
            run.emit_note(f"{layout.directory_path}: {note}")
        return battery


class _BenchmarkRounds:
    """Round after round of all loads, each round in a new random order, until the budget is spent."""

    def __init__(
        self, run: Run, plan: Plan, layout: KernelSetup, battery: BenchmarkSet, watch: InterferenceWatch
    ) -> None:
        self.run = run
        self.plan = plan
        self.battery = battery
        self.watch = watch
        self.budget_s, self.round_s = layout.budget_s, layout.round_s
        self.turns = [(turn, slot) for turn in layout.turns for slot in SLOTS]
        self.titles = {w.id: w.title for w in plan.workloads}
        self.figures = BenchmarkFigures()
        self.blocks = itertools.count()

    async def measure(self) -> BenchmarkFigures:
        began = self.run.clock.now()
        with self.run.begin_step("rounds", f"{len(self.plan.workloads)} loads in turn") as step:
            await self._measure_round(-1)  # buffers, workers and partners are made in it: it never counts
            rounds = itertools.count()
            longest = 0.0
            for number in rounds:
                left = self.budget_s - (self.run.clock.now() - began)
                if number >= FEWEST_ROUNDS and left < longest:
                    break
                # also where the budget is used up
                owed = (FEWEST_ROUNDS - number) * (longest or self.round_s)
                step.report_progress(f"round {number + 1} of all loads", max(left, owed, 0.0))
                at = self.run.clock.now()
                await self._measure_round(number)
                longest = max(longest, self.run.clock.now() - at)
                if self.watch.stopped:
                    step.fail(self.watch.stopped)
                    break
        return self.figures

    async def _measure_round(self, number: int) -> None:
        order = self.run.rng.sample(self.turns, len(self.turns))
        self.watch.begin_block()
        measured: list[tuple[str, Slot, Measured]] = []
        at = self.run.clock.now()
        for turn, slot in order:
            for load in turn:
                if (load, slot) in self.figures.dropped_reasons:
                    continue
                try:
                    slice_ = await self.battery.measure_slice(load, slot)
                except MeasurementInvalid as why:
                    self._drop_load_with_note(load, slot, str(why))
                    continue
                measured.append((load, slot, slice_))
                self._emit_block(number, load, slot, slice_)
        round_total = Measured(
            seconds=self.run.clock.now() - at,
            values={},
            cpu_s=sum(m.cpu_s for _, _, m in measured),
            operations=sum(m.operations for _, _, m in measured if m.device_bytes is not None),
        )
        round_disturbance = self.watch.end_block("rounds", "", round_total)
        await self.watch.pause_to_spare_others()
        disturbed = (round_disturbance,) if round_disturbance is not None and number >= 0 else ()
        for disturbance in disturbed:
            emit_disturbance(disturbance, self.run, "rounds", number)
        if number < 0:
            return
        for load in dict.fromkeys(load for load, _, _ in measured):
            self.run.emit(
                ev.Group(
                    t=self.run.elapsed_s(), workload=load, index=number, order="one all", disturbed=disturbed
                )
            )
        self.figures.add(measured, disturbed=bool(disturbed))

    def _drop_load_with_note(self, load: str, slot: Slot, why: str) -> None:
        self.figures.dropped_reasons[load, slot] = why
        self.run.emit_note(f"{self.titles[load]} ({slot}) is no longer measured: {why}")

    def _emit_block(self, number: int, load: str, slot: Slot, measured: Measured) -> None:
        self.run.emit(
            ev.Block(
                t=self.run.elapsed_s(),
                workload=load,
                variant=slot,
                group=number,
                index=next(self.blocks),
                seconds=measured.seconds,
                values=measured.values,
                phase="steady" if number >= 0 else "warmup",
                operations=measured.operations,
                bytes=measured.bytes,
                device_bytes=measured.device_bytes,
                cpu_s=measured.cpu_s,
            )
        )
