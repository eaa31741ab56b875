"""The experiment in trains on sides with places of their own: visits, both levels of scatter, what is recorded."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from scenarios.contract import events as ev
from scenarios.contract.disturbance import Disturbance
from scenarios.contract.plan import Metric, Workload
from scenarios.experiment.experiment import LoadExperiment
from scenarios.experiment.schedule.train_scheduler import BatchScheduler
from scenarios.experiment.wording import places_text
from tests.fakes import FakeRun
from tests.fakes.noise import white
from tests.fakes.trains import FakeTrains
from tests.fakes.watch import FakeWatch
from tests.needs import one_always

READS = Workload(id="reads", title="random read", metrics=(Metric("IOPS", "IOPS"),))


async def measured(run: FakeRun, trains: FakeTrains, seconds: float = 20.0) -> LoadExperiment:
    experiment = LoadExperiment(BatchScheduler(run, READS, trains), most_s=seconds, family=1)
    await experiment.begin()
    await experiment.measure_for(seconds)
    experiment.conclude_verdicts()
    return experiment


def uneven(seed: int, pairs: int, sigma: float) -> dict[str, list[float]]:
    """How fast the places of A and B are beside each other: alike as directories, not place for place."""
    rng = random.Random(seed)
    return {variant: [rng.lognormvariate(0, sigma) for _ in range(pairs)] for variant in "AB"}


async def test_a_group_stays_in_one_pair_of_places_and_all_pairs_get_their_turn() -> None:
    run = FakeRun(seed=2)
    trains = FakeTrains(
        run.clock, {"A": 10_000.0, "B": 10_000.0}, noise=white(2, 0.1), factors=uneven(2, 16, 0.02)
    )
    experiment = await measured(run, trains)
    steady = [event for event in run.of(ev.SliceBatch) if event.phase == "steady"]
    asked = [(order, where) for (order, _), where in zip(trains.asked, trains.visited, strict=True) if where]
    assert len(asked) == len(steady)
    for event, (order, where) in zip(steady, asked, strict=True):
        groups = [set(where[at : at + 4]) for at in range(0, len(where), 4)]
        assert len(order) == len(where) and all(len(group) == 1 for group in groups)
        assert event.places == [place for group in groups for place in group]
    visits = Counter(place for event in steady for place in event.places)
    assert set(visits) == set(range(16)) and max(visits.values()) - min(visits.values()) <= 1
    assert [group.place for group in experiment.groups] == [n for event in steady for n in event.places]


async def test_the_places_of_a_disturbed_train_are_visited_again() -> None:
    run = FakeRun(seed=2)
    trains = FakeTrains(
        run.clock, {"A": 10_000.0, "B": 10_000.0}, noise=white(2, 0.3), factors=uneven(2, 16, 0.02)
    )
    watch = FakeWatch(run, lambda number: Disturbance("device") if number in (1, 6) else None)
    experiment = LoadExperiment(BatchScheduler(run, READS, trains, watch), most_s=12.0, family=1)
    await experiment.begin()
    await experiment.measure_for(12.0)
    steady = [event for event in run.of(ev.SliceBatch) if event.phase == "steady"]
    disturbed = [event for event in steady if event.disturbed]
    assert len(disturbed) == 2 and len(steady) > 8
    counted = Counter(group.place for group in experiment.groups)
    everywhere = Counter(place for event in steady for place in event.places)
    assert everywhere - counted == Counter(place for event in disturbed for place in event.places)
    assert len(counted) == 16 and max(counted.values()) - min(counted.values()) <= 1


@pytest.mark.parametrize("seeds", one_always((0, 1), (2, 3)))
async def test_like_directories_on_uneven_places_are_not_called_and_the_verdict_holds_both_levels(
    seeds: tuple[int, ...],
) -> None:
    places, slices = 0.1, 0.06
    for seed in seeds:
        run = FakeRun(seed=seed)
        rates = {"A": 10_000.0, "B": 10_000.0}
        trains = FakeTrains(run.clock, rates, noise=white(seed, slices), factors=uneven(seed, 16, places))
        await measured(run, trains, 60.0)
        [verdict] = run.of(ev.RunVerdict)
        assert verdict.verdict not in ("slower", "faster")
        assert verdict.pairs == 16 and verdict.groups > 16
        assert verdict.place_scatter == pytest.approx(places, rel=0.6)
        assert verdict.slice_scatter == pytest.approx(slices, rel=0.3)


async def test_the_next_look_is_told_as_it_is_planned_where_sides_have_places() -> None:
    run = FakeRun(seed=2)
    rates = {"A": 1_000.0, "B": 1_000.0}
    trains = FakeTrains(run.clock, rates, noise=white(2, 0.1), factors=uneven(2, 16, 0.05))
    experiment = await measured(run, trains, 10.0)
    [judge] = experiment.judges
    assert 30 < judge.comparison.planned_groups < 60 and judge.comparison.looks[0] == 8
    told = [(e.groups, e.next_look) for e in run.of(ev.RunningEstimate)]
    assert told[0][1] in judge.comparison.looks
    assert all(look > groups or not look for groups, look in told)


async def test_exchanged_sides_give_the_mirrored_verdict() -> None:
    found = []
    for rates in ({"A": 10_000.0, "B": 8_500.0}, {"A": 8_500.0, "B": 10_000.0}):
        run = FakeRun(seed=5)
        trains = FakeTrains(run.clock, rates, noise=white(5, 0.03), factors=uneven(5, 64, 0.02))
        if found:
            trains.factors = {"A": trains.factors["B"], "B": trains.factors["A"]}
        await measured(run, trains)
        found += run.of(ev.RunVerdict)
    one, other = found
    assert (one.verdict, other.verdict) == ("slower", "faster")
    assert one.ratio is not None and one.ci95 is not None and other.ratio is not None
    assert 1 / one.ci95[1] < other.ratio < 1 / one.ci95[0]


async def test_places_that_differ_by_too_much_are_the_reason_that_it_stays_open() -> None:
    run = FakeRun(seed=1)
    trains = FakeTrains(
        run.clock, {"A": 10_000.0, "B": 10_000.0}, noise=white(1, 0.02), factors=uneven(1, 16, 0.15)
    )
    experiment = await measured(run, trains, 30.0)
    [verdict] = run.of(ev.RunVerdict)
    assert verdict.verdict == "inconclusive" and verdict.seconds_to_decide is None
    assert verdict.pairs == 16 and verdict.place_scatter is not None and verdict.place_scatter > 0.08
    [judge] = experiment.judges
    scatter = judge.comparison.place_scatter()
    assert scatter is not None and places_text(scatter) in (verdict.reason or "")


async def test_sides_without_places_are_recorded_without() -> None:
    run = FakeRun(seed=1)
    trains = FakeTrains(run.clock, {"A": 10_000.0, "B": 9_000.0}, noise=white(1, 0.05))
    await measured(run, trains)
    assert not any(event.places for event in run.of(ev.SliceBatch))
    [verdict] = run.of(ev.RunVerdict)
    assert (verdict.pairs, verdict.place_scatter, verdict.slice_scatter) == (0, None, None)
