"""Scenario `storage`: is it the disk?

Compares directories under the built-in engine's loads, says what each reaches of its link, and what else differs.
A CPU-only load runs along as the negative control; `--pid` and `--cgroup` tell how long a real job waits.

The loads of a storage run: variants in turn, or one directory alone; what was measured is kept as it comes.
"""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from functools import partial
from typing import ClassVar

from hostdx.probes.engine.disk.budget import WriteBudget
from hostdx.probes.engine.disk.refusals import indirect_file_system_words
from hostdx.probes.engine.disk.storage import StorageBench
from hostdx.probes.engine.disk.trains import StorageBatches
from hostdx.probes.engine.measured import Measured, MeasurementInvalid, WriteBudgetSpent
from hostdx.probes.engine.pool import SharedWorkers
from hostdx.probes.reading.host import Host
from hostdx.probes.types import Absent
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.declared_options import apply_declaration
from hostdx.scenarios.contract.finding import Finding
from hostdx.scenarios.contract.model import (
    OptionMap,
    PreparedRun,
    Run,
    Scenario,
    StepInProgress,
    UsageError,
    own_test_directory,
)
from hostdx.scenarios.contract.plan import Plan, Workload
from hostdx.scenarios.experiment.budget import TimeBudget
from hostdx.scenarios.experiment.experiment import LoadExperiment
from hostdx.scenarios.experiment.files.places import ComparedDirectory
from hostdx.scenarios.experiment.files.variant_bench import DirectoryLoadBench
from hostdx.scenarios.experiment.groups import levels_beside_verdicts, values_behind_verdict
from hostdx.scenarios.experiment.guards.watch import InterferenceWatch, watch_for
from hostdx.scenarios.experiment.load_schedule import ScheduledLoad, measure_loads
from hostdx.scenarios.experiment.schedule.guarded import GuardedBlocks, metric_values
from hostdx.scenarios.experiment.schedule.train_scheduler import BatchScheduler
from hostdx.scenarios.experiment.statistics.stats import median_and_interval
from hostdx.scenarios.storage.findings import (
    build_level,
    control_moved_finding,
    disk_cost_finding,
    drift_findings,
    link_findings,
    speed_findings,
    wait_finding,
)
from hostdx.scenarios.storage.first_answer import first_answer, suspicion_findings
from hostdx.scenarios.storage.measurement.io_delay import JobIoWait as Waited
from hostdx.scenarios.storage.measurement.io_delay import measure_job_wait
from hostdx.scenarios.storage.plan import DEFAULT_BUDGET_S, JOB_S, StorageSetup, make_plan_and_setup
from hostdx.scenarios.storage.results import DirectoryLevel, JobWaits, Levels, WatchedJobWait
from hostdx.scenarios.storage.targets import are_on_same_device, describe_shared, list_known_findings
from hostdx.scenarios.storage.throttling.caps import DiskLimit, Throttle, find_throttles, watched_s
from hostdx.scenarios.storage.throttling.detection import BlockCompletions
from hostdx.scenarios.storage.throttling.findings import (
    completions_by_load,
    cpu_pause_findings,
    detect_throttles,
    ebs_counters_of,
    ebs_findings,
    is_virtual,
    limits_below,
    lower_levels_to_caps,
    recast_verdict,
    throttle_findings,
)

MAX_BLOCKS = 24  # of a directory alone, a load: enough for its level


class StorageMeasurement:
    """`levels`, `verdicts` and `courses` (by load) hold at any time, of what was measured until then."""

    def __init__(
        self,
        run: Run,
        targets: Sequence[ComparedDirectory],
        loads: Sequence[Workload],
        benches: Mapping[str, StorageBench],
        watch: InterferenceWatch,
    ) -> None:
        """`benches`: by variant."""
        self._run, self._targets, self._loads, self._benches = run, targets, loads, benches
        self._watch = watch
        self._schedulers: dict[str, BatchScheduler] = {}
        self.levels: list[DirectoryLevel] = []
        self.verdicts: list[ev.RunVerdict] = []
        self.courses: dict[str, list[BlockCompletions]] = {}

    def cpu_taken_shares(self) -> dict[str, float]:
        """Return by load what a quota took of our CPU time."""
        return {load: self._watch.cpu_taken_share(load) for load in self.courses}

    async def measure_loads(self, budget: TimeBudget) -> None:
        """Measure all loads, in the order of importance."""
        if len(self._targets) > 1:
            await self._compare_directories(budget)
            return
        for index, load in enumerate(self._loads):  # in equal parts of the budget
            with self._run.begin_step(load.id, load.title) as step:
                await self._measure_single(load, budget, len(self._loads) - index, step)

    async def _compare_directories(self, budget: TimeBudget) -> None:
        limits = {target.letter: limits_below(self._run.host, target) for target in self._targets}
        scheduled_loads = [self._schedule_load(load, limits) for load in self._loads]
        family = len(self._loads) * (len(self._targets) - 1)
        scope = scope_words(self._run.plan, self._targets)
        await measure_loads(self._run, budget, scheduled_loads, family=family, scope=scope)
        if are_on_same_device(self._targets):
            self.courses |= self._completions_by_variant()[self._targets[0].letter]

    def _schedule_load(self, load: Workload, limits: Mapping[str, Sequence[DiskLimit]]) -> ScheduledLoad:
        batches = StorageBatches(self._benches, load.id)
        scheduler = BatchScheduler(self._run, load, batches, self._watch)
        self._schedulers[load.id] = scheduler
        return ScheduledLoad(
            scheduler,
            partial(self._keep_verdicts_and_levels, load, batches, scheduler),
            recast=partial(self._recast_if_capped, load, limits),
        )

    def _keep_verdicts_and_levels(
        self, load: Workload, batches: StorageBatches, scheduler: BatchScheduler, experiment: LoadExperiment
    ) -> None:
        judged = experiment.verdicts
        self.verdicts += judged
        shown = levels_beside_verdicts(experiment.groups, load.metrics[0], judged)
        for target in self._targets:
            values = values_behind_verdict(experiment.groups, target.letter, load.metrics[0], judged)
            if values and target.letter not in experiment.not_applicable_reasons:
                latencies = scheduler.latency_histogram(target.letter, len(values))
                shown_value = shown.get(target.letter)
                remarks = sorted(batches.remarks)[-1:]
                self.levels.append(level_of(target, load, values, remarks, latencies, shown_value))

    def _recast_if_capped(
        self, load: Workload, limits: Mapping[str, Sequence[DiskLimit]], verdict: ev.RunVerdict
    ) -> ev.RunVerdict:
        is_shared = are_on_same_device(self._targets)
        caps: dict[str, Throttle] = {}
        for letter, courses in self._completions_by_variant().items():
            throttles = find_throttles(
                courses,
                limits[letter],
                virtual=all(is_virtual(target) for target in self._targets),
                turns=1 if is_shared else len(self._targets),
                cpu_taken={name: self._watch.cpu_taken_share(name) for name in courses},
            )
            if own := [throttle for throttle in throttles if load.id in throttle.loads]:
                caps[letter] = own[-1]
        return recast_verdict(verdict, caps)

    def _completions_by_variant(self) -> dict[str, dict[str, list[BlockCompletions]]]:
        counted = {
            load: scheduler.counted_batches
            for load, scheduler in self._schedulers.items()
            if scheduler.counted_batches
        }
        letters = [target.letter for target in self._targets]
        return completions_by_load(letters, counted, shared=are_on_same_device(self._targets))

    async def _measure_single(
        self, load: Workload, budget: TimeBudget, loads_to_retest: int, step: StepInProgress
    ) -> None:
        """Measure the one directory: there is nothing to be interleaved with."""
        [target] = self._targets
        bench = DirectoryLoadBench(target.letter, self._benches[target.letter], load)
        blocks = GuardedBlocks(self._run, self._watch)
        why = ""
        try:
            await bench.start_workers_and_rehearse()
            why = await self._measure_until_early_end(load, bench, budget.left_s / loads_to_retest, blocks)
        finally:
            counted = blocks.counted_blocks(load.id)
            values = metric_values(counted, bench.variant, load.metrics[0].name)
            if values and not bench.unfit:
                latencies = [pair for block in counted for pair in block.histogram]
                self.levels.append(level_of(target, load, values, sorted(bench.remarks)[-1:], latencies))
                if why:
                    self._run.emit_note(f"{load.title}: {why}")
            else:
                step.skip_step(bench.unfit or why or "nothing could be measured")

    async def _measure_until_early_end(
        self, load: Workload, bench: DirectoryLoadBench, seconds: float, blocks: GuardedBlocks
    ) -> str:
        """Measure blocks one after another, the first a warm-up. Return why that ended early, or ""."""
        run = self._run
        courses = self.courses.setdefault(load.id, [])
        ends = run.clock.now() + seconds
        await self._watch.look_before_first_block()
        done = 0

        async def measure_block() -> Measured:
            measured = await bench.measure_block(load.block_s)
            began_s = run.clock.now() - measured.seconds
            courses.append(
                BlockCompletions(began_s=began_s, seconds=measured.seconds, completions=measured.completions)
            )
            return measured

        try:
            for index in range(MAX_BLOCKS + 1):
                if blocks.stop_reason or (index and run.clock.now() + load.block_s > ends):
                    break
                phase: ev.Phase = "steady" if index else "warmup"
                await blocks.measure(load.id, bench.variant, measure_block, group=index, phase=phase)
                await blocks.pause_to_spare_others(load.id, index)
                done = index
                # a block ends a little late
                run.emit_progress(load.id, load.title, max(0.0, ends - run.clock.now()))
        except WriteBudgetSpent as spent:  # what was measured until now holds
            return f"ended after {done} blocks: {spent}"
        except MeasurementInvalid as unfit:
            return f"not applicable: {unfit}"
        return f"stopped: {blocks.stop_reason}" if blocks.stop_reason else ""


def scope_words(plan: Plan, targets: Sequence[ComparedDirectory]) -> str:
    """Return what a verdict is about. "this disk" only where each has a disk of its own and nothing else differs."""
    if plan.differs:
        return "this stack"
    kinds = sorted(
        {
            target.place.mount.fstype
            for target in targets
            if not target.devices or indirect_file_system_words(target.place.mount.fstype)
        }
    )
    if kinds:
        return f"this file system ({', '.join(kinds)}), not a disk"
    if are_on_same_device(targets):
        return "this directory, not the disk"
    if any(device.kind == "loop" for target in targets for device in target.devices):
        return "this stack (a loop device is a file, not a disk)"
    return "this disk"


def level_of(
    target: ComparedDirectory,
    load: Workload,
    values: Sequence[float],
    remarks: Sequence[str],
    latencies: Sequence[tuple[int, int]] = (),
    shown_value: float | None = None,
) -> DirectoryLevel:
    middle, interval = median_and_interval(values, shown_value)
    name, unit = load.metrics[0].name, load.metrics[0].unit
    return build_level(target, load.id, name, unit, middle, interval, len(values), list(remarks), latencies)


@apply_declaration(__file__)
class Storage(Scenario):
    takes_s: ClassVar[float] = DEFAULT_BUDGET_S + 15

    def __init__(self, stretch: dict[str, float] | None = None, only: tuple[str, ...] = ()) -> None:
        """`stretch` plants a longer latency into variants and `only` restricts the loads: for tests, not for users."""
        self.stretch = stretch or {}
        self.only = only

    def prepare(self, host: Host, options: OptionMap) -> PreparedRun:
        if not host.live:
            raise UsageError("a captured tree cannot be measured; leave out --root")
        plan, layout = make_plan_and_setup(host, options, self.make_plan, self.only)
        return PreparedRun(plan, partial(self._run, layout))

    async def _run(self, layout: StorageSetup, run: Run) -> None:
        plan = run.plan
        loads = [w for w in plan.workloads if not self.only or w.id in self.only]
        known_findings = await asyncio.to_thread(list_known_findings, run.host, layout.targets)
        for finding in known_findings:
            run.emit_finding(finding)  # what is measured of the same thing takes its place
        for entry in layout.shared_parts:
            run.emit_note(describe_shared(entry))
        await self._watch_job_wait_if_asked(run)
        written = WriteBudget(layout.most_bytes)
        async with AsyncExitStack() as stack:
            watch = watch_for(  # before the files are written: what others do meanwhile is part of the quiet level
                run,
                [name for entry in layout.targets for name in entry.place.leaves],
                by_variant={entry.letter: entry.place.leaves for entry in layout.targets},
                directories=[entry.directory for entry in layout.targets],
            )
            benches = await self._prepare_benches(run, layout, loads, written, stack)
            measurement = StorageMeasurement(run, layout.targets, loads, benches, watch)
            leaves = sorted({leaf for entry in layout.targets for leaf in entry.place.leaves})
            ebs = await asyncio.to_thread(ebs_counters_of, run.host, leaves)
            exceeded: list[Finding] = []
            try:
                await measurement.measure_loads(TimeBudget(plan.measuring_s, run.clock))
                exceeded = ebs_findings(ebs, await asyncio.to_thread(ebs_counters_of, run.host, list(ebs)))
            finally:  # what was measured before a stop is an answer too
                report_conclusions(run, layout, measurement, known_findings, exceeded)

    async def _prepare_benches(
        self,
        run: Run,
        layout: StorageSetup,
        loads: list[Workload],
        written: WriteBudget,
        stack: AsyncExitStack,
    ) -> dict[str, StorageBench]:
        """The private directories and the filled files of every directory; closed by `stack`."""
        benches: dict[str, StorageBench] = {}
        crew = SharedWorkers()
        with run.begin_step("prepare", "write the test files") as step:
            for target in layout.targets:
                private = await stack.enter_async_context(own_test_directory(run, target.directory))
                bench = StorageBench(
                    run.host, target.directory, private, layout.size_bytes, run.seed, target.place.leaves,
                    self.stretch.get(target.letter, 0.0), budget=written,
                    crew=crew, places=layout.place_count, links=layout.makes_links(run.host),
                )  # fmt: skip
                stack.push_async_callback(bench.close)
                benches[target.letter] = bench
            await StorageBench.prepare_all(
                list(benches.values()), step.report_written, [load.id for load in loads]
            )
            if layout.makes_links(run.host) and not all(bench.links for bench in benches.values()):
                run.emit_note("files are created and deleted on all sides: one file system has no links")
            for target in layout.targets:
                for note in (*layout.suitable[target.letter].notes, *benches[target.letter].result_notes):
                    run.emit_note(f"{target.letter} ({target.directory}): {note}")
        return benches

    async def _watch_job_wait_if_asked(self, run: Run) -> None:
        """How long a real job waits for I/O, watched before our own load starts."""
        pids = tuple(int(p) for p in run.options.as_strings("pid"))
        cgroup = run.options.as_string("cgroup")
        if not pids and not cgroup:
            return
        with run.begin_step("job", "watch the job's own I/O wait") as step:
            job_wait = await measure_job_wait(run.host, pids=pids, cgroup=cgroup or None, seconds=JOB_S)
            if isinstance(job_wait, Absent):
                run.emit_fact("job", "io_wait", job_wait)
                step.skip_step(job_wait.reason)
            else:
                report_job_wait(
                    run, job_wait, f"cgroup {cgroup}" if cgroup else "pid " + ", ".join(map(str, pids))
                )


def report_job_wait(run: Run, job_wait: Waited, job_name: str) -> None:
    result = WatchedJobWait(
        what=job_name,
        waited=job_wait.share,
        ci95=job_wait.ci95,
        samples=job_wait.samples,
        seconds=job_wait.seconds,
        source=job_wait.source,
        remark=job_wait.remark,
    )
    run.emit(JobWaits(t=run.elapsed_s(), value=result))
    run.emit_finding(wait_finding(job_wait.share, job_wait.ci95, job_name, job_wait.samples))


def report_conclusions(
    run: Run,
    layout: StorageSetup,
    measurement: StorageMeasurement,
    known_findings: Sequence[Finding],
    ebs: Sequence[Finding],
) -> None:
    """The levels and the findings that stand on them."""
    first, single = layout.targets[0], len(layout.targets) == 1
    courses, verdicts = measurement.courses, measurement.verdicts
    withheld = measurement.cpu_taken_shares()
    caps = detect_throttles(run.host, first, courses, withheld)
    levels = lower_levels_to_caps(measurement.levels, caps)
    run.emit(Levels(t=run.elapsed_s(), value=tuple(levels)))
    # links are made for a comparison; a job makes files
    rated = [v for v in levels if v.workload != "metadata"] if layout.makes_links(run.host) else levels
    findings = [*link_findings(layout.targets, levels), *speed_findings(rated, layout.targets), *ebs]
    findings += [
        *throttle_findings(run.host, first, caps),
        *cpu_pause_findings(courses, withheld, {load for cap in caps for load in cap.loads}),
    ]
    if single or are_on_same_device(layout.targets):
        findings += suspicion_findings(run.host, first, levels)
        others = [*known_findings, *findings]
        findings += first_answer(run.host, first, rated, others, watched_s(courses, withheld), single=single)
    findings += drift_findings(verdicts, [target.directory for target in layout.targets])
    learned = disk_cost_finding(verdicts)
    for finding in (*findings, *((learned,) if learned else ())):
        run.emit_finding(finding)
    moved = [v for v in verdicts if v.control and v.is_different]
    for verdict in moved:
        run.emit_finding(control_moved_finding(verdict))
