"""One variant, run after run: the trend of its wall time, and whether a treatment in between broke it.

What is treated cannot be untreated, so there is no ABBA here: the line and its steps are fitted as those of `fstrim`.
"""

from __future__ import annotations

from probes.engine.measured import WriteBudgetSpent
from scenarios.contract.finding import Evidence, Finding
from scenarios.contract.model import Run
from scenarios.experiment.schedule.guarded import GuardedBlocks, metric_values
from scenarios.experiment.treated_trend import TreatedTrend, treated_trend
from scenarios.triage.rules.texts import texts
from scenarios.workload.request import CommandRequest
from scenarios.workload.variant_bench import WALL, CommandVariantBench

SAYS = texts("workload")

TREATMENT = "treatment"


async def measure_series(run: Run, wanted: CommandRequest, bench: CommandVariantBench) -> None:
    """So many runs that ended well, within the budget, the treatment before every so many of them."""
    measured = GuardedBlocks(run, None)
    load, began = wanted.load, run.clock.now()
    treated: set[int] = set()
    index = 0
    await bench.make_active()
    while (done := len(metric_values(measured.counted_blocks(load.id), bench.variant, WALL))) < wanted.series:
        if run.clock.now() - began >= run.plan.measuring_s:
            run.emit_note(f"{bench.variant}: the budget was spent after {index} runs (raise --budget)")
            break
        try:
            if wanted.treat and done and done % wanted.every == 0 and done not in treated:
                await bench.run_helper(wanted.treat, "--treat")
                treated.add(done)
            await measured.measure(load.id, bench.variant, bench.measure_block, group=index)
        except WriteBudgetSpent as why:
            run.emit_note(f"{bench.variant}: {why}")
            break
        index += 1
    walls = metric_values(measured.counted_blocks(load.id), bench.variant, WALL)
    judge(run, load.id, walls, treated)


def judge(run: Run, workload: str, walls: list[float], treated: set[int]) -> None:
    """`treated`: the runs, counted from 0, that it came before."""
    rates = [1 / wall for wall in walls]  # more is better
    treats = [i in treated for i in range(len(walls))]
    trend = treated_trend(rates, [1.0] * len(walls), treats, treatment=TREATMENT)
    run.emit(trend.series_verdict(run.elapsed_s(), workload))
    if any(treats):
        finding = treatment_finding(trend)
        if finding is not None:
            run.emit_finding(finding)
        elif (
            trend.jumps
        ):  # what was not seen clears nobody: how much each may have given stands in the verdict
            run.emit_note(f"no {TREATMENT} changed the runs by more than chance")
        else:
            run.emit_note(f"too few runs between the {TREATMENT}s to show their effect")


def treatment_finding(trend: TreatedTrend) -> Finding | None:
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
