"""Scenario `storage`: is it the disk?

Compares directories under the built-in engine's loads, says what each reaches of its link, and what else differs.
A CPU-only load runs along as the negative control; `--pid` and `--cgroup` tell how long a real job waits.
"""

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack
from functools import partial
from typing import ClassVar

from probes.engine.disk.budget import WriteBudget
from probes.engine.disk.storage import StorageBench
from probes.engine.pool import SharedWorkers
from probes.reading.host import Host
from probes.types import Absent
from scenarios.contract.declared_options import apply_declaration
from scenarios.contract.finding import Finding
from scenarios.contract.model import Options, Prepared, Run, Scenario, UsageError, own_directory
from scenarios.contract.plan import Workload
from scenarios.experiment.budget import Budget
from scenarios.experiment.guards.watch import watch_for
from scenarios.storage.findings import (
    class_findings,
    control_moved,
    drift_findings,
    job_finding,
    lesson_finding,
    link_findings,
)
from scenarios.storage.first_answer import first_answer, suspicion_findings
from scenarios.storage.measurement.io_delay import JobIoWait as Waited
from scenarios.storage.measurement.io_delay import watch_job
from scenarios.storage.measuring import StorageMeasurement
from scenarios.storage.plan import DEFAULT_BUDGET_S, JOB_S, StorageSetup, make
from scenarios.storage.results import JobWaits, Levels, WatchedJobWait
from scenarios.storage.targets import describe_shared, list_known_findings, same_device
from scenarios.storage.throttling.caps import watched_s
from scenarios.storage.throttling.findings import (
    cpu_pauses,
    ebs_findings,
    ebs_of,
    lower_levels_to_caps,
    throttle_findings,
    throttles_of,
)


@apply_declaration(__file__)
class Storage(Scenario):
    takes_s: ClassVar[float] = DEFAULT_BUDGET_S + 15

    def __init__(self, stretch: dict[str, float] | None = None, only: tuple[str, ...] = ()) -> None:
        """`stretch` plants a longer latency into variants and `only` restricts the loads: for tests, not for users."""
        self.stretch = stretch or {}
        self.only = only

    def prepare(self, host: Host, options: Options) -> Prepared:
        if not host.live:
            raise UsageError("a captured tree cannot be measured; leave out --root")
        plan, layout = make(host, options, self.make_plan, self.only)
        return Prepared(plan, partial(self._run, layout))

    async def _run(self, layout: StorageSetup, run: Run) -> None:
        plan = run.plan
        loads = [w for w in plan.workloads if not self.only or w.id in self.only]
        known_findings = await asyncio.to_thread(list_known_findings, run.host, layout.targets)
        for finding in known_findings:
            run.emit_finding(finding)  # what is measured of the same thing takes its place
        for entry in layout.shared_parts:
            run.emit_note(describe_shared(entry))
        await self._watch_job(run)
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
            ebs = await asyncio.to_thread(ebs_of, run.host, leaves)
            exceeded: list[Finding] = []
            try:
                await measurement.measure_loads(Budget(plan.measuring_s, run.clock))
                exceeded = ebs_findings(ebs, await asyncio.to_thread(ebs_of, run.host, list(ebs)))
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
                private = await stack.enter_async_context(own_directory(run, target.directory))
                bench = StorageBench(
                    run.host, target.directory, private, layout.size_bytes, run.seed, target.place.leaves,
                    self.stretch.get(target.letter, 0.0), budget=written,
                    crew=crew, places=layout.place_count, links=layout.uses_links(run.host),
                )  # fmt: skip
                stack.push_async_callback(bench.close)
                benches[target.letter] = bench
            await StorageBench.prepare_all(
                list(benches.values()), step.report_written, [load.id for load in loads]
            )
            if layout.uses_links(run.host) and not all(bench.links for bench in benches.values()):
                run.emit_note("files are created and deleted on all sides: one file system has no links")
            for target in layout.targets:
                for note in (*layout.suitable[target.letter].notes, *benches[target.letter].result_notes):
                    run.emit_note(f"{target.letter} ({target.directory}): {note}")
        return benches

    async def _watch_job(self, run: Run) -> None:
        """How long a real job waits for I/O, watched before our own load starts."""
        pids = tuple(int(p) for p in run.options.as_strings("pid"))
        cgroup = run.options.as_string("cgroup")
        if not pids and not cgroup:
            return
        with run.begin_step("job", "watch the job's own I/O wait") as step:
            job_wait = await watch_job(run.host, pids=pids, cgroup=cgroup or None, seconds=JOB_S)
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
    run.emit_finding(job_finding(job_wait.share, job_wait.ci95, job_name, job_wait.samples))


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
    withheld = measurement.cpu_withheld_shares()
    caps = throttles_of(run.host, first, courses, withheld)
    levels = lower_levels_to_caps(measurement.levels, caps)
    run.emit(Levels(t=run.elapsed_s(), value=tuple(levels)))
    # links are made for a comparison; a job makes files
    rated = [v for v in levels if v.workload != "metadata"] if layout.uses_links(run.host) else levels
    findings = [*link_findings(layout.targets, levels), *class_findings(rated, layout.targets), *ebs]
    findings += [
        *throttle_findings(run.host, first, caps),
        *cpu_pauses(courses, withheld, {load for cap in caps for load in cap.loads}),
    ]
    if single or same_device(layout.targets):
        findings += suspicion_findings(run.host, first, levels)
        others = [*known_findings, *findings]
        findings += first_answer(run.host, first, rated, others, watched_s(courses, withheld), single=single)
    findings += drift_findings(verdicts, [target.directory for target in layout.targets])
    learned = lesson_finding(verdicts)
    for finding in (*findings, *((learned,) if learned else ())):
        run.emit_finding(finding)
    moved = [v for v in verdicts if v.control and v.is_different]
    for verdict in moved:
        run.emit_finding(control_moved(verdict))
