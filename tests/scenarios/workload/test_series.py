"""A series with a treatment: planted steps are named, and none where nothing is."""

import asyncio
import random
from collections.abc import Sequence

from hostdx.probes.engine.command.supervised import Supervisors
from hostdx.probes.engine.measured import Measured
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.model import Options
from hostdx.scenarios.contract.plan import Plan
from hostdx.scenarios.workload.request import parse_request
from hostdx.scenarios.workload.scenario import judge_and_emit_trend, measure_series
from hostdx.scenarios.workload.variant_bench import WALL, CommandVariantBench
from tests.fakes.run import FakeRun

PLAN = Plan(scenario="workload", title="", question="", measuring_s=1e6)


def draw_walls(slower: float, given_back: float, runs: int = 20, every: int = 5) -> list[float]:
    """Each run `slower` than the one before; each treatment gives a share back."""
    draw = random.Random(3)
    level, seconds = 1.0, []
    for i in range(runs):
        if i and i % every == 0:
            level *= 1 - given_back
        seconds.append(level * draw.gauss(1.0, 0.004))
        level *= 1 + slower
    return seconds


def judge_series(seconds: list[float]) -> tuple[ev.SeriesVerdict, FakeRun]:
    run = FakeRun()
    judge_and_emit_trend(run, "command", seconds, {5, 10, 15})
    return run.of(ev.SeriesVerdict)[0], run


def test_a_treatment_that_breaks_the_trend_is_named() -> None:
    verdict, run = judge_series(draw_walls(0.03, 0.14))
    (event,) = run.of(ev.Found)
    assert verdict.verdict == "slower" and verdict.explain
    assert event.finding.answers and event.finding.id == "workload.treatment"
    assert "trim" not in verdict.explain + event.finding.title


class Treated(CommandVariantBench):
    """Runs that end at once; what was run beside them is kept."""

    order: list[str]

    async def measure_block(self, seconds: float = 0.0) -> Measured:
        self.order.append("run")
        failed = len(self.order) == 5
        return Measured(seconds=1.0, values={} if failed else {WALL: 1.0}, operations=1)

    async def run_helper(self, argv: Sequence[str], option: str) -> None:
        self.order.append(option)


def test_treated_between_the_runs_that_count(supervisors: Supervisors) -> None:
    options = Options({"cmd": "true", "series": 7, "treat": "true", "every": 3})
    run = FakeRun(plan=PLAN)
    request = parse_request(options, "/")
    bench = Treated(run, request.jobs[0], supervisors, at_most_s=1.0)
    bench.order = []
    asyncio.run(measure_series(run, request, bench))
    assert " ".join(bench.order) == "run run run --treat run run run run --treat run"
