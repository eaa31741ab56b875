"""Scenario `workload`: the admin's own command under variants: which is faster, and where the time went.

One variant, run after run: the trend of its wall time, and whether a treatment in between broke it.

What is treated cannot be untreated, so there is no ABBA here: the line and its steps are fitted as those of `fstrim`.
"""

from __future__ import annotations

import os
from contextlib import AsyncExitStack
from functools import partial
from itertools import chain
from typing import ClassVar

from hostdx.probes.engine.command.supervised import Supervisors
from hostdx.probes.engine.measured import BenchRefused, MeasurementInvalid, WriteBudgetSpent
from hostdx.probes.profile.symbols import FrameNames
from hostdx.probes.reading.host import Host
from hostdx.probes.types import Absent
from hostdx.scenarios.analysis.profile.results import CallPaths, LocksResult
from hostdx.scenarios.contract.declared_options import apply_declaration
from hostdx.scenarios.contract.finding import Evidence, Finding
from hostdx.scenarios.contract.model import OptionMap, PreparedRun, Run, RunRefused, Scenario, UsageError
from hostdx.scenarios.contract.option_value import OptionRedaction
from hostdx.scenarios.contract.plan import PlannedStep
from hostdx.scenarios.experiment.guards.watch import watch_for
from hostdx.scenarios.experiment.load_schedule import measure_workload
from hostdx.scenarios.experiment.schedule.guarded import GuardedBlocks, metric_values
from hostdx.scenarios.experiment.schedule.host_settings import HostSettingsSwitch
from hostdx.scenarios.experiment.treated_trend import TreatedTrend, treated_trend
from hostdx.scenarios.triage.rules.texts import finding_texts
from hostdx.scenarios.workload.cold import CacheDropper, explain_undroppable, paths_to_drop
from hostdx.scenarios.workload.findings import failing_finding, undecided_finding, wall_finding
from hostdx.scenarios.workload.group import (
    SampleCurves,
    ScoreReader,
    find_group_root,
    group_action,
    limits_problem,
    limits_to_carry_over,
)
from hostdx.scenarios.workload.plan import (
    left_out_sentences,
    list_actions,
    list_commands,
    make_variant,
    planned_sentences,
)
from hostdx.scenarios.workload.request import MIN_SERIES_RUNS, CommandRequest, parse_request
from hostdx.scenarios.workload.results import MemoryLimits, TimeSplitsResult
from hostdx.scenarios.workload.split import (
    ProfiledGroups,
    collect_profiles,
    find_limit_cause,
    split_wall_time,
    wall_times_beside_verdicts,
)
from hostdx.scenarios.workload.variant_bench import (
    WALL,
    CommandVariantBench,
    MovedBytesCounter,
    WriteAllowance,
    likely_directories,
)
from hostdx.scenarios.workload.variants import CommandVariant

SAYS = finding_texts("workload")

TREATMENT = "treatment"


async def measure_series(run: Run, wanted: CommandRequest, bench: CommandVariantBench) -> None:
    """So many runs that ended well, within the budget, the treatment before every so many of them."""
    measured = GuardedBlocks(run, None)
    load, began = wanted.load, run.clock.now()
    treated: set[int] = set()
    index = 0
    await bench.switch_to_variant()
    while (done := len(metric_values(measured.counted_blocks(load.id), bench.variant, WALL))) < wanted.series:
        if run.clock.now() - began >= run.plan.measuring_s:
            run.emit_note(f"{bench.variant}: the budget was spent after {index} runs (raise --budget)")
            break
        try:
            if wanted.treat and done and done % wanted.every == 0 and done not in treated:
                await bench.run_extra_command(wanted.treat, "--treat")
                treated.add(done)
            await measured.measure(load.id, bench.variant, bench.measure_block, group=index)
        except WriteBudgetSpent as why:
            run.emit_note(f"{bench.variant}: {why}")
            break
        index += 1
    walls = metric_values(measured.counted_blocks(load.id), bench.variant, WALL)
    judge_and_emit_trend(run, load.id, walls, treated)


def judge_and_emit_trend(run: Run, workload: str, walls: list[float], treated: set[int]) -> None:
    """`treated`: the runs, counted from 0, that it came before."""
    rates = [1 / wall for wall in walls]  # more is better
    treats = [i in treated for i in range(len(walls))]
    trend = treated_trend(rates, [1.0] * len(walls), treats, treatment=TREATMENT)
    run.emit(trend.series_verdict(run.elapsed_s(), workload))
    if any(treats):
        finding = treatment_jump_finding(trend)
        if finding is not None:
            run.emit_finding(finding)
        elif (
            trend.jumps
        ):  # what was not seen clears nobody: how much each may have given stands in the verdict
            run.emit_note(f"no {TREATMENT} changed the runs by more than chance")
        else:
            run.emit_note(f"too few runs between the {TREATMENT}s to show their effect")


def treatment_jump_finding(trend: TreatedTrend) -> Finding | None:
    """Return whether the treatment broke the trend: beyond chance at 1 % over all treatments of the series."""
    called = [jump for jump in trend.jumps if jump.called]
    if not called:
        return None
    gave = [jump for jump in called if jump.gave > 0]
    title = f"the {TREATMENT} broke the trend" if gave else f"the {TREATMENT} made the runs slower"
    return SAYS.finding(
        "treatment",
        found=title,
        how=(gave or called)[0].text,
        evidence=[Evidence(jump.text) for jump in trend.jumps],
    )


BUDGET_S = 300.0


@apply_declaration(__file__, least_series=MIN_SERIES_RUNS)
class CommandUnderVariants(Scenario):
    takes_s: ClassVar[float] = BUDGET_S

    def prepare(self, host: Host, options: OptionMap) -> PreparedRun:
        cwd = options.as_string("cwd") or _current_directory_or_refuse()
        private = options.is_set("private")
        wanted = _parse_and_hide_reason(options, cwd)
        budget = options.as_number("budget", BUDGET_S)
        root = find_group_root(host)
        limits = limits_to_carry_over(host, root)
        lacked = (
            f"variant {j.id}: {why}" for j in wanted.jobs if (why := limits_problem(host, root, j.limits))
        )
        warm = (
            why for j in wanted.jobs for p in paths_to_drop(wanted.cold, j) if (why := explain_undroppable(p))
        )
        refused = next(chain(lacked, warm), "")
        plan = self.make_plan(
            options={
                **OptionRedaction(options.values, self.options, form=str).redact_options(options.values),
                "cwd": cwd,
            },
            variants=tuple(make_variant(job, private=private) for job in wanted.jobs),
            workloads=(wanted.load,),
            steps=(PlannedStep("measure", "measure and judge", budget),),
            actions=list_actions(wanted, root, limits),
            left_out=left_out_sentences(root),
            seconds=budget,
            measuring_s=budget,
            commands=list_commands(wanted, private=private),
            sentences=planned_sentences(wanted, budget, limits, private=private),
            refusal=refused,
        )
        return PreparedRun(plan, partial(self._run, wanted))

    async def _run(self, wanted: CommandRequest, run: Run) -> None:
        changes = [action for job in wanted.jobs for action in job.settings]
        allowance, curves = WriteAllowance(wanted.most_bytes), SampleCurves(run)
        async with Supervisors() as supervisors, AsyncExitStack() as stay:
            settings = await stay.enter_async_context(HostSettingsSwitch(run, changes)) if changes else None
            benches = [
                CommandVariantBench(
                    run,
                    job,
                    supervisors,
                    at_most_s=wanted.at_most_s,
                    score=ScoreReader(wanted.score) if wanted.score else None,
                    prepare=wanted.prepare,
                    private=run.options.is_set("private"),
                    group=await _make_group_and_get_path(run, stay, job),
                    stay=settings,
                    cold=CacheDropper(run, job, supervisors, wanted.cold) if wanted.cold else None,
                    allowance=allowance,
                    curves=curves,
                    profile=run.options.is_set("call-paths"),
                    devices=MovedBytesCounter(run.host, likely_directories(job.cwd, job.env.values())),
                )
                for job in wanted.jobs
            ]
            with run.begin_step("measure", "measure and judge"):
                await _measure_and_clean_up(run, wanted, benches)


async def _make_group_and_get_path(run: Run, stay: AsyncExitStack, job: CommandVariant) -> str:
    """The variant's own group, gone when `stay` ends; "" where none can be made. Raises RunRefused where it must be."""
    root = find_group_root(run.host)
    if isinstance(root, Absent):
        return ""
    try:
        limits = {**limits_to_carry_over(run.host, root).limits, **job.limits}
        applied_group = await stay.enter_async_context(run.apply_change(group_action(job.id, root, limits)))
    except RunRefused as why:
        if job.limits:
            raise
        run.emit_note(f"{job.id}: runs in no control group of its own: {why}")
        return ""
    return applied_group.value


async def _measure_and_clean_up(run: Run, wanted: CommandRequest, benches: list[CommandVariantBench]) -> None:
    if wanted.series:
        await measure_series(run, wanted, benches[0])
    else:
        await _compare_variants(run, wanted, benches)
    for bench in benches:
        if bench.failed:
            run.emit_finding(failing_finding(bench.variant, bench.failed, bench.runs, bench.problem))
        try:
            await bench.run_extra_command(wanted.cleanup, "--cleanup", bounded=False)
        except (MeasurementInvalid, BenchRefused) as why:
            run.emit_note(f"{bench.variant}: {why}")


async def _compare_variants(run: Run, wanted: CommandRequest, benches: list[CommandVariantBench]) -> None:
    verdicts, blocks = await measure_workload(
        run,
        wanted.load,
        benches,
        budget_s=run.plan.measuring_s,
        family=len(wanted.variant_pairs),
        watch=watch_for(run),
        pairs=wanted.variant_pairs,
    )
    waits = {(bench.variant, wall_s): entry for bench in benches for wall_s, entry in bench.waited.items()}
    walls = {(v.baseline, v.variant): v for v in verdicts if v.metric == WALL}
    values = dict(zip(walls, wall_times_beside_verdicts(blocks, list(walls.values())), strict=True))
    splits = {
        pair: entry
        for pair in wanted.variant_pairs
        if (entry := split_wall_time(blocks, *pair, waits, walls.get(pair), values.get(pair)))
    }
    if splits:
        run.emit(TimeSplitsResult(t=run.elapsed_s(), value=tuple(splits.values())))
    if run.options.is_set("call-paths"):
        _emit_call_paths(run, [collect_profiles(blocks, benches, pair) for pair in wanted.variant_pairs])
    limits = {pair: met for pair in splits if (met := find_limit_cause(blocks, *pair))}
    if limits:
        run.emit(MemoryLimits(t=run.elapsed_s(), value=tuple(limits.values())))
    for pair, verdict in walls.items():
        entry = splits.get(pair)
        if entry is None:
            continue
        limit = limits.get(pair)
        make_finding = wall_finding if verdict.is_different else undecided_finding
        run.emit_finding(make_finding(verdict, entry, limit))


def _emit_call_paths(run: Run, all_profiles: list[ProfiledGroups]) -> None:
    symbols = FrameNames()
    if trees := tuple(
        tree for profiles in all_profiles if (tree := profiles.build_tree(symbols, len(all_profiles)))
    ):
        run.emit(CallPaths(t=run.elapsed_s(), value=trees))
    else:
        run.emit_note(
            "no call paths: perf events are not there, not allowed (kernel.perf_event_paranoid), would slow a command"
            " that switches so often (as a user), or there were too few groups"
        )
    if tables := tuple(table for profiles in all_profiles if (table := profiles.build_lock_table(symbols))):
        run.emit(LocksResult(t=run.elapsed_s(), value=tables))
    elif trees:
        run.emit_note(
            "no table of the kernel's locks: it needs root and lock:contention_begin with the fields that are known"
            " (Linux 5.19 or newer without PREEMPT_RT)"
        )


def _parse_and_hide_reason(options: OptionMap, cwd: str) -> CommandRequest:
    """Raises UsageError; the reason is recorded, so with `--private` none is given that a file's words stand in."""
    try:
        return parse_request(options, cwd)
    except UsageError:
        if options.is_set("private") and (name := options.as_string("file")):
            raise UsageError(f"--file {name}: refused; leave --private out to read why") from None
        raise


def _current_directory_or_refuse() -> str:
    try:
        return os.getcwd()  # noqa: PTH109 (as text)
    except OSError:
        raise RunRefused("the current directory is gone; name another --cwd") from None
