"""Two sides that run into a cap: on one disk, on two disks of the same cap, and on disks of different ones."""

from __future__ import annotations

import msgspec
import pytest

from scenarios.events import Verdict, VerdictWord
from scenarios.experiment.wording import explanation
from scenarios.storage.throttling.caps import Limit
from scenarios.storage.throttling.common_cap import Sides, recast
from tests.fakes.throttled_disk import Meter, bucket, slices, trains, unmetered

READS, STREAM, WRITES = "randread-4k-qd16", "read-1m-qd8", "write-1m-qd8"


def sides(
    a: Meter, b: Meter, *, shared: bool, operation_s: float = 250e-6, workers: int = 16, seed: int = 1
) -> Sides:
    """Both streams where operations are slow, random reads otherwise."""
    found = Sides(("A", "B"), shared=shared)
    measured = trains((a, b), operation_s=operation_s, workers=workers, count=12, seed=seed)
    for load in (READS,) if operation_s < 1e-3 else (STREAM, WRITES):
        found.add(load, measured)
    return found


def verdict(word: VerdictWord = "inconclusive") -> Verdict:
    return Verdict(t=1.0, workload=READS, metric="IOPS", baseline="A", variant="B", verdict=word, ratio=0.97,
                   ci95=(0.8, 1.2), groups=40, smallest_effect=0.2)  # fmt: skip


@pytest.mark.parametrize("seed", range(1, 6))
def test_two_directories_of_one_throttled_disk(seed: int) -> None:
    meter = slices(2000, 0.1)
    caps = sides(meter, meter, shared=True, seed=seed).caps(READS, {}, virtual=False)
    assert {side: cap.value for side, cap in caps.items()} == pytest.approx({"A": 2000, "B": 2000}, rel=0.05)
    said = recast(verdict(), caps)
    assert (said.verdict, said.reason) == ("no material difference", "both at the cap of 2 k IOPS")
    assert explanation(said) == said.reason and said.smallest_effect is None


def test_two_disks_at_the_limit_of_their_control_group() -> None:
    found = sides(slices(2000, 0.1), unmetered, shared=False)
    limit = Limit("IOPS", 2000.0, ("read",), "io.max", "/sys/fs/cgroup/io.max")
    assert set(found.caps(READS, {"A": [limit], "B": [limit]}, virtual=False)) == {"A"}
    both = sides(bucket(2000, 200), bucket(2000, 200), shared=False).caps(
        READS, {"A": [limit], "B": [limit]}, virtual=False
    )
    assert set(both) == {"A", "B"} and recast(verdict(), both).verdict == "no material difference"


def test_two_disks_whose_caps_nobody_knows_leave_the_verdict_as_it_is() -> None:
    apart = sides(slices(2000, 0.1), slices(3000, 0.1), shared=False).caps(READS, {}, virtual=False)
    assert apart == {} and recast(verdict(), apart) == verdict()


def test_a_clear_difference_is_never_taken_back() -> None:
    meter = slices(2000, 0.1)
    caps = sides(meter, meter, shared=True).caps(READS, {}, virtual=False)
    for word in ("slower", "faster", "not applicable", "not measured"):
        assert recast(verdict(word), caps) == verdict(word)  # type: ignore[arg-type]


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("seed", range(1, 6))
def test_unmetered_sides_have_no_cap(shared: bool, seed: int) -> None:
    assert sides(unmetered, unmetered, shared=shared, seed=seed).caps(READS, {}, virtual=True) == {}
    slow = sides(unmetered, unmetered, shared=shared, operation_s=7e-3, workers=8, seed=seed)
    assert slow.caps(STREAM, {}, virtual=True) == {}


def test_what_says_nothing_of_the_sides_stays() -> None:
    """Sides that had unlike shares, or that were not measured at all, are not made equal by a cap."""
    meter = slices(2000, 0.1)
    caps = sides(meter, meter, shared=True).caps(READS, {}, virtual=False)
    for ratio in (None, 0.5, 2.0):
        kept = msgspec.structs.replace(verdict(), ratio=ratio)
        assert recast(kept, caps) == kept
    said = recast(verdict(), caps)
    assert said.verdict == "no material difference" and said.ci95 is None


@pytest.mark.parametrize("scatter", [0.01, 0.03, 0.1])
@pytest.mark.parametrize("seed", range(1, 4))
def test_workers_in_step_are_no_throttle(scatter: float, seed: int) -> None:
    found = Sides(("A", "B"), shared=True)
    found.add(
        STREAM,
        trains((unmetered, unmetered), operation_s=20e-3, workers=8, count=12, seed=seed, scatter=scatter),
    )
    assert found.caps(STREAM, {}, virtual=False) == {}
