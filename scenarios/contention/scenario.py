"""Scenario `contention`: does more in parallel give more, and if not, which lock is it?"""

import os
import shlex
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial

from hostdx.probes import units
from hostdx.probes.profile.symbols import FrameNames
from hostdx.probes.reading.host import Host
from hostdx.scenarios.contention.findings import contention_findings
from hostdx.scenarios.contention.judge import (
    Key,
    MeasuredPoints,
    curves_so_far,
    judge_curves,
    with_lock_waits,
)
from hostdx.scenarios.contention.measurement.bench import ContentionBench, ScalingPoint
from hostdx.scenarios.contention.measurement.operations import MAX_SIDE_BYTES
from hostdx.scenarios.contention.plan import (
    CONTROL,
    MAX_WRITTEN_BYTES,
    MEMORY_DISKS,
    MIN_GROUPS,
    SYNC_BYTES,
    ContentionLoad,
    ContentionSetup,
    build_plan,
    make_contention_setup,
)
from hostdx.scenarios.contention.results import ScalingCurve, ScalingCurves
from hostdx.scenarios.contract.declared_options import apply_declaration
from hostdx.scenarios.contract.model import (
    OptionMap,
    PreparedRun,
    Run,
    Scenario,
    StepInProgress,
    own_test_directory,
)
from hostdx.scenarios.contract.option_value import command_arguments

LOCKS_S = 0.3  # of a point in which the kernel tells of its locks
TRIES = 3  # of a point in which the workers had no CPU


@apply_declaration(__file__)
class Contention(Scenario):
    def __init__(self, starts: type[ContentionBench] = ContentionBench) -> None:
        self._starts = starts

    def prepare(self, host: Host, options: OptionMap) -> PreparedRun:
        setup = make_contention_setup(host, options)
        return PreparedRun(build_plan(host, setup, options, self.make_plan), partial(self._run, setup))

    async def _run(self, setup: ContentionSetup, run: Run) -> None:
        for text in setup.left_out:
            run.emit_note(f"left out: {text}")
        async with self._open_bench(run, setup) as bench:
            with run.begin_step("measure", "measure and judge") as step:
                measured = await _measure_points(run, setup, bench, step)
                judged_curves = judge_curves(
                    measured, setup.curve_keys, setup.sides, setup.judged, run.effect_margin, run.rng
                )
                judged_curves = await _add_lock_waits(run, setup, bench, judged_curves)
        run.emit(ScalingCurves(t=run.elapsed_s(), value=judged_curves))
        options = run.options.values | {"budget": 4 * setup.budget_s}
        longer = shlex.join(["hostdx", "run", self.id, *command_arguments(options, self.options)])
        for finding in contention_findings(judged_curves, memory=setup.memory, longer=longer):
            run.emit_finding(finding)

    @asynccontextmanager
    async def _open_bench(self, run: Run, setup: ContentionSetup) -> AsyncIterator[ContentionBench]:
        workers = setup.levels[-1]
        async with AsyncExitStack() as stack:
            with run.begin_step("prepare", "make files and directories"):
                if setup.memory:
                    name = (await stack.enter_async_context(run.apply_change(MEMORY_DISKS))).value
                    bench = await self._starts.on_memory_disks(name, setup.sides, workers)
                else:
                    private = [
                        await stack.enter_async_context(own_test_directory(run, fit.directory))
                        for fit in setup.directories
                    ]
                    bench = await self._starts.start_in_directories(
                        [directory.fd for directory in private], workers
                    )
            stack.push_async_callback(bench.close)
            yield bench


async def _add_lock_waits(
    run: Run, setup: ContentionSetup, bench: ContentionBench, judged_curves: tuple[ScalingCurve, ...]
) -> tuple[ScalingCurve, ...]:
    """Of what does not scale, or may not: a point more, in which the kernel tells of its locks (root, Linux 5.19)."""
    symbols, curves_with_locks = FrameNames(), []
    for curve, (load, side) in zip(judged_curves, setup.curve_keys, strict=True):
        if os.geteuid() == 0 and load.id != CONTROL and curve.scales_to != setup.judged:
            workers = next((n for n in setup.levels if n > (curve.stops_after or 1)), setup.judged)
            point = await bench.measure_unqueued_point(load.id, side, workers, LOCKS_S, locks=True)
            curve = with_lock_waits(curve, point, workers, symbols)
            if point.locks is None:
                run.emit_note(
                    "no locks by name: this kernel has no lock:contention_begin that can be read (5.19 or newer)"
                )
                return judged_curves
        curves_with_locks.append(curve)
    return tuple(curves_with_locks)


async def _measure_points(
    run: Run, setup: ContentionSetup, bench: ContentionBench, step: StepInProgress
) -> MeasuredPoints:
    """Groups until the budget ends: each load up to the most workers and down again, the sides in turn at each."""
    points: dict[Key, dict[int, list[list[ScalingPoint]]]] = {
        (load.id, side): {n: [] for n in setup.levels} for load, side in setup.curve_keys
    }
    kinds: dict[ContentionLoad, list[int]] = {}
    for load, side in setup.curve_keys:
        kinds.setdefault(load, []).append(side)
    began, number, written = run.clock.now(), 0, 0
    while True:
        for load in run.rng.sample(list(kinds), len(kinds)):
            for side in kinds[load]:
                for n in setup.levels:
                    points[load.id, side][n].append([])
            order = run.rng.sample(kinds[load], len(kinds[load]))
            for levels, sides in ((setup.levels, order), (setup.levels[::-1], order[::-1])):
                for n in levels:
                    for side in sides:
                        for _ in range(TRIES):
                            point = await bench.measure_unqueued_point(load.id, side, n, setup.point_s)
                            written += point.operations * SYNC_BYTES if load.id == "fsync" else 0
                            if not point.is_starved:
                                break
                        points[load.id, side][n][-1].append(point)
            if not number:  # the first group fills the table load by load
                ended = [key for key in setup.curve_keys if points[key[0].id, key[1]][setup.levels[0]]]
                early = curves_so_far(MeasuredPoints(points), ended, setup.sides)
                run.emit(ScalingCurves(t=run.elapsed_s(), value=early))
        number, spent, written = number + 1, run.clock.now() - began, written + MAX_SIDE_BYTES
        run.emit(
            ScalingCurves(
                t=run.elapsed_s(), value=curves_so_far(MeasuredPoints(points), setup.curve_keys, setup.sides)
            )
        )
        left = max(0.0, run.plan.measuring_s - spent)
        step.report_progress(
            f"{units.count_noun(number, 'group')} of all loads",
            left,
            min(1.0, spent / max(spent + left, 1e-3)),
        )
        if not setup.memory and written * (number + 1) / number > MAX_WRITTEN_BYTES:
            run.emit_note("the bytes that may be written are used up: no further group")
            return MeasuredPoints(points)
        if spent + spent / number > run.plan.measuring_s and number >= MIN_GROUPS:
            return MeasuredPoints(points)
        if spent > 3 * run.plan.measuring_s:
            run.emit_note(f"the host is too busy: {number} groups took three times the budget")
            return MeasuredPoints(points)
