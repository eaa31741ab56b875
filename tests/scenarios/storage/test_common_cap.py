"""Two sides that run into a cap: on one disk, on two disks of the same cap, and on disks of different ones."""

import msgspec

from hostdx.scenarios.contract.events import RunVerdict
from hostdx.scenarios.storage.throttling.caps import DiskLimit, Throttle, find_throttles
from hostdx.scenarios.storage.throttling.common_cap import courses_of, recast_verdict
from tests.fakes.throttled_disk import Meter, bucket, no_meter, slice_meter, trains

READS, STREAM, WRITES = "randread-4k-qd16", "read-1m-qd8", "write-1m-qd8"


def find_caps(
    a: Meter, b: Meter, *, shared: bool, limit: DiskLimit | None = None, virtual: bool = False,
    operation_s: float = 250e-6, workers: int = 16, seed: int = 1, control: Meter | None = no_meter,
    scatter: float = 0.3,
) -> dict[str, Throttle]:  # fmt: skip
    """By side. Both streams where operations are slow, random reads otherwise."""
    batches = trains((a, b), operation_s=operation_s, workers=workers, count=12, seed=seed, scatter=scatter)
    by_load = dict.fromkeys((READS,) if operation_s < 1e-3 else (STREAM, WRITES), batches)
    if control is not None:
        by_load["cpu"] = trains((control, control), operation_s=300e-6, workers=1, count=5, seed=seed)
    limits = [limit] if limit else []
    return {
        side: cap
        for side, course in courses_of(("A", "B"), by_load, shared=shared).items()
        for cap in find_throttles(course, limits, virtual=virtual, turns=1 if shared else 2)
    }


def verdict(word: str = "inconclusive") -> RunVerdict:
    return RunVerdict(t=1.0, workload=READS, metric="IOPS", baseline="A", variant="B", verdict=word, ratio=0.97,
                   ci95=(0.8, 1.2), groups=40, smallest_effect=0.2)  # fmt: skip


def test_two_disks_at_the_limit_of_their_control_group() -> None:
    limit = DiskLimit("IOPS", 2000.0, ("read",), "io.max", "/sys/fs/cgroup/io.max")
    assert set(find_caps(slice_meter(2000, 0.1), no_meter, shared=False, limit=limit)) == {"A"}
    caps = find_caps(bucket(2000, 200), bucket(2000, 200), shared=False, limit=limit)
    assert set(caps) == {"A", "B"} and recast_verdict(verdict(), caps).verdict == "no material difference"


def test_what_says_nothing_of_the_sides_stays() -> None:
    """Sides that had unlike shares, or that were not measured at all, are not made equal by a cap."""
    meter = slice_meter(2000, 0.1)
    caps = find_caps(meter, meter, shared=True)
    for ratio in (None, 0.5, 2.0):
        text = msgspec.structs.replace(verdict(), ratio=ratio)
        assert recast_verdict(text, caps) == text
    recast = recast_verdict(verdict(), caps)
    assert recast.verdict == "no material difference" and recast.ci95 is None
