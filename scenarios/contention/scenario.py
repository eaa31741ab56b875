"""Scenario `contention`: does more in parallel give more, and if not, which lock is it?"""

import os
import shlex
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial

from probes import units
from probes.bench.contention.bench import ContentionBench, ScalingPoint
from probes.bench.contention.operations import MAX_SIDE_BYTES
from probes.bench.profile.symbols import Symbols
from probes.host import Host
from scenarios.contention.findings import findings
from scenarios.contention.judge import Key, MeasuredPoints, curves, so_far, with_locks
from scenarios.contention.plan import (
    CONTROL,
    LEAST_GROUPS,
    MEMORY_DISKS,
    MOST_WRITTEN_BYTES,
    SYNC_BYTES,
    ContentionSetup,
    Load,
    layout,
    planned,
)
from scenarios.contention.results import Curve, Curves
from scenarios.declared_options import apply_declaration
from scenarios.model import Options, Prepared, Run, Scenario, StepInProgress, own_directory
from scenarios.option_value import command_arguments

LOCKS_S = 0.3  # of a point in which the kernel tells of its locks
TRIES = 3  # of a point in which the workers had no CPU


@apply_declaration(__file__)
class Contention(Scenario):
    def __init__(self, starts: type[ContentionBench] = ContentionBench) -> None:
        self._starts = starts

    def prepare(self, host: Host, options: Options) -> Prepared:
        found = layout(host, options)
        return Prepared(planned(host, found, options, self.make_plan), partial(self._run, found))

    async def _run(self, found: ContentionSetup, run: Run) -> None:
        for text in found.left_out:
            run.emit_note(f"left out: {text}")
        async with self._bench(run, found) as bench:
            with run.begin_step("measure", "measure and judge") as step:
                measured = await _measure(run, found, bench, step)
                made = curves(measured, found.curves, found.sides, found.judged, run.effect_margin, run.rng)
                made = await _locks(run, found, bench, made)
        run.emit(Curves(t=run.time(), value=made))
        options = run.options.values | {"budget": 4 * found.budget_s}
        longer = shlex.join(["hostdx", "run", self.id, *command_arguments(options, self.options)])
        for one in findings(made, memory=found.memory, longer=longer):
            run.emit_finding(one)

    @asynccontextmanager
    async def _bench(self, run: Run, found: ContentionSetup) -> AsyncIterator[ContentionBench]:
        workers = found.levels[-1]
        async with AsyncExitStack() as stack:
            with run.begin_step("prepare", "make files and directories"):
                if found.memory:
                    name = (await stack.enter_async_context(run.change(MEMORY_DISKS))).value
                    bench = await self._starts.in_memory(name, found.sides, workers)
                else:
                    private = [
                        await stack.enter_async_context(own_directory(run, fit.directory))
                        for fit in found.directories
                    ]
                    bench = await self._starts.in_directories([one.fd for one in private], workers)
            stack.push_async_callback(bench.close)
            yield bench


async def _locks(
    run: Run, found: ContentionSetup, bench: ContentionBench, made: tuple[Curve, ...]
) -> tuple[Curve, ...]:
    """Of what does not scale, or may not: a point more, in which the kernel tells of its locks (root, Linux 5.19)."""
    symbols, told = Symbols(), []
    for curve, (load, side) in zip(made, found.curves, strict=True):
        if os.geteuid() == 0 and load.id != CONTROL and curve.scales_to != found.judged:
            workers = next((n for n in found.levels if n > (curve.stops_after or 1)), found.judged)
            point = await bench.measure_point(load.id, side, workers, LOCKS_S, locks=True)
            curve = with_locks(curve, point, workers, symbols)
            if point.locks is None:
                run.emit_note(
                    "no locks by name: this kernel has no lock:contention_begin that can be read (5.19 or newer)"
                )
                return made
        told.append(curve)
    return tuple(told)


async def _measure(
    run: Run, found: ContentionSetup, bench: ContentionBench, step: StepInProgress
) -> MeasuredPoints:
    """Groups until the budget ends: each load up to the most workers and down again, the sides in turn at each."""
    points: dict[Key, dict[int, list[list[ScalingPoint]]]] = {
        (load.id, side): {n: [] for n in found.levels} for load, side in found.curves
    }
    kinds: dict[Load, list[int]] = {}
    for load, side in found.curves:
        kinds.setdefault(load, []).append(side)
    began, number, written = run.clock.now(), 0, 0
    while True:
        for load in run.rng.sample(list(kinds), len(kinds)):
            for side in kinds[load]:
                for n in found.levels:
                    points[load.id, side][n].append([])
            order = run.rng.sample(kinds[load], len(kinds[load]))
            for levels, sides in ((found.levels, order), (found.levels[::-1], order[::-1])):
                for n in levels:
                    for side in sides:
                        for _ in range(TRIES):
                            point = await bench.measure_point(load.id, side, n, found.point_s)
                            written += point.operations * SYNC_BYTES if load.id == "fsync" else 0
                            if not point.is_starved:
                                break
                        points[load.id, side][n][-1].append(point)
            if not number:  # the first group fills the table load by load
                ended = [curve for curve in found.curves if points[curve[0].id, curve[1]][found.levels[0]]]
                early = so_far(MeasuredPoints(points), ended, found.sides)
                run.emit(Curves(t=run.time(), value=early))
        number, spent, written = number + 1, run.clock.now() - began, written + MAX_SIDE_BYTES
        run.emit(Curves(t=run.time(), value=so_far(MeasuredPoints(points), found.curves, found.sides)))
        left = max(0.0, run.plan.measuring_s - spent)
        step.report_progress(
            f"{units.counted(number, 'group')} of all loads", left, min(1.0, spent / max(spent + left, 1e-3))
        )
        if not found.memory and written * (number + 1) / number > MOST_WRITTEN_BYTES:
            run.emit_note("the bytes that may be written are used up: no further group")
            return MeasuredPoints(points)
        if spent + spent / number > run.plan.measuring_s and number >= LEAST_GROUPS:
            return MeasuredPoints(points)
        if spent > 3 * run.plan.measuring_s:
            run.emit_note(f"the host is too busy: {number} groups took three times the budget")
            return MeasuredPoints(points)
