"""Slices of all variants, their lengths and what they leave to each other."""

import asyncio
import random
from collections import Counter
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from hostdx.probes.engine.measured import MeasuredBatch, MeasurementInvalid
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.disturbance import Disturbance
from hostdx.scenarios.contract.plan import Metric, Workload
from hostdx.scenarios.experiment.budget import TimeBudget
from hostdx.scenarios.experiment.experiment import LoadExperiment
from hostdx.scenarios.experiment.guards.watch import watch_for
from hostdx.scenarios.experiment.load_schedule import ScheduledLoad, measure_loads
from hostdx.scenarios.experiment.schedule.blocks import BlockScheduler
from hostdx.scenarios.experiment.schedule.slices import WarmUpSlice, choose_slice_length
from hostdx.scenarios.experiment.schedule.train_scheduler import BatchScheduler
from hostdx.scenarios.experiment.statistics.stats import percentile_ns
from tests.fakes import FakeRun, FakeVariantBench
from tests.fakes.noise import ar1_noise, white
from tests.fakes.trains import FakeTrains
from tests.fakes.watch import FakeWatch

READS = Workload(id="reads", title="random read", metrics=(Metric("IOPS", "IOPS"),))


async def measure_reads(run: FakeRun, trains: FakeTrains, seconds: float = 20.0) -> LoadExperiment:
    experiment = LoadExperiment(BatchScheduler(run, READS, trains), most_s=seconds, family=1)
    await experiment.look_and_warm_up()
    await experiment.measure_for(seconds)
    experiment.conclude_verdicts()
    return experiment


class FineLatencies(FakeTrains):
    async def measure_batch(self, *arguments: Any, **more: Any) -> MeasuredBatch:
        train = await super().measure_batch(*arguments, **more)
        buckets = [(100_000, 5), (102_000, 6), (104_000, 5)]
        sides = [msgspec.structs.replace(side, histogram=buckets) for side in train.sides]
        return msgspec.structs.replace(train, sides=sides)


async def test_latencies_of_a_result_are_in_the_buckets_that_are_recorded() -> None:
    run = FakeRun(seed=1)
    trains = FineLatencies(run.clock, {"A": 10_000.0, "B": 9_000.0}, noise=white(1, 0.02))
    experiment = await measure_reads(run, trains)
    [verdict] = run.of(ev.RunVerdict)
    scheduler = experiment.scheduler
    assert isinstance(scheduler, BatchScheduler)
    steady = [train for train in run.of(ev.SliceBatch) if train.phase == "steady"]
    pairs = [pair for train in steady for pair in train.histogram["A"]]
    pooled = scheduler.latency_histogram("A", verdict.groups)
    assert percentile_ns(pooled, 0.5) == percentile_ns(pairs, 0.5) != 102_000


async def test_what_no_length_hides_is_cut_off() -> None:
    run = FakeRun(seed=1)
    trains = FakeTrains(run.clock, {"A": 20_000.0, "B": 20_000.0}, noise=white(1, 0.02), switch_s=0.012)
    await measure_reads(run, trains)
    length = run.of(ev.SliceLengthChosen)[-1]
    assert length.why == "block" and length.onset_s > 0.012
    [verdict] = run.of(ev.RunVerdict)
    assert verdict.verdict == "no material difference"


async def test_all_loads_of_a_slow_disk_are_measured_within_the_budget() -> None:
    """A hard disk's pace: 50 operations take half a second, seven loads have a minute."""
    run = FakeRun(seed=2)

    def entry(number: int) -> ScheduledLoad:
        workload = Workload(id=f"load {number}", title=f"load {number}", metrics=READS.metrics)
        rates = {"A": 110.0, "B": 55.0}
        trains = FakeTrains(run.clock, rates, noise=white(number, 0.05), cold=0.1)
        return ScheduledLoad(BatchScheduler(run, workload, trains), lambda _: None)

    await measure_loads(run, TimeBudget(60.0, run.clock), [entry(number) for number in range(7)], family=7)
    assert {verdict.verdict for verdict in run.of(ev.RunVerdict)} == {"slower"}
    assert run.clock.now() <= 61
    assert "budget" in {length.why for length in run.of(ev.SliceLengthChosen)}
    assert min(length.seconds for length in run.of(ev.SliceLengthChosen)) >= 0.95 * 50 / 5 / 55


async def test_work_left_to_the_other_side_lengthens_the_slices() -> None:
    run = FakeRun(seed=4)
    trains = FakeTrains(run.clock, {"A": 20_000.0, "B": 20_000.0}, noise=white(4, 0.01), left_s={"A": 0.004})
    await measure_reads(run, trains, 30.0)
    lengths = run.of(ev.SliceLengthChosen)
    assert "carry-over" in [length.why for length in lengths]
    [verdict] = run.of(ev.RunVerdict)
    assert verdict.verdict == "no material difference"


@pytest.mark.parametrize("seed", range(3))
async def test_a_share_that_no_length_cures_is_judged_in_flushed_blocks(seed: int) -> None:
    run = FakeRun(seed=seed)
    trains = FakeTrains(run.clock, {"A": 20_000.0, "B": 20_000.0}, noise=white(seed, 0.01), share={"A": 0.12})
    await measure_reads(run, trains, 60.0)
    last = run.of(ev.SliceLengthChosen)[-1]
    assert (last.why, last.blocks, last.seconds) == ("carry-over", True, READS.block_s)
    assert last.bias is not None and last.bias[0] < -0.05
    [verdict] = run.of(ev.RunVerdict)
    assert verdict.verdict == "no material difference"
    assert {len(order) for order, seconds in trains.asked if seconds == READS.block_s} == {1}
    blocks = [train for train in run.of(ev.SliceBatch) if train.slice_s == READS.block_s]
    assert blocks and {train.order for train in blocks} <= {"0110", "1001"}
    assert verdict.groups == len(blocks)


@pytest.mark.parametrize(("rate", "word"), [(20_000.0, "inconclusive"), (12_000.0, "slower")])
async def test_what_reaches_into_flushed_blocks_takes_from_the_verdict_what_it_may_explain(
    rate: float, word: str
) -> None:
    run = FakeRun(seed=4)
    share = {"A": 0.12}
    trains = FakeTrains(
        run.clock, {"A": 20_000.0, "B": rate}, noise=white(4, 0.01), share=share, flushed=False
    )
    await measure_reads(run, trains, 200.0)
    assert run.of(ev.SliceLengthChosen)[-1].blocks
    [verdict] = run.of(ev.RunVerdict)
    assert verdict.verdict == word
    assert verdict.reason


async def test_a_difference_found_while_it_is_not_known_whether_longer_slices_cure_is_not_claimed() -> None:
    run = FakeRun(seed=4)
    trains = FakeTrains(
        run.clock, {"A": 20_000.0, "B": 20_000.0}, noise=white(4, 0.01), share={"A": 0.12}, flushed=False
    )
    await measure_reads(run, trains, 10.0)  # enough for a wrong "slower", not for the 24 groups
    assert not run.of(ev.SliceLengthChosen)[-1].blocks
    [verdict] = run.of(ev.RunVerdict)
    assert verdict.verdict == "inconclusive" and verdict.ratio is not None
    assert verdict.reason


async def test_where_nothing_can_be_measured_that_is_said() -> None:
    run = FakeRun(seed=1)
    trains = FakeTrains(
        run.clock, {"A": 1.0, "B": 1.0}, raises={0: MeasurementInvalid("no directory of our own")}
    )
    await measure_reads(run, trains)
    [verdict] = run.of(ev.RunVerdict)
    assert verdict.verdict == "not applicable"
    assert verdict.reason


async def test_cancelled_in_a_train_nothing_goes_on() -> None:
    run = FakeRun(seed=1)
    trains = FakeTrains(run.clock, {"A": 1.0, "B": 1.0}, hangs=True)
    task = asyncio.create_task(measure_reads(run, trains))
    while not trains.running:
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not trains.running


async def test_what_is_too_slow_for_the_budget_is_left_out_and_the_others_are_measured() -> None:
    run = FakeRun(seed=5)
    rates = {"slow": 2.0, "quick": 10_000.0}

    def entry(name: str) -> ScheduledLoad:
        workload = Workload(id=name, title=name, metrics=READS.metrics)
        trains = FakeTrains(run.clock, dict.fromkeys("AB", rates[name]), noise=white(5, 0.02))
        return ScheduledLoad(BatchScheduler(run, workload, trains), lambda _: None)

    await measure_loads(run, TimeBudget(20.0, run.clock), [entry(name) for name in rates], family=2)
    slow, quick = run.of(ev.RunVerdict)
    assert slow.verdict == "not measured" and "raise --budget" in (slow.reason or "")
    assert quick.verdict == "no material difference"
    assert run.clock.now() <= 20.5
    assert [step.state for step in run.of(ev.RunStep) if step.id == "slow"] == ["started", "skipped"]


async def test_what_another_load_ended_is_judged_by_what_there_is() -> None:
    run = FakeRun(seed=5)
    watch = watch_for(run)
    trains = FakeTrains(run.clock, {"A": 10_000.0, "B": 8_700.0}, noise=white(5, 0.35))
    experiment = LoadExperiment(BatchScheduler(run, READS, trains, watch), most_s=60.0, family=1)
    await experiment.look_and_warm_up()
    await experiment.measure_for(5.0)
    watch.stopped = "others' I/O waits"
    await experiment.measure_for(5.0)
    [verdict] = experiment.conclude_verdicts()
    assert verdict.ratio is not None and verdict.groups == len(experiment.groups) > 50
    assert verdict.verdict != "inconclusive" or "others' I/O waits" in (verdict.reason or "")


async def test_others_are_looked_after_also_once_a_train_was_disturbed() -> None:
    run = FakeRun(seed=5)

    class Waiting(FakeWatch):
        asked = 0

        async def pause_to_spare_others(self) -> Disturbance | None:
            self.asked += 1
            if self.asked == 3:
                self.stopped = "others' I/O waits"
            return None

    watch = Waiting(run, lambda _: Disturbance("device"))
    trains = FakeTrains(run.clock, {"A": 10_000.0, "B": 8_700.0}, noise=white(5, 0.35))
    experiment = LoadExperiment(BatchScheduler(run, READS, trains, watch), most_s=60.0, family=1)
    await experiment.look_and_warm_up()
    await experiment.measure_for(60.0)
    assert (watch.asked, len(watch.blocks)) == (3, 3) and experiment.broken_off == "others' I/O waits"


LOUD = [(9_200.0, True, "inconclusive"), (9_200.0, False, "slower"), (5_000.0, True, "slower")]


@pytest.mark.parametrize("scheduled", ["trains", "blocks"])
@pytest.mark.parametrize(("rate", "loud", "word"), LOUD)
async def test_beside_disturbed_groups_only_a_large_effect_is_called(
    rate: float, loud: bool, word: str, scheduled: str
) -> None:
    """Though most of them are not measured again: a neighbour who comes and goes leaves too few quiet ones."""
    run = FakeRun(seed=3)
    watch, noise = FakeWatch(run), ar1_noise(3, 0.6, 0.1)
    watch.loud = loud
    rates = {"A": 10_000.0, "B": rate}
    benches = [FakeVariantBench(v, run.clock, {"IOPS": iops}, noise=noise) for v, iops in rates.items()]
    trains = BatchScheduler(run, READS, FakeTrains(run.clock, rates, noise=noise), watch)
    scheduler = trains if scheduled == "trains" else BlockScheduler(run, READS, benches, watch)
    experiment = LoadExperiment(scheduler, most_s=200.0, family=1)
    await experiment.look_and_warm_up()
    await experiment.measure_for(200.0)
    [verdict] = experiment.conclude_verdicts()
    assert verdict.verdict == word and bool(verdict.reason) == (word == "inconclusive")


class FasterSecond(FakeTrains):
    """The variant that comes second in a group is half as fast again; not where each slice is a block of its own."""

    async def measure_batch(self, order: Sequence[int], slice_s: float, **more: Any) -> MeasuredBatch:
        train = await super().measure_batch(order, slice_s, **more)
        if len(order) > 1 and not more.get("quarters"):
            for place in range(len(train.order)):
                if place % 4 in (1, 2):
                    train.values[self.metric][place] *= 1.5
        return train


@pytest.mark.parametrize("seconds", [30.0, 3.0])
async def test_slices_whose_order_decides_are_measured_anew_in_blocks(seconds: float) -> None:
    run = FakeRun(seed=3)
    trains = FasterSecond(run.clock, {"A": 10_000.0, "B": 7_000.0}, noise=white(3, 0.02))
    await measure_reads(run, trains, seconds)
    [verdict] = run.of(ev.RunVerdict)
    anew = [length for length in run.of(ev.SliceLengthChosen) if length.begins_anew]
    if seconds < 10:  # too short for groups of blocks
        assert not anew and verdict.is_not_measured and verdict.order is not None
        assert verdict.order.second == pytest.approx(1.5, rel=0.05)
        return
    assert [(length.why, length.blocks) for length in anew] == [("order", True)]
    assert verdict.is_slower and verdict.ratio == pytest.approx(0.7, rel=0.03)


def draw_speeds(seed: int, pairs: int, sigma: float) -> dict[str, list[float]]:
    """How fast the places of A and B are beside each other: alike as directories, not place for place."""
    rng = random.Random(seed)
    return {variant: [rng.lognormvariate(0, sigma) for _ in range(pairs)] for variant in "AB"}


async def test_the_places_of_a_disturbed_train_are_visited_again() -> None:
    run = FakeRun(seed=2)
    trains = FakeTrains(
        run.clock, {"A": 10_000.0, "B": 10_000.0}, noise=white(2, 0.3), factors=draw_speeds(2, 16, 0.02)
    )
    watch = FakeWatch(run, lambda number: Disturbance("device") if number in (1, 6) else None)
    experiment = LoadExperiment(BatchScheduler(run, READS, trains, watch), most_s=12.0, family=1)
    await experiment.look_and_warm_up()
    await experiment.measure_for(12.0)
    steady = [event for event in run.of(ev.SliceBatch) if event.phase == "steady"]
    disturbed = [event for event in steady if event.disturbed]
    assert len(disturbed) == 2 and len(steady) > 8
    counted = Counter(group.place for group in experiment.groups)
    everywhere = Counter(place for event in steady for place in event.places)
    assert everywhere - counted == Counter(place for event in disturbed for place in event.places)
    assert len(counted) == 16 and max(counted.values()) - min(counted.values()) <= 1


async def test_the_next_look_is_told_as_it_is_planned_where_sides_have_places() -> None:
    run = FakeRun(seed=2)
    rates = {"A": 1_000.0, "B": 1_000.0}
    trains = FakeTrains(run.clock, rates, noise=white(2, 0.1), factors=draw_speeds(2, 16, 0.05))
    experiment = await measure_reads(run, trains, 10.0)
    [judge] = experiment.judges
    assert 30 < judge.comparison.planned_groups < 60 and judge.comparison.looks[0] == 8
    estimates = [(e.groups, e.next_look) for e in run.of(ev.RunningEstimate)]
    assert estimates[0][1] in judge.comparison.looks
    assert all(look > groups or not look for groups, look in estimates)


def warm_up_slices(
    seconds: float, rate: float, count: int = 25, cost: float = 0.0, cost_s: float = 0.0, noise: float = 0.2
) -> list[WarmUpSlice]:
    """Slices of A and B in turn; B loses the share `cost` of its rate in the first `cost_s` after a switch."""
    rng = random.Random(f"{seconds} {rate} {cost}")
    slices = []
    for variant in ("A", "B") * count:
        level = rate * rng.lognormvariate(0, noise)
        parts = []
        for part in range(4):
            loss = min(seconds / 4, max(0.0, cost_s - part * seconds / 4)) / (seconds / 4)
            share = 1 - cost * loss if variant == "B" else 1.0
            parts.append(level * share * rng.lognormvariate(0, noise / 2))
        slices.append(WarmUpSlice(variant, seconds, round(sum(parts) / 4 * seconds), parts))
    return slices


def test_the_slice_grows_until_the_switch_does_not_show() -> None:
    """4 ms at half the rate after each switch: 40 % of the first quarter of 20 ms, 1.25 % of that of 640 ms."""
    first = choose_slice_length(warm_up_slices(0.02, 10_000, cost=0.5, cost_s=0.004), margin=0.05, most_s=2.0)
    assert (first.why, first.settled) == ("switch", False)
    assert first.quarter is not None
    assert first.quarter.variant == "B"
    assert first.quarter.difference == pytest.approx(-0.4, abs=0.12)
    assert 0.4 < first.seconds < 0.9
    short, long = (warm_up_slices(s, 10_000, cost=0.5, cost_s=0.004) for s in (0.02, first.seconds))
    second = choose_slice_length([*short, *long], margin=0.05, most_s=2.0)
    assert (second.seconds, second.why, second.settled) == (pytest.approx(first.seconds), "switch", True)
