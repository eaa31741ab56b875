"""The experiment in trains on sides with places of their own: visits, both levels of scatter, what is recorded."""

import random
from collections import Counter

from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.disturbance import Disturbance
from hostdx.scenarios.contract.plan import Metric, Workload
from hostdx.scenarios.experiment.experiment import LoadExperiment
from hostdx.scenarios.experiment.schedule.train_scheduler import BatchScheduler
from tests.fakes import FakeRun
from tests.fakes.noise import white
from tests.fakes.trains import FakeTrains
from tests.fakes.watch import FakeWatch

READS = Workload(id="reads", title="random read", metrics=(Metric("IOPS", "IOPS"),))


async def measure_reads(run: FakeRun, trains: FakeTrains, seconds: float = 20.0) -> LoadExperiment:
    experiment = LoadExperiment(BatchScheduler(run, READS, trains), most_s=seconds, family=1)
    await experiment.look_and_warm_up()
    await experiment.measure_for(seconds)
    experiment.conclude_verdicts()
    return experiment


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
