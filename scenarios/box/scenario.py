"""Scenario `box`: between which corners does this file system leave an application?

IO500's easy and hard patterns of bandwidth and metadata, with the built-in engine, in three minutes instead of hours.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from typing import ClassVar

from hostdx.probes.engine.disk.budget import WriteBudget
from hostdx.probes.files.private_directory import PrivateDirectory
from hostdx.probes.reading.host import Host
from hostdx.scenarios.analysis.compare.bounding_box import ApplicationPoint, place_applications
from hostdx.scenarios.analysis.compare.placing import placing_finding
from hostdx.scenarios.box.bounds import boxes_with_outliers, outlier_run_findings, own_boxes, same_setup_runs
from hostdx.scenarios.box.cycles import BoxCycles
from hostdx.scenarios.box.findings import box_findings
from hostdx.scenarios.box.measurement.bench import BoxBench
from hostdx.scenarios.box.plan import (
    DEFAULT_BUDGET_S,
    MAX_WORKERS,
    BoxSetup,
    make_plan_and_setup,
    network_storage_warning,
)
from hostdx.scenarios.box.results import BoundingBoxResult, CornerFigures, CornersResult, JobsResult
from hostdx.scenarios.contract.declared_options import apply_declaration
from hostdx.scenarios.contract.model import (
    OptionMap,
    PreparedRun,
    Run,
    RunRefused,
    Scenario,
    own_test_directory,
)
from hostdx.scenarios.experiment.guards.watch import InterferenceWatch, watch_for

EngineMaker = Callable[[Run, BoxSetup, PrivateDirectory], BoxBench]


def make_built_in_bench(run: Run, layout: BoxSetup, private: PrivateDirectory) -> BoxBench:
    return BoxBench(
        run.host, private, layout.place.leaf_devices, layout.side_bytes, layout.worker_count, run.seed,
        WriteBudget(layout.most_bytes), max_files=layout.max_files,
    )  # fmt: skip


@apply_declaration(__file__, most_workers=MAX_WORKERS)
class BoxScenario(Scenario):
    takes_s: ClassVar[float] = DEFAULT_BUDGET_S + 20

    def __init__(
        self,
        engine: EngineMaker = make_built_in_bench,
        watch: Callable[[Run, BoxSetup], InterferenceWatch | None] | None = None,
    ) -> None:
        """Another engine and watch are for tests, not for users."""
        self.engine = engine
        self.watch = watch or _make_watch

    def prepare(self, host: Host, options: OptionMap) -> PreparedRun:
        plan, layout = make_plan_and_setup(host, options, self.make_plan)
        return PreparedRun(plan, partial(self._run, layout))

    async def _run(self, layout: BoxSetup, run: Run) -> None:
        plan = run.plan
        jobs = [*layout.jobs, *(point for path in layout.recordings for point in job_points_in(run, path))]
        watch = self.watch(run, layout)
        async with AsyncExitStack() as stack:
            with run.begin_step("prepare", plan.steps[0].title) as step:
                private = await stack.enter_async_context(own_test_directory(run, layout.directory_path))
                bench = self.engine(run, layout, private)
                stack.push_async_callback(bench.close)
                await bench.prepare_files(step.report_written)
                if layout.is_network_file_system:
                    run.emit_note(network_storage_warning(layout))
            cycles = BoxCycles(run, bench, plan.workloads, watch, f"this file system ({layout.file_system})")
            try:
                with run.begin_step("corners", plan.steps[1].title) as step:
                    await cycles.measure(step, plan.measuring_s, layout.worker_count)
            finally:  # what was measured before a stop is an answer too
                emit_results(run, layout, cycles, bench, jobs)


def job_points_in(run: Run, path: str) -> Sequence[ApplicationPoint]:
    from hostdx.scenarios.box.jobs import read_job_recording

    if points := list(read_job_recording(Path(path).stem, run.recorded_events(path))):
        return points
    raise RunRefused(
        f"--job {path}: no recording of workload whose runs moved 1 MiB or more from or to disks; "
        "run the command by `hostdx run workload` on the file system, its cache dropped (--cold)"
    )


def emit_results(
    run: Run,
    layout: BoxSetup,
    cycles: BoxCycles,
    bench: BoxBench,
    jobs: Sequence[ApplicationPoint],
) -> None:
    if cycles.ended:
        run.emit_note(f"ended early: {cycles.ended}")
    measured = CornerFigures(
        directory=layout.directory_path,
        file_system=layout.file_system,
        source=layout.source,
        workers=layout.worker_count,
        direct=bench.direct,
        file_bytes=2 * layout.side_bytes,
        names=bench.file_count,
        beside=bench.surrounding_names.entries,
        listed_s=bench.surrounding_names.seconds,
        listed=bench.surrounding_names.is_complete,
        levels=cycles.corner_levels(),
    )
    verdicts = cycles.load_verdicts()
    for verdict in verdicts:
        run.emit(verdict)
    run.emit(CornersResult(t=run.elapsed_s(), value=measured))
    bounds, odd = boxes_with_outliers(
        measured, same_setup_runs(measured, run.finished_results(CornersResult))
    )
    if bounds:
        run.emit(BoundingBoxResult(t=run.elapsed_s(), value=tuple(place_applications(bounds, jobs))))
    own = place_applications(own_boxes(measured), jobs)
    points = [placing_finding(box, point) for box in own for point in box.placed]
    if points:
        run.emit(JobsResult(t=run.elapsed_s(), value=tuple(own)))
    if len(points) < len(jobs):
        run.emit_note("a job is not placed: a corner of its box was not measured")
    for finding in (*outlier_run_findings(measured, odd), *points, *box_findings(measured, verdicts)):
        run.emit_finding(finding)


def _make_watch(run: Run, layout: BoxSetup) -> InterferenceWatch:
    return watch_for(run, layout.place.leaf_devices, directories=[layout.directory_path])
