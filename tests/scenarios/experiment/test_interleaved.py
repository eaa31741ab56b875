"""The interleaved experiment on variants that cost no time: verdicts, order, warm-up, onset, budget, planner."""

from __future__ import annotations

import math

import msgspec
import pytest

from scenarios.contract import events as ev
from scenarios.contract.plan import Metric, Workload
from scenarios.experiment.load_schedule import measure_workload
from tests.fakes import FakeRun, FakeVariantBench
from tests.fakes.noise import Noise, autoregressive, quiet, white

READS = Workload(id="randread", title="4 KiB random read", metrics=(Metric("IOPS", "IOPS"),))


def benches_of(
    run: FakeRun, *ratios: float, noise: Noise = quiet, operations_per_s: float = 10_000.0
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


@pytest.mark.parametrize("seed", range(12))
async def test_the_sign_is_right_on_correlated_noise(seed: int) -> None:
    slower = await verdict_of(0.75, seed, autoregressive(seed, 0.6, 0.15))
    faster = await verdict_of(1 / 0.75, seed, autoregressive(seed, 0.6, 0.15))
    assert (slower.verdict, faster.verdict) == ("slower", "faster")


async def test_nothing_planted_is_seldom_called_a_difference() -> None:
    called = [(await verdict_of(1.0, seed, autoregressive(seed, 0.6, 0.15))).verdict for seed in range(40)]
    assert (
        sum(word in ("slower", "faster") for word in called) <= 5
    )  # 5 % of 40 is 2; more than 5 has p < 0.02


async def test_alike_to_the_last_digit_is_no_material_difference() -> None:
    verdict = await verdict_of(1.0, 5, white(5, 0.01))
    assert verdict.verdict == "no material difference"
    assert verdict.smallest_effect is not None and verdict.smallest_effect < 0.05


async def test_inconclusive_says_what_could_be_seen_and_how_long_it_would_take() -> None:
    verdict = await verdict_of(0.93, 11, white(11, 0.3), budget_s=18)
    assert verdict.verdict == "inconclusive"
    assert verdict.reason
    assert verdict.smallest_effect is not None and verdict.smallest_effect > 0.05
    assert verdict.seconds_to_decide is not None and verdict.seconds_to_decide > 18


async def test_costs_are_turned_so_that_under_one_is_slower() -> None:
    run = FakeRun(seed=2)
    cost = Workload(id="firewall", title="cost", metrics=(Metric("ns", "ns/packet", better="less"),))
    noise = white(2, 0.03)
    benches = [
        FakeVariantBench(v, run.clock, {"ns": ns}, less=("ns",), noise=noise)
        for v, ns in (("off", 200.0), ("on", 260.0))
    ]
    [verdict], _ = await measure_workload(run, cost, benches, budget_s=60, family=1)
    assert verdict.verdict == "slower"
    assert verdict.ratio is not None and math.isclose(verdict.ratio, 200 / 260, rel_tol=0.04)
    assert verdict.delta is not None and 40 < verdict.delta < 80  # more nanoseconds, in the natural unit


async def test_groups_are_abba_or_baab_as_the_seed_draws_them() -> None:
    async def orders(seed: int) -> list[str]:
        run = FakeRun(seed=seed)
        await measure_workload(
            run, READS, benches_of(run, 1.0, 0.94, noise=white(seed, 0.2)), budget_s=60, family=1
        )
        return [group.order for group in run.of(ev.Group)]

    first = await orders(1)
    assert set(first) == {"ABBA", "BAAB"}
    assert first == await orders(1)
    assert first != await orders(2)


async def test_activates_only_on_a_change_and_waits_for_what_is_in_flight() -> None:
    run = FakeRun()
    benches = benches_of(run, 1.0, 0.5, noise=white(1, 0.05))
    await measure_workload(run, READS, benches, budget_s=60, family=1)
    active = ""
    in_flight = ""
    for what, variant in benches[0].calls:
        if what == "activate":
            assert variant != active
            assert not in_flight
            active = variant
        elif what == "block":
            assert variant == active
            in_flight = variant
        else:
            assert variant == active
            in_flight = ""


async def test_warm_up_is_recorded_and_never_counted() -> None:
    run = FakeRun()
    [verdict], _ = await measure_workload(
        run, READS, benches_of(run, 1.0, 0.5, noise=white(1, 0.05)), budget_s=60, family=1
    )
    blocks = run.of(ev.Block)
    assert [(b.phase, b.group, b.variant) for b in blocks[:2]] == [("warmup", -1, "A"), ("warmup", -1, "B")]
    steady = [b for b in blocks if b.phase == "steady"]
    assert len(steady) == 4 * verdict.groups == 4 * len(run.of(ev.Group))
    assert [b.index for b in blocks] == list(range(len(blocks)))


async def test_long_blocks_keep_their_onset_apart_and_need_four_groups() -> None:
    run = FakeRun(seed=9)
    schedulers = Workload(
        id="readers",
        title="readers",
        metrics=READS.metrics,
        block_s=15,
        max_block_s=15,
        onset_s=5,
        min_groups=4,
    )
    noise = white(9, 0.02)
    benches = [
        FakeVariantBench(v, run.clock, {"IOPS": rate}, noise=noise, onset_s=5, onset_factor=factor)
        for v, rate, factor in (
            ("mq-deadline", 1000.0, 1.0),
            ("bfq", 700.0, 3.0),
        )  # BFQ starts three times as fast
    ]
    [verdict], _ = await measure_workload(run, schedulers, benches, budget_s=300, family=1)
    assert (verdict.verdict, verdict.groups) == ("slower", 4)
    onset = [b for b in run.of(ev.Block) if b.phase == "onset" and b.variant == "bfq"]
    assert onset and all(b.seconds == 5 and b.values["IOPS"] > 1500 for b in onset)
    assert verdict.ratio is not None and math.isclose(verdict.ratio, 0.7, rel_tol=0.05)
    assert run.of(ev.Group)[0].order in (
        "mq-deadline bfq bfq mq-deadline",
        "bfq mq-deadline mq-deadline bfq",
    )


async def test_a_slow_device_gets_longer_blocks_up_to_the_limit() -> None:
    for rate, expected in ((10_000.0, 0.5), (100.0, 2.0), (1.0, 5.0)):
        run = FakeRun()
        benches = benches_of(run, 1.0, 0.5, operations_per_s=rate, noise=white(1, 0.001))
        await measure_workload(run, READS, benches, budget_s=400, family=1)
        assert benches[0].asked[0] == 0.5
        assert math.isclose(benches[0].asked[1], expected, rel_tol=0.01)


async def test_measuring_ends_with_the_budget() -> None:
    run = FakeRun(seed=9)
    [verdict], _ = await measure_workload(
        run, READS, benches_of(run, 1.0, 0.97, noise=white(9, 0.4)), budget_s=40, family=1
    )
    assert verdict.verdict == "inconclusive"
    assert 34 < run.elapsed_s() <= 40


async def test_what_cannot_get_its_groups_is_not_started_and_that_is_said() -> None:
    run = FakeRun()
    benches = benches_of(run, 1.0, 0.5)
    [verdict], _ = await measure_workload(run, READS, benches, budget_s=12, family=1)
    assert verdict.verdict == "not measured" and verdict.reason
    assert verdict.seconds_to_decide is not None and verdict.seconds_to_decide > 12
    assert (verdict.groups, verdict.ratio) == (0, None)
    assert benches[0].calls == []
    assert verdict.reason in run.of(ev.Note)[0].text


async def test_found_out_in_the_warm_up_that_blocks_must_be_too_long() -> None:
    run = FakeRun()
    [verdict], _ = await measure_workload(
        run, READS, benches_of(run, 1.0, 0.5, operations_per_s=50.0), budget_s=60, family=1
    )
    assert verdict.verdict == "not measured" and verdict.reason
    assert {b.phase for b in run.of(ev.Block)} == {"warmup"}


async def test_four_groups_are_measured_where_the_warm_up_leaves_room_for_no_more() -> None:
    run = FakeRun(seed=9)
    benches = benches_of(run, 1.0, 0.5, operations_per_s=50.0, noise=white(9, 0.01))
    [verdict], _ = await measure_workload(run, READS, benches, budget_s=70, family=1)
    assert (verdict.verdict, verdict.groups) == ("slower", 4)
    assert len({group.order for group in run.of(ev.Group)}) == 2  # both orders are in them
    assert run.elapsed_s() <= 70


async def test_the_planner_tells_how_long_and_stays_within_the_budget() -> None:
    run = FakeRun(seed=7)
    await measure_workload(run, READS, benches_of(run, 1.0, 0.97, noise=white(7, 0.1)), budget_s=60, family=1)
    estimates = run.of(ev.RunningEstimate)
    assert len(estimates) > 8
    for estimate in estimates:
        assert estimate.seconds_left is not None
        assert 0 <= estimate.seconds_left <= 60 - estimate.t + 0.01
        assert estimate.ci95 is not None and estimate.ci95[0] <= estimate.ratio <= estimate.ci95[1]
    assert any(p.seconds_left is not None for p in run.of(ev.Progress))


async def test_p99_is_shown_from_1000_operations_a_group_on() -> None:
    for rate, shown in ((10_000.0, True), (900.0, False)):
        run = FakeRun(seed=6)
        noise = white(6, 0.05)
        benches = [
            FakeVariantBench(v, run.clock, noise=noise, operations_per_s=rate, p99_ns=ns)
            for v, ns in (("A", 250_000), ("B", 400_000))
        ]
        await measure_workload(run, READS, benches, budget_s=60, family=1)
        tails = [e.p99_ns for e in run.of(ev.RunningEstimate)]
        assert tails and all(tail == ((250_000, 400_000) if shown else None) for tail in tails)


async def test_every_event_can_be_written_as_one_line() -> None:
    run = FakeRun(seed=3)
    await measure_workload(run, READS, benches_of(run, 1.0, 0.8, noise=white(3, 0.05)), budget_s=60, family=1)
    times = [event.t for event in run.events]
    assert times == sorted(times)
    for event in run.events:
        assert msgspec.json.decode(msgspec.json.encode(event), type=ev.Common) == event
