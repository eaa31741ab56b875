"""Scenario `null`: the same thing against itself. Can this host be measured, and how small an effect shows?

The same files twice, and the CPU twice. Whatever is called different here is noise, so it is also the proof, on this
very host, that the verdicts of the other scenarios hold. Not two like files: they need not be equally fast.
"""

from collections.abc import Sequence
from contextlib import AsyncExitStack
from functools import partial
from typing import ClassVar

from hostdx.probes.engine.disk.budget import WriteBudget
from hostdx.probes.engine.disk.storage import StorageBench
from hostdx.probes.engine.disk.trains import StorageBatches
from hostdx.probes.engine.measured import BenchRefused
from hostdx.probes.engine.pool import SharedWorkers
from hostdx.probes.files.private_directory import PrivateDirectory
from hostdx.probes.reading.host import Host
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
from hostdx.scenarios.contract.plan import Workload
from hostdx.scenarios.experiment.budget import TimeBudget
from hostdx.scenarios.experiment.experiment import LoadExperiment
from hostdx.scenarios.experiment.guards.watch import watch_for
from hostdx.scenarios.experiment.load_schedule import ScheduledLoad, measure_loads
from hostdx.scenarios.experiment.schedule.train_scheduler import BatchScheduler
from hostdx.scenarios.null.findings import build_findings, estimate_minute_effect
from hostdx.scenarios.null.plan import (
    AGAIN,
    DEFAULT_BUDGET_S,
    ITSELF,
    SIZE_BYTES,
    STORAGE,
    NullDirectory,
    make_plan_and_setup,
    max_written_bytes,
)
from hostdx.scenarios.null.results import NullAnswer, Resolution


@apply_declaration(__file__)
class Null(Scenario):
    takes_s: ClassVar[float] = DEFAULT_BUDGET_S + 6

    def __init__(self, stretch: float = 0.0) -> None:
        """`stretch` plants a latency longer by this share into the second one: for tests, not for users."""
        self.stretch = stretch

    def prepare(self, host: Host, options: OptionMap) -> PreparedRun:
        plan, place = make_plan_and_setup(host, options, self.make_plan)
        return PreparedRun(plan, partial(self._run, place))

    async def _run(self, place: NullDirectory, run: Run) -> None:
        plan = run.plan
        if place.refusal:
            run.emit_note(f"only the CPU is measured: {place.refusal}")
        async with AsyncExitStack() as stack:
            benches = await self._prepare_two_benches(run, place, stack)
            watch = watch_for(
                run, place.leaf_devices, directories=[place.directory_path] if place.fit else []
            )
            budget = TimeBudget(plan.measuring_s, run.clock)
            verdicts: dict[str, ev.RunVerdict] = {}
            blamed: list[str] = []

            def schedule_load(workload: Workload) -> ScheduledLoad:
                sides = dict(zip((ITSELF, AGAIN), benches, strict=True))

                def record_verdict(experiment: LoadExperiment) -> None:
                    verdicts[workload.id] = experiment.verdicts[0]
                    if blame := watch.blame_text(workload.id):
                        blamed.append(f"{workload.title}: {blame}")

                return ScheduledLoad(
                    BatchScheduler(run, workload, StorageBatches(sides, workload.id), watch), record_verdict
                )

            entries = [schedule_load(workload) for workload in plan.workloads]
            await measure_loads(run, budget, entries, family=len(entries))
        _emit_result(run, place, plan.workloads, [verdicts[w.id] for w in plan.workloads], blamed)

    async def _prepare_two_benches(
        self, run: Run, place: NullDirectory, stack: AsyncExitStack
    ) -> list[StorageBench]:
        """Two benches; with a directory both on the same files there."""
        written = WriteBudget(max_written_bytes(place))
        crew = SharedWorkers()

        def make_bench(private: PrivateDirectory | None, number: int, stretch: float) -> StorageBench:
            storage_bench = StorageBench(
                run.host, place.directory_path or "/", private, place.size_bytes or SIZE_BYTES, run.seed + number,
                place.leaf_devices, stretch, budget=written, crew=crew,
            )  # fmt: skip
            stack.push_async_callback(storage_bench.close)
            return storage_bench

        stretches = (0.0, self.stretch)
        if place.fit is None:
            return [make_bench(None, number, stretch) for number, stretch in enumerate(stretches)]
        with run.begin_step("prepare", "write the test files") as step:
            private = await stack.enter_async_context(own_test_directory(run, place.directory_path))
            benches = [make_bench(private, number, stretch) for number, stretch in enumerate(stretches)]
            try:
                await benches[0].prepare_files(step.report_written, STORAGE)
                await benches[1].share_files_of(benches[0])
            except (BenchRefused, OSError) as why:
                raise RunRefused(str(why)) from None
        for note in benches[0].result_notes:
            run.emit_note(f"{place.directory_path}: {note}")
        return benches


def _emit_result(
    run: Run,
    place: NullDirectory,
    workloads: Sequence[Workload],
    verdicts: Sequence[ev.RunVerdict],
    blamed: Sequence[str],
) -> None:
    """The answer, kept for the others to quote, and what a person should make of it."""
    reaches = tuple(estimate_minute_effect(v, w.title) for v, w in zip(verdicts, workloads, strict=True))
    answer = NullAnswer(
        place.directory_path, place.device_name, reaches, run.options.as_number("margin", 0.05)
    )
    run.emit(Resolution(t=run.elapsed_s(), value=answer))
    for finding in build_findings(answer, verdicts, blamed):
        run.emit_finding(finding)
