"""The experiment when things go wrong: disturbances, variants that are not applicable, stalls, cancellation."""

import msgspec
import pytest

from hostdx.probes.engine.measured import BenchRefused, Measured, WriteBudgetSpent
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.disturbance import Disturbance, InterferenceCulprit
from hostdx.scenarios.contract.plan import Metric, Workload
from hostdx.scenarios.experiment.budget import TimeBudget
from hostdx.scenarios.experiment.experiment import LoadExperiment
from hostdx.scenarios.experiment.load_schedule import ScheduledLoad, measure_loads, measure_workload
from hostdx.scenarios.experiment.schedule.blocks import BlockScheduler
from tests.fakes import FakeRun, FakeVariantBench
from tests.fakes.noise import drift_noise, noise_product, white
from tests.fakes.watch import FakeWatch

READS = Workload(id="randread", title="4 KiB random read", metrics=(Metric("IOPS", "IOPS"),))
RSYNC = Disturbance("device", InterferenceCulprit(name="rsync", pid=4711, rate=90e6, unit="B/s"), 0.8)


def benches_of(run: FakeRun, *ratios: float, sigma: float = 0.03) -> list[FakeVariantBench]:
    noise = white(run.seed, sigma)
    pairs = zip("ABCDEF", ratios, strict=False)
    return [FakeVariantBench(v, run.clock, {"IOPS": 10_000.0 * ratio}, noise=noise) for v, ratio in pairs]


async def test_too_much_disturbed_is_inconclusive_and_names_the_culprit() -> None:
    run = FakeRun(seed=2)
    watch = FakeWatch(run, lambda block: RSYNC if block % 4 == 2 else None)
    [verdict], _ = await measure_workload(
        run, READS, benches_of(run, 1.0, 0.5), budget_s=60, family=1, watch=watch
    )
    assert verdict.verdict == "inconclusive"
    assert verdict.reason is not None
    assert "6 of 6" in verdict.reason
    assert "rsync [4711]" in verdict.reason
    assert run.elapsed_s() < 20


async def test_numbers_of_a_broken_off_run_are_shown_but_nothing_is_claimed() -> None:
    run = FakeRun(seed=2)
    watch = FakeWatch(run, stop_after=2 + 4 * 5)
    [verdict], _ = await measure_workload(
        run, READS, benches_of(run, 1.0, 0.5), budget_s=60, family=1, watch=watch
    )
    assert verdict.verdict == "inconclusive"
    assert verdict.reason and "rsync [7]" in verdict.reason
    assert verdict.ratio is not None and verdict.ratio < 0.6


async def test_a_stopped_watch_lets_nothing_else_start() -> None:
    run = FakeRun(seed=2)
    watch = FakeWatch(run)
    watch.stopped = "the file system of /data is nearly full"
    benches = benches_of(run, 1.0, 0.5)
    [verdict], _ = await measure_workload(run, READS, benches, budget_s=60, family=1, watch=watch)
    assert (verdict.verdict, verdict.reason) == ("not measured", watch.stopped)
    assert benches[0].blocks == benches[1].blocks == 0


async def test_a_variant_that_cannot_be_made_active_is_not_applicable() -> None:
    run = FakeRun()
    benches = [
        FakeVariantBench("none", run.clock),
        FakeVariantBench("bfq", run.clock, fail_activate="bfq is not built into this kernel"),
    ]
    [verdict], _ = await measure_workload(run, READS, benches, budget_s=60, family=1)
    assert (verdict.verdict, verdict.ratio) == ("not applicable", None)
    assert verdict.reason and "bfq" in verdict.reason
    assert run.of(ev.Group) == []


async def test_the_others_go_on_without_the_one_that_is_not_applicable() -> None:
    run = FakeRun(seed=4)
    noise = white(4, 0.03)
    benches = [
        FakeVariantBench("A", run.clock, noise=noise),
        FakeVariantBench("B", run.clock, noise=noise, fail_block_at=3),
        FakeVariantBench("C", run.clock, {"IOPS": 7_000.0}, noise=noise),
    ]
    verdicts, _ = await measure_workload(run, READS, benches, budget_s=60, family=2)
    assert {v.variant: v.verdict for v in verdicts} == {"B": "not applicable", "C": "slower"}
    last = run.of(ev.Group)[-1]
    assert set(last.order) == {"A", "C"}
    assert benches[1].blocks < benches[0].blocks


async def test_a_variant_that_stands_still_again_and_again_is_not_the_same() -> None:
    run = FakeRun(seed=5)
    benches = benches_of(run, 1.0, 1.0)
    calm = benches[1].noise
    benches[1].noise = lambda at_s: 0.0 if at_s % 7 < 1.0 else calm(at_s)
    [verdict], _ = await measure_workload(run, READS, benches, budget_s=120, family=1)
    assert verdict.verdict == "inconclusive" and verdict.ratio == pytest.approx(1.0, abs=0.05)
    assert verdict.reason is not None
    assert verdict.reason.startswith("B ")


async def test_stalls_of_both_sides_are_nobodys() -> None:
    run = FakeRun(seed=5)
    benches = benches_of(run, 1.0, 1.0)
    calm = benches[0].noise
    for bench in benches:
        bench.noise = lambda at_s: 0.0 if at_s % 7 < 1.0 else calm(at_s)
    [verdict], _ = await measure_workload(run, READS, benches, budget_s=120, family=1)
    assert verdict.verdict == "no material difference" and verdict.reason is None


async def test_a_spent_write_budget_keeps_what_was_measured() -> None:
    run = FakeRun(seed=5)
    benches = benches_of(run, 1.0, 0.7, sigma=0.2)
    measure_block = benches[1].measure_block

    async def until_spent(seconds: float) -> Measured:
        if benches[1].blocks >= 20:
            raise WriteBudgetSpent("the run's write budget is spent: 8.0 of 8.0 GiB")
        return await measure_block(seconds)

    benches[1].measure_block = until_spent  # type: ignore[method-assign]
    [verdict], _ = await measure_workload(run, READS, benches, budget_s=120, family=6)
    assert verdict.groups == 9 and verdict.ratio is not None and verdict.ci95 is not None
    assert verdict.verdict in ("slower", "inconclusive")
    assert verdict.verdict == "slower" or verdict.reason


async def test_a_budget_that_is_spent_before_the_first_group_is_said() -> None:
    run = FakeRun(seed=5)
    benches = benches_of(run, 1.0, 0.7)

    async def raise_spent(seconds: float) -> Measured:
        raise WriteBudgetSpent("the run's write budget is spent: 8.0 of 8.0 GiB")

    benches[0].measure_block = raise_spent  # type: ignore[method-assign]
    [verdict], _ = await measure_workload(run, READS, benches, budget_s=120, family=6)
    assert (verdict.verdict, verdict.groups) == ("not measured", 0)
    assert verdict.reason


@pytest.mark.parametrize("seed", range(6))
async def test_blocks_that_stay_undecided_get_what_is_left_and_are_made_active_again(seed: int) -> None:
    run = FakeRun(seed=seed)
    calls: list[tuple[str, str]] = []
    spent: dict[str, float] = {}

    def entry(name: str, sigma: float) -> ScheduledLoad:
        noise = white(seed, sigma)
        benches = [FakeVariantBench(f"{name}-{v}", run.clock, noise=noise, calls=calls) for v in "AB"]

        def note(experiment: LoadExperiment) -> None:
            spent[name] = experiment.pace.spent_s

        return ScheduledLoad(BlockScheduler(run, msgspec.structs.replace(READS, id=name), benches), note)

    loads = [entry("noisy", 0.3), entry("calm", 0.01)]
    await measure_loads(run, TimeBudget(120.0, run.clock), loads, family=2)
    assert spent["noisy"] > 60 > spent["calm"]
    assert {v.workload: v.verdict for v in run.of(ev.RunVerdict)}["calm"] == "no material difference"
    active = ""
    for call, variant in calls:
        active = variant if call == "activate" else active
        assert call != "block" or variant == active


async def test_a_side_that_does_not_come_to_rest_takes_no_verdict_away() -> None:
    """Seen by reading: after the last group others wrote without a pause, and what was decided was never said."""
    run = FakeRun(seed=2)
    calls: list[tuple[str, str]] = []
    names: list[str] = []

    class Restless(FakeVariantBench):
        async def finish_requests(self) -> None:
            await super().finish_requests()
            if names:
                raise BenchRefused("others' I/O never pauses")

    def entry(name: str) -> ScheduledLoad:
        benches = [
            Restless(v, run.clock, {"IOPS": rate}, calls=calls) for v, rate in (("A", 100.0), ("B", 50.0))
        ]
        load = msgspec.structs.replace(READS, id=name)
        return ScheduledLoad(
            BlockScheduler(run, load, benches), lambda experiment: names.append(experiment.workload.id)
        )

    await measure_loads(run, TimeBudget(60.0, run.clock), [entry("alone")], family=1)
    assert calls[-1][0] == "block"  # nothing comes after it
    names.clear()
    with pytest.raises(BenchRefused):
        await measure_loads(run, TimeBudget(60.0, run.clock), [entry("first"), entry("second")], family=2)
    assert [(v.workload, v.verdict) for v in run.of(ev.RunVerdict)] == [
        ("alone", "slower"),
        ("first", "slower"),
    ]


async def test_a_single_variant_is_a_mistake_of_the_caller() -> None:
    run = FakeRun()
    with pytest.raises(ValueError, match="two variants"):
        await measure_workload(run, READS, [FakeVariantBench("A", run.clock)], budget_s=60, family=1)


async def test_a_side_that_falls_while_it_is_measured_has_no_effect() -> None:
    """Seen with the creation of files: A from above B to a fifth of it; the ratio told how long one had looked."""
    run = FakeRun(seed=6)
    benches = benches_of(run, 1.2, 1.0)
    benches[0].noise = noise_product(drift_noise(-0.08), white(1, 0.05))
    benches[1].noise = white(2, 0.05)
    [verdict], _ = await measure_workload(run, READS, benches, budget_s=24, family=1)
    assert (verdict.verdict, verdict.ratio, verdict.ci95) == ("not applicable", None, None)
    assert set(verdict.drift) == {"A"}
    first, last = verdict.drift["A"]
    assert last < first / 3
    assert verdict.reason is not None
    assert verdict.reason.startswith("A ")
    assert verdict.groups > 6
