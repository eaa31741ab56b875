"""Two sides that run into a cap: on one disk, on two disks of the same cap, and on disks of different ones."""

from __future__ import annotations

import msgspec
import pytest

from scenarios.contract.events import RunVerdict
from scenarios.experiment.wording import explain_verdict
from scenarios.storage.throttling.caps import DiskLimit, Throttle, find_throttles
from scenarios.storage.throttling.common_cap import courses_of, recast_verdict
from tests.every_case import every_case
from tests.fakes.throttled_disk import Meter, bucket, slices, trains, unmetered
from tests.needs import some_always

READS, STREAM, WRITES = "randread-4k-qd16", "read-1m-qd8", "write-1m-qd8"


def caps(
    a: Meter, b: Meter, *, shared: bool, limit: DiskLimit | None = None, virtual: bool = False,
    operation_s: float = 250e-6, workers: int = 16, seed: int = 1, control: Meter | None = unmetered,
    scatter: float = 0.3,
) -> dict[str, Throttle]:  # fmt: skip
    """By side. Both streams where operations are slow, random reads otherwise."""
    measured = trains((a, b), operation_s=operation_s, workers=workers, count=12, seed=seed, scatter=scatter)
    found = dict.fromkeys((READS,) if operation_s < 1e-3 else (STREAM, WRITES), measured)
    if control is not None:
        found["cpu"] = trains((control, control), operation_s=300e-6, workers=1, count=5, seed=seed)
    limits = [limit] if limit else []
    return {
        side: one
        for side, own in courses_of(("A", "B"), found, shared=shared).items()
        for one in find_throttles(own, limits, virtual=virtual, turns=1 if shared else 2)
    }


def verdict(word: str = "inconclusive") -> RunVerdict:
    return RunVerdict(t=1.0, workload=READS, metric="IOPS", baseline="A", variant="B", verdict=word, ratio=0.97,
                   ci95=(0.8, 1.2), groups=40, smallest_effect=0.2)  # fmt: skip


@every_case("seed", range(1, 6))
def test_two_directories_of_one_throttled_disk(seed: int) -> None:
    meter = slices(2000, 0.1)
    found = caps(meter, meter, shared=True, seed=seed)
    assert {side: cap.value for side, cap in found.items()} == pytest.approx({"A": 2000, "B": 2000}, rel=0.05)
    said = recast_verdict(verdict(), found)
    assert (said.verdict, said.reason) == ("no material difference", "both at the cap of 2 k IOPS")
    assert explain_verdict(said) == said.reason and said.smallest_effect is None


def test_two_disks_at_the_limit_of_their_control_group() -> None:
    limit = DiskLimit("IOPS", 2000.0, ("read",), "io.max", "/sys/fs/cgroup/io.max")
    assert set(caps(slices(2000, 0.1), unmetered, shared=False, limit=limit)) == {"A"}
    both = caps(bucket(2000, 200), bucket(2000, 200), shared=False, limit=limit)
    assert set(both) == {"A", "B"} and recast_verdict(verdict(), both).verdict == "no material difference"


def test_without_a_steady_control_a_cpu_quota_is_no_common_cap() -> None:
    for control in (None, slices(2000, 0.1)):
        quota = slices(2000, 0.1)
        assert caps(quota, quota, shared=True, virtual=True, control=control) == {}
    quota = slices(2000, 0.1)
    own = DiskLimit("IOPS", 2000.0, ("read",), "io.max", "/sys/fs/cgroup/io.max")
    assert set(caps(quota, quota, shared=True, limit=own, control=None)) == {"A", "B"}


def test_the_pauses_between_trains_are_those_of_the_clock() -> None:
    measured = trains((unmetered, unmetered), operation_s=250e-6, workers=4, count=3)
    [first, *_, last] = courses_of(("A", "B"), {READS: measured}, shared=True)["A"][READS]
    assert (first.began_s, last.began_s) == (measured[0].begins[0], measured[-1].begins[0])
    assert first.operation_count == sum(sum(steps) for steps in measured[0].completions)
    alone = courses_of(("A", "B"), {READS: measured}, shared=False)
    assert (
        alone["A"][READS][0].operation_count + alone["B"][READS][0].operation_count == first.operation_count
    )


def test_two_disks_whose_caps_nobody_knows_leave_the_verdict_as_it_is() -> None:
    apart = caps(slices(2000, 0.1), slices(3000, 0.1), shared=False)
    assert apart == {} and recast_verdict(verdict(), apart) == verdict()


def test_a_clear_difference_is_never_taken_back() -> None:
    meter = slices(2000, 0.1)
    found = caps(meter, meter, shared=True)
    for word in ("slower", "faster", "not applicable", "not measured"):
        assert recast_verdict(verdict(word), found) == verdict(word)  # type: ignore[arg-type]


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("seed", some_always((1, 2), range(1, 6)))
def test_unmetered_sides_have_no_cap(shared: bool, seed: int) -> None:
    assert caps(unmetered, unmetered, shared=shared, seed=seed, virtual=True) == {}
    slow = caps(unmetered, unmetered, shared=shared, operation_s=7e-3, workers=8, seed=seed, virtual=True)
    assert slow == {}


def test_what_says_nothing_of_the_sides_stays() -> None:
    """Sides that had unlike shares, or that were not measured at all, are not made equal by a cap."""
    meter = slices(2000, 0.1)
    found = caps(meter, meter, shared=True)
    for ratio in (None, 0.5, 2.0):
        kept = msgspec.structs.replace(verdict(), ratio=ratio)
        assert recast_verdict(kept, found) == kept
    said = recast_verdict(verdict(), found)
    assert said.verdict == "no material difference" and said.ci95 is None


@every_case("scatter", [0.01, 0.03, 0.1])
@every_case("seed", range(1, 4))
def test_workers_in_step_are_no_throttle(scatter: float, seed: int) -> None:
    found = caps(unmetered, unmetered, shared=True, operation_s=20e-3, workers=8, seed=seed, scatter=scatter)
    assert found == {}
