"""The interleaved experiment on arms that cost no time: order, budget, verdicts, what is not applicable."""

from __future__ import annotations

import math

from scenarios import events as ev
from scenarios.experiment import compare
from scenarios.plan import Metric, Workload
from tests.fakes import FakeArm, FakeRun
from tests.fakes.noise import white

READS = Workload(id="randread", title="4 KiB random read", metrics=(Metric("IOPS", "IOPS"),))


def two(run: FakeRun, ratio: float, sigma: float = 0.05) -> tuple[FakeArm, FakeArm]:
    noise = white(run.seed, sigma)
    calls: list[tuple[str, str]] = []
    return (
        FakeArm("A", run.clock, {"IOPS": 10_000.0}, noise=noise, calls=calls),
        FakeArm("B", run.clock, {"IOPS": 10_000.0 * ratio}, noise=noise, calls=calls),
    )


async def test_planted_loss_is_called_slower_with_everything_a_verdict_needs() -> None:
    run = FakeRun(seed=3)
    [verdict] = await compare(run, READS, two(run, 0.8), budget_s=60, family=1)
    assert verdict.verdict == "slower"
    assert verdict.ratio is not None and math.isclose(verdict.ratio, 0.8, rel_tol=0.05)
    assert verdict.ci95 is not None and verdict.ci95[0] < 0.8 < verdict.ci95[1]
    assert verdict.delta is not None and -2600 < verdict.delta < -1500
    assert verdict.delta_unit == "IOPS"
    assert verdict.explain
    assert run.of(ev.Verdict) == [verdict]


async def test_planted_gain_is_called_faster() -> None:
    run = FakeRun(seed=4)
    [verdict] = await compare(run, READS, two(run, 1.25), budget_s=60, family=1)
    assert verdict.verdict == "faster"
