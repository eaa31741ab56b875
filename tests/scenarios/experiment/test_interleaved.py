"""The interleaved experiment on variants that cost no time: verdicts, order, warm-up, onset, budget, planner."""

import math

from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.plan import Metric, Workload
from hostdx.scenarios.experiment.load_schedule import measure_workload
from tests.fakes import FakeRun, FakeVariantBench
from tests.fakes.noise import Noise, ar1_noise, no_noise, white

READS = Workload(id="randread", title="4 KiB random read", metrics=(Metric("IOPS", "IOPS"),))


def benches_of(
    run: FakeRun, *ratios: float, noise: Noise = no_noise, operations_per_s: float = 10_000.0
) -> list[FakeVariantBench]:
    """Variants A, B, ... on one machine: they share the noise and the log of calls."""
    calls: list[tuple[str, str]] = []
    return [
        FakeVariantBench(
            letter,
            run.clock,
            {"IOPS": 10_000.0 * ratio},
            noise=noise,
            calls=calls,
            operations_per_s=operations_per_s,
        )
        for letter, ratio in zip("ABCDEF", ratios, strict=False)
    ]


async def verdict_of(ratio: float, seed: int, noise: Noise, budget_s: float = 60.0) -> ev.RunVerdict:
    run = FakeRun(seed=seed)
    [verdict], _ = await measure_workload(
        run, READS, benches_of(run, 1.0, ratio, noise=noise), budget_s=budget_s, family=1
    )
    return verdict


async def test_planted_loss_is_called_slower_with_everything_a_verdict_needs() -> None:
    run = FakeRun(seed=3)
    benches = benches_of(run, 1.0, 0.8, noise=white(3, 0.05))
    [verdict], _ = await measure_workload(run, READS, benches, budget_s=60, family=1, scope="this disk")
    assert verdict.verdict == "slower"
    assert verdict.ratio is not None and math.isclose(verdict.ratio, 0.8, rel_tol=0.05)
    assert verdict.ci95 is not None and verdict.ci95[0] < 0.8 < verdict.ci95[1]
    assert verdict.delta is not None and -2600 < verdict.delta < -1500
    assert verdict.delta_ci95 is not None and verdict.delta_ci95[0] < -2000 < verdict.delta_ci95[1]
    assert (verdict.delta_unit, verdict.scope, verdict.reason) == ("IOPS", "this disk", None)
    assert verdict.slower_in == verdict.groups
    assert 0 < verdict.seconds <= 60
    assert run.of(ev.RunVerdict) == [verdict]


async def test_nothing_planted_is_seldom_called_a_difference() -> None:
    words = [(await verdict_of(1.0, seed, ar1_noise(seed, 0.6, 0.15))).verdict for seed in range(40)]
    assert (
        sum(word in ("slower", "faster") for word in words) <= 5
    )  # 5 % of 40 is 2; more than 5 has p < 0.02


async def test_what_cannot_get_its_groups_is_not_started_and_that_is_said() -> None:
    run = FakeRun()
    benches = benches_of(run, 1.0, 0.5)
    [verdict], _ = await measure_workload(run, READS, benches, budget_s=12, family=1)
    assert verdict.verdict == "not measured" and verdict.reason
    assert verdict.seconds_to_decide is not None and verdict.seconds_to_decide > 12
    assert (verdict.groups, verdict.ratio) == (0, None)
    assert benches[0].calls == []
    assert verdict.reason in run.of(ev.Note)[0].text


async def test_p99_is_shown_from_1000_operations_a_group_on() -> None:
    for rate, is_shown in ((10_000.0, True), (900.0, False)):
        run = FakeRun(seed=6)
        noise = white(6, 0.05)
        benches = [
            FakeVariantBench(v, run.clock, noise=noise, operations_per_s=rate, p99_ns=ns)
            for v, ns in (("A", 250_000), ("B", 400_000))
        ]
        await measure_workload(run, READS, benches, budget_s=60, family=1)
        tails = [e.p99_ns for e in run.of(ev.RunningEstimate)]
        assert tails and all(tail == ((250_000, 400_000) if is_shown else None) for tail in tails)
