"""Scenario `iosched`: which I/O scheduler? Switches it under load, measures, and puts everything back."""

import asyncio
import os
from collections.abc import Sequence
from functools import partial
from typing import ClassVar

from hostdx.probes.engine.disk.budget import WriteBudget
from hostdx.probes.reading.host import Host
from hostdx.probes.system.disk.block import block_devices
from hostdx.probes.system.disk.scheduler import read_scheduler_state
from hostdx.probes.system.running.tasks import find_blocked_tasks, find_still_asleep
from hostdx.probes.types import is_present
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.declared_options import apply_declaration
from hostdx.scenarios.contract.finding import Finding
from hostdx.scenarios.contract.model import (
    OptionMap,
    PreparedRun,
    Run,
    RunRefused,
    Scenario,
    own_test_directory,
)
from hostdx.scenarios.experiment.budget import TimeBudget, seconds_for_first
from hostdx.scenarios.experiment.load_schedule import measure_workload
from hostdx.scenarios.experiment.schedule.guarded import metric_values
from hostdx.scenarios.iosched.findings import (
    OnsetComparison,
    device_class_finding,
    onset_finding,
    throttling_finding,
    verdict_finding,
    writers_reached_bound_finding,
)
from hostdx.scenarios.iosched.measurement.mixed import MixedBench
from hostdx.scenarios.iosched.plan import build_plan
from hostdx.scenarios.iosched.scheduler_setup import (
    DEFAULT_BUDGET_S,
    ORDER,
    PairLoad,
    SchedulerSetup,
    choose_scheduler_setup,
    estimate_least_time,
    needed_seconds,
    pace_factor_of,
)
from hostdx.scenarios.iosched.switch import MixedLoadWatch, MixedVariantBench, Switcher
from hostdx.scenarios.iosched.target import ScheduledDisks

# On a host with a storm of hanging tasks a switch hangs as well, and makes it worse.
STORM = 3
PREPARING_S = 15.0  # writing the test files, and the way back
STORM_LOOK_S = 1.0


def _is_root() -> bool:
    return os.geteuid() == 0


@apply_declaration(__file__, loads=", ".join(ORDER))
class Iosched(Scenario):
    """Current scheduler against those that the class of device suggests, one pair after the other."""

    takes_s: ClassVar[float] = DEFAULT_BUDGET_S + PREPARING_S

    def blocking_reason(self, host: Host) -> str:
        if not host.live:
            return "a captured host has no scheduler to switch"
        if not _is_root():
            return "switching a scheduler needs root; which one each disk runs, and why, `hostdx triage` reads without"
        states = (read_scheduler_state(host, name) for name, d in block_devices(host).items() if not d.parent)
        if not any(is_present(s) and len(s.offered) > 1 for s in states):
            return "no device here offers two schedulers; which one each disk runs, `hostdx triage` reads"
        return ""

    def prepare(self, host: Host, options: OptionMap) -> PreparedRun:
        setup = choose_scheduler_setup(host, options, has_root=_is_root())
        return PreparedRun(build_plan(host, setup, options, self.make_plan), partial(self._run, setup))

    async def _run(self, setup: SchedulerSetup, run: Run) -> None:
        target = setup.target
        assert target is not None, "without one the plan refuses"
        await self._refuse_if_many_tasks_hang(run)
        switcher = Switcher(run, target.leaf_names, target.current)
        try:
            async with own_test_directory(run, target.directory) as private:
                bench = MixedBench(
                    run.host,
                    private,
                    setup.size_bytes,
                    run.seed,
                    target.leaf_names,
                    budget=WriteBudget(setup.most_written),
                )
                try:
                    await self._prepare_files(run, bench, setup)
                    await self._measure_jobs(run, bench, setup, target, switcher)
                finally:
                    try:
                        await bench.close()
                    finally:
                        await switcher.switch_back()
        finally:
            self._emit_restore_findings(run, switcher)

    async def _refuse_if_many_tasks_hang(self, run: Run) -> None:
        first = await asyncio.to_thread(find_blocked_tasks, run.host)
        if not is_present(first) or not first.tasks:
            return
        await run.clock.sleep(STORM_LOOK_S)
        hanging = find_still_asleep(first, await asyncio.to_thread(find_blocked_tasks, run.host))
        if len(hanging) >= STORM:
            raise RunRefused(
                f"{len(hanging)} tasks hang in D (the first one is {hanging[0].comm}): a switch could hang "
                "too; see `hostdx run dstate`"
            )

    async def _prepare_files(self, run: Run, bench: MixedBench, setup: SchedulerSetup) -> None:
        with run.begin_step("prepare", "write the test files") as step:
            await bench.prepare_files(setup.mixes, step.report_written)
            await bench.wait_until_settled()

    async def _measure_jobs(
        self, run: Run, bench: MixedBench, setup: SchedulerSetup, target: ScheduledDisks, switcher: Switcher
    ) -> None:
        budget = TimeBudget(setup.budget_s, run.clock)
        watch = MixedLoadWatch(run, bench, target.leaf_names, (target.directory,))
        by_variant: dict[str, list[ev.RunVerdict]] = {}
        held_back: list[Finding] = []
        pace = 1.0
        for number, job in enumerate(setup.jobs):
            began_s = run.clock.now()
            with run.begin_step(job.workload.id, job.workload.title):
                bench.write_rate = job.write_rate or None
                compared = [
                    MixedVariantBench(name, switcher, bench, job.mix, job.workload)
                    for name in (target.current, job.variant)
                ]
                verdicts, blocks = await measure_workload(
                    run,
                    job.workload,
                    compared,
                    budget_s=self._job_seconds(budget, setup.jobs[number:], bench, pace),
                    family=len(setup.jobs),
                    watch=watch,
                    scope="this stack",
                )
                pace = max(pace, pace_factor_of(job.workload, blocks, run.clock.now() - began_s))
                by_variant.setdefault(job.variant, []).extend(verdicts)
                for variant_bench in compared:
                    self._emit_onset_finding(run, target, job, variant_bench.variant, blocks)
                held = writers_reached_bound_finding(
                    target.names_text,
                    job,
                    [job.written_rates(blocks, variant_bench.variant) for variant_bench in compared],
                )
                if held is not None:
                    held_back.append(held)
        await switcher.switch_back()
        self._emit_findings(run, target, by_variant, switcher)
        for held in held_back:
            run.emit_finding(held)

    @staticmethod
    def _job_seconds(budget: TimeBudget, jobs: Sequence[PairLoad], bench: MixedBench, pace: float) -> float:
        """What it needs for its fewest groups comes first; the writers' seconds are bounded by their bytes.

        `pace`: how many times as long as planned the groups of an earlier load took, where switching is slow.
        """
        job = jobs[0]
        needs = [estimate_least_time(j) for j in jobs]
        slower = [need._replace(seconds=need.seconds * pace) for need in needs]
        seconds = seconds_for_first(budget.left_s, slower)
        if not job.mix.has_writers:
            return seconds
        # What the budget does not reach to has no bytes planned either.
        own = needed_seconds(job.workload)
        later = sum(needed_seconds(j.workload) for j in jobs[1:] if j.mix.has_writers and j.allotted_s)
        bytes_for_it = bench.budget.left_bytes * own / (own + later)
        return min(seconds, bytes_for_it / (job.write_rate * job.mix.writer_count))

    def _emit_onset_finding(
        self, run: Run, target: ScheduledDisks, job: PairLoad, variant: str, blocks: list[ev.Block]
    ) -> None:
        lead = job.workload.metrics[0]
        name = f"{job.mix.title}, {lead.name}"
        onsets, steadies = (metric_values(blocks, variant, lead.name, phase) for phase in ("onset", "steady"))
        phase = OnsetComparison(name, variant, tuple(onsets), tuple(steadies), lead.unit)
        finding = onset_finding(target.names_text, phase)
        if finding is not None:
            run.emit_finding(finding)

    def _emit_findings(
        self, run: Run, target: ScheduledDisks, by_variant: dict[str, list[ev.RunVerdict]], switcher: Switcher
    ) -> None:
        for variant, verdicts in by_variant.items():
            finding = verdict_finding(run.host, target, variant, verdicts)
            run.emit_finding(finding)
        for extra in (
            throttling_finding(switcher.states_by_scheduler, target.current),
            device_class_finding(target),
        ):
            if extra is not None:
                run.emit_finding(extra)

    def _emit_restore_findings(self, run: Run, switcher: Switcher) -> None:
        with run.begin_step("restore", "check the queue"):
            for finding in switcher.untouched.build_findings():
                run.emit_finding(finding)
