"""Scenario `box`: between which corners does this file system leave an application?

IO500's easy and hard patterns of bandwidth and metadata, with the built-in engine, in three minutes instead of hours.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from msgspec.structs import replace

from probes.bench.corners.bench import CornerBench
from probes.bench.disk.budget import WriteBudget
from probes.host import Host
from probes.private_directory import PrivateDirectory
from scenarios.box.bounds import bounding, like, odd_findings, own_boxes
from scenarios.box.cycles import Bench, Cycles
from scenarios.box.findings import findings
from scenarios.box.plan import DEFAULT_BUDGET_S, MOST_WORKERS, BoxSetup, loads_others, make
from scenarios.box.results import BoundingBox, CornerFigures, Corners, Jobs
from scenarios.compare.bounding_box import Placed, placed
from scenarios.compare.placing import placing
from scenarios.declared_options import apply_declaration
from scenarios.guards.watch import InterferenceWatch, watch_for
from scenarios.model import (
    Options,
    Prepared,
    Run,
    RunRefused,
    Scenario,
    own_directory,
)

if TYPE_CHECKING:
    from probes.bench.corners.programs import Program

EngineMaker = Callable[[Run, BoxSetup, PrivateDirectory], CornerBench]


def built_in(run: Run, layout: BoxSetup, private: PrivateDirectory) -> CornerBench:
    return CornerBench(
        run.host, private, layout.place.leaf_devices, layout.side_bytes, layout.worker_count, run.seed,
        WriteBudget(layout.most_bytes - layout.program_bytes), most_names=layout.most_names,
    )  # fmt: skip


@apply_declaration(__file__, most_workers=MOST_WORKERS)
class Box(Scenario):
    takes_s: ClassVar[float] = DEFAULT_BUDGET_S + 20

    def __init__(
        self,
        engine: EngineMaker = built_in,
        watch: Callable[[Run, BoxSetup], InterferenceWatch | None] | None = None,
    ) -> None:
        """Another engine and watch are for tests, not for users."""
        self.engine = engine
        self.watch = watch or _watch

    def prepare(self, host: Host, options: Options) -> Prepared:
        plan, layout = make(host, options, self.make_plan)
        return Prepared(plan, partial(self._run, layout))

    async def _run(self, layout: BoxSetup, run: Run) -> None:
        plan = run.plan
        jobs = [*layout.jobs, *(point for path in layout.recordings for point in recorded(run, path))]
        watch = self.watch(run, layout)
        async with AsyncExitStack() as stack:
            with run.begin_step("prepare", plan.steps[0].title) as step:
                private = await stack.enter_async_context(own_directory(run, layout.directory_path))
                bench = self.engine(run, layout, private)
                stack.push_async_callback(bench.close)
                await bench.prepare_files(step.report_written)
                if layout.shared:
                    run.emit_note(loads_others(layout))
            cycles = Cycles(run, bench, plan.workloads, watch, f"this file system ({layout.file_system})")
            others: dict[str, float] = {}
            try:
                with run.begin_step("corners", plan.steps[1].title) as step:
                    await cycles.measure(step, plan.measuring_s, layout.worker_count)
                if layout.program is not None:
                    with run.begin_step("other", plan.steps[2].title):
                        others |= await by_program(run, layout, layout.program, private, bench)
            finally:  # what was measured before a stop is an answer too
                conclude(run, layout, cycles, bench, others, jobs)


async def by_program(
    run: Run, layout: BoxSetup, program: Program, private: PrivateDirectory, bench: CornerBench
) -> dict[str, float]:
    """The corners as the site's own program has them."""
    from probes.bench.corners.programs import CornerDirectory, corners

    place = CornerDirectory(
        private.link, layout.worker_count, layout.side_bytes // 2, bench.file_count // 2, bench.direct
    )
    values, troubles = await corners(program, private, place)
    for why in troubles:
        run.emit_note(why)
    return values


def recorded(run: Run, path: str) -> Sequence[Placed]:
    from scenarios.box.jobs import of_recording

    if found := list(of_recording(Path(path).stem, run.recorded_events(path))):
        return found
    raise RunRefused(
        f"--job {path}: no recording of workload whose runs moved 1 MiB or more from or to disks; "
        "run the command by `hostdx run workload` on the file system, its cache dropped (--cold)"
    )


def conclude(
    run: Run,
    layout: BoxSetup,
    cycles: Cycles,
    bench: Bench,
    others: Mapping[str, float],
    jobs: Sequence[Placed],
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
        levels=tuple(
            replace(one, tool=layout.program.engine, other=others[one.corner])
            if layout.program is not None and one.corner in others
            else one
            for one in cycles.levels()
        ),
    )
    verdicts = cycles.verdicts()
    for verdict in verdicts:
        run.emit(verdict)
    run.emit(Corners(t=run.time(), value=measured))
    found, odd = bounding(measured, like(measured, run.finished_results(Corners)))
    if found:
        run.emit(BoundingBox(t=run.time(), value=tuple(placed(found, jobs))))
    own = placed(own_boxes(measured), jobs)
    points = [placing(box, point) for box in own for point in box.placed]
    if points:
        run.emit(Jobs(t=run.time(), value=tuple(own)))
    if len(points) < len(jobs):
        run.emit_note("a job is not placed: a corner of its box was not measured")
    for finding in (*odd_findings(measured, odd), *points, *findings(measured, verdicts)):
        run.emit_finding(finding)


def _watch(run: Run, layout: BoxSetup) -> InterferenceWatch:
    return watch_for(run, layout.place.leaf_devices, directories=[layout.directory_path])
