"""Scenario `iosched`: which I/O scheduler? Switches it under load, measures, and puts everything back."""

import asyncio
import os
from collections.abc import Sequence
from functools import partial
from typing import ClassVar

from probes.bench.disk.budget import WriteBudget
from probes.bench.disk.mixed import MixedBench
from probes.host import Host
from probes.system.disk.block import block_devices
from probes.system.disk.scheduler import scheduling
from probes.system.running.tasks import still, tasks_in_d
from probes.types import present
from scenarios import events as ev
from scenarios.declared_options import apply_declaration
from scenarios.experiment.budget import Budget, seconds_for_first
from scenarios.experiment.load_schedule import measure_workload
from scenarios.experiment.schedule.guarded import metric_values
from scenarios.finding import Finding
from scenarios.iosched.findings import (
    Phase,
    advice,
    held_finding,
    onset_finding,
    throttling_finding,
    verdict_finding,
)
from scenarios.iosched.plan import make
from scenarios.iosched.scheduler_setup import (
    DEFAULT_BUDGET_S,
    ORDER,
    PairLoad,
    SchedulerSetup,
    layout,
    need,
    needed_seconds,
)
from scenarios.iosched.switch import MixedVariantBench, MixedWatch, Switcher
from scenarios.iosched.target import ScheduledDisks
from scenarios.model import Options, Prepared, Run, RunRefused, Scenario, own_directory

# On a host with a storm of hanging tasks a switch hangs as well, and makes it worse.
STORM = 3
PREPARING_S = 15.0  # writing the test files, and the way back
STORM_LOOK_S = 1.0


def _root() -> bool:
    return os.geteuid() == 0


@apply_declaration(__file__, loads=", ".join(ORDER))
class Iosched(Scenario):
    """Current scheduler against those that the class of device suggests, one pair after the other."""

    takes_s: ClassVar[float] = DEFAULT_BUDGET_S + PREPARING_S

    def blocked(self, host: Host) -> str:
        if not host.live:
            return "a captured host has no scheduler to switch"
        if not _root():
            return "switching a scheduler needs root; which one each disk runs, and why, `hostdx triage` reads without"
        states = (scheduling(host, name) for name, d in block_devices(host).items() if not d.parent)
        if not any(present(s) and len(s.offered) > 1 for s in states):
            return "no device here offers two schedulers; which one each disk runs, `hostdx triage` reads"
        return ""

    def prepare(self, host: Host, options: Options) -> Prepared:
        found = layout(host, options, has_root=_root())
        return Prepared(make(host, found, options, self.make_plan), partial(self._run, found))

    async def _run(self, found: SchedulerSetup, run: Run) -> None:
        target = found.target
        assert target is not None, "without one the plan refuses"
        await self._refuse_a_storm(run)
        switcher = Switcher(run, target.leaves, target.current)
        try:
            async with own_directory(run, target.directory) as private:
                bench = MixedBench(
                    run.host,
                    private,
                    found.size_bytes,
                    run.seed,
                    target.leaves,
                    budget=WriteBudget(found.most_written),
                )
                try:
                    await self._prepare(run, bench, found)
                    await self._measure(run, bench, found, target, switcher)
                finally:
                    try:
                        await bench.close()
                    finally:
                        await switcher.back()
        finally:
            self._restored(run, switcher)

    async def _refuse_a_storm(self, run: Run) -> None:
        first = await asyncio.to_thread(tasks_in_d, run.host)
        if not present(first) or not first.tasks:
            return
        await run.clock.sleep(STORM_LOOK_S)
        hanging = still(first, await asyncio.to_thread(tasks_in_d, run.host))
        if len(hanging) >= STORM:
            raise RunRefused(
                f"{len(hanging)} tasks hang in D (the first one is {hanging[0].comm}): a switch could hang "
                "too; see `hostdx run dstate`"
            )

    async def _prepare(self, run: Run, bench: MixedBench, found: SchedulerSetup) -> None:
        with run.begin_step("prepare", "write the test files") as step:
            await bench.prepare_files(found.mixes, step.report_written)
            await bench.wait_until_settled()

    async def _measure(
        self, run: Run, bench: MixedBench, found: SchedulerSetup, target: ScheduledDisks, switcher: Switcher
    ) -> None:
        budget = Budget(found.budget_s, run.clock)
        watch = MixedWatch(run, bench, target.leaves, (target.directory,))
        by_variant: dict[str, list[ev.RunVerdict]] = {}
        held_back: list[Finding] = []
        for number, job in enumerate(found.jobs):
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
                    budget_s=self._share(budget, found.jobs[number:], bench),
                    family=len(found.jobs),
                    watch=watch,
                    scope="this stack",
                )
                by_variant.setdefault(job.variant, []).extend(verdicts)
                for one in compared:
                    self._onset(run, target, job, one.variant, blocks)
                held = held_finding(target.names, job, [job.written(blocks, one.variant) for one in compared])
                if held is not None:
                    held_back.append(held)
        await switcher.back()
        self._findings(run, target, by_variant, switcher)
        for held in held_back:
            run.emit_finding(held)

    @staticmethod
    def _share(budget: Budget, waiting_jobs: Sequence[PairLoad], bench: MixedBench) -> float:
        """What it needs for its fewest groups comes first; the writers' seconds are bounded by their bytes."""
        job = waiting_jobs[0]
        seconds = seconds_for_first(budget.left_s, [need(j) for j in waiting_jobs])
        if not job.mix.has_writers:
            return seconds
        # What the budget does not reach to has no bytes planned either.
        own = needed_seconds(job.workload)
        later = sum(
            needed_seconds(j.workload) for j in waiting_jobs[1:] if j.mix.has_writers and j.allotted_s
        )
        bytes_for_it = bench.budget.left_bytes * own / (own + later)
        return min(seconds, bytes_for_it / (job.write_rate * job.mix.writer_count))

    def _onset(
        self, run: Run, target: ScheduledDisks, job: PairLoad, variant: str, blocks: list[ev.Block]
    ) -> None:
        lead = job.workload.metrics[0]
        name = f"{job.mix.title}, {lead.name}"
        onsets, steadies = (metric_values(blocks, variant, lead.name, phase) for phase in ("onset", "steady"))
        phase = Phase(name, variant, tuple(onsets), tuple(steadies), lead.unit)
        finding = onset_finding(target.names, phase)
        if finding is not None:
            run.emit_finding(finding)

    def _findings(
        self, run: Run, target: ScheduledDisks, by_variant: dict[str, list[ev.RunVerdict]], switcher: Switcher
    ) -> None:
        for variant, verdicts in by_variant.items():
            finding = verdict_finding(run.host, target, variant, verdicts)
            run.emit_finding(finding)
        for extra in (throttling_finding(switcher.seen, target.current), advice(target)):
            if extra is not None:
                run.emit_finding(extra)

    def _restored(self, run: Run, switcher: Switcher) -> None:
        with run.begin_step("restore", "check the queue"):
            for finding in switcher.untouched.findings():
                run.emit_finding(finding)
