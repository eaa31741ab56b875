"""Caps and throttles of a disk."""

from collections.abc import Mapping, Sequence

import msgspec
import pytest

from hostdx.probes.reading.host import Host
from hostdx.probes.system.running.cgroup import IoLimit
from hostdx.scenarios.contract.events import RunVerdict
from hostdx.scenarios.storage import plan
from hostdx.scenarios.storage.plan import StorageSetup
from hostdx.scenarios.storage.throttling.caps import (
    DiskLimit,
    Throttle,
    find_cpu_pauses,
    find_throttles,
    limits_of_devices,
    watched_s,
)
from hostdx.scenarios.storage.throttling.detection import BlockCompletions, find_cap
from hostdx.scenarios.storage.throttling.findings import (
    cap_words,
    completions_by_load,
    cpu_pause_findings,
    recast_verdict,
)
from tests.every_case import every_case
from tests.fakes.throttled_disk import Meter, bucket, courses, no_meter, serial_meter, slice_meter, trains
from tests.needs import one_always, some_always

MIB = 1 << 20
READS, QD16, STREAM, WRITES = "randread-4k-qd1", "randread-4k-qd16", "read-1m-qd8", "write-1m-qd8"
# operation_s, workers
PACE = {READS: (80e-6, 1), QD16: (250e-6, 16), STREAM: (7e-3, 8), WRITES: (8e-3, 8), "cpu": (300e-6, 1)}


def measure(seed: int = 1, blocks: int = 14, **meters: Meter) -> dict[str, Sequence[BlockCompletions]]:
    """By load, in the order of PACE; a load's meter goes by its id with underscores."""
    series: dict[str, Sequence[BlockCompletions]] = {}
    for name, (operation_s, workers) in PACE.items():
        meter = meters.get(name.replace("-", "_"), no_meter)
        drift = 0.0 if meter is not no_meter else 0.05
        series[name] = courses(
            meter, operation_s=operation_s, workers=workers, blocks=blocks, seed=seed, drift=drift
        )
    return series


def throttle_values(
    series: Mapping[str, Sequence[BlockCompletions]], virtual: bool = True
) -> dict[tuple[str, tuple[str, ...]], float]:
    return {
        (throttle.unit, throttle.loads): throttle.value
        for throttle in find_throttles(series, (), virtual=virtual)
    }


def test_bytes_and_operations_are_told_apart() -> None:
    series = measure(
        randread_4k_qd1=slice_meter(2000, 0.1), randread_4k_qd16=slice_meter(2000, 0.1),
        read_1m_qd8=slice_meter(190, 0.1), write_1m_qd8=slice_meter(190, 0.1),
    )  # fmt: skip
    assert throttle_values(series, virtual=False) == {
        ("IOPS", (READS, QD16)): pytest.approx(2000, rel=0.02),
        ("MB/s", (STREAM, WRITES)): pytest.approx(199, rel=0.02),
    }


def test_small_and_large_operations_at_the_same_bytes_a_second_are_one_cap() -> None:
    control = courses(no_meter, operation_s=300e-6, workers=1, blocks=14)
    small = courses(slice_meter(5120, 0.1), operation_s=250e-6, workers=16, blocks=14)
    assert list(throttle_values({"cpu": control, QD16: small})) == [("IOPS", (QD16,))]
    large = courses(slice_meter(20, 0.25), operation_s=1e-3, workers=8, blocks=24)
    assert throttle_values({"cpu": control, QD16: small, STREAM: large}) == {
        ("MB/s", (QD16, STREAM)): pytest.approx(21, rel=0.05)
    }


def test_one_even_load_proves_nothing_and_two_at_one_rate_do_on_a_virtual_disk_only() -> None:
    one_load = measure(read_1m_qd8=bucket(238, 24))
    assert throttle_values(one_load) == {}
    pair = measure(read_1m_qd8=bucket(238, 24), write_1m_qd8=bucket(238, 24))
    assert throttle_values(pair) == {("MB/s", (STREAM, WRITES)): pytest.approx(250, rel=0.02)}
    assert throttle_values(pair, virtual=False) == {}


def test_an_even_load_at_a_published_cap_is_believed() -> None:
    gp3 = DiskLimit("IOPS", 3000.0, ("read", "write"), "gp3")
    [throttle] = find_throttles(measure(randread_4k_qd16=bucket(3000, 300)), [gp3], virtual=False)
    assert (cap_words(throttle), throttle.limit) == ("3 k IOPS", gp3)


def test_the_kernels_own_limit_is_named_whatever_the_course_looks_like() -> None:
    limits = limits_of_devices(
        [
            IoLimit("8:0", "riops", 12500, "/sys/fs/cgroup/job", "io.max"),
            IoLimit("8:16", "riops", 12500, "/x", "io.max"),
        ],
        ["8:0"],
    )
    assert [(limit.unit, limit.value, limit.kinds, limit.file) for limit in limits] == [
        ("IOPS", 12500.0, ("read",), "/sys/fs/cgroup/job/io.max")
    ]
    [throttle] = find_throttles(measure(), limits, virtual=False)
    assert throttle.loads == (READS,) and throttle.caps == () and throttle.limit == limits[0]
    assert find_throttles(measure(), [DiskLimit("IOPS", 12500.0, ("read",), "an offer")], virtual=False) == []


def test_a_cpu_quota_is_not_the_disk_and_only_the_control_tells_them_apart() -> None:
    throttled = measure(randread_4k_qd1=slice_meter(2000, 0.1))
    assert list(throttle_values(throttled)) == [("IOPS", (READS,))]
    assert watched_s(throttled) == pytest.approx(
        4 * 14 * 0.5, rel=0.05
    )  # of the loads that can run into a cap
    cap = DiskLimit("IOPS", 2000.0, ("read",), "io.max", "/sys/fs/cgroup/io.max")
    for control in ([], throttled["cpu"][:3], measure(cpu=slice_meter(2000, 0.1))["cpu"]):
        series = throttled | {"cpu": control}
        assert throttle_values(series) == {} and watched_s(series) == 0.0
        [throttle] = find_throttles(series, [cap], virtual=True)
        assert throttle.limit == cap


def test_pauses_while_cpu_time_is_withheld_are_no_cap_of_the_disk() -> None:
    """As on a virtual machine whose quota two CPUs use up, and the control's one does not."""
    paused = measure(randread_4k_qd16=slice_meter(2000, 0.1))
    [throttle] = find_throttles(paused, (), virtual=True, cpu_taken={QD16: 0.003})
    share = throttle.caps[0].pause_s / throttle.caps[0].period_s
    withheld = {QD16: 0.25 * share, STREAM: 0.25 * share}
    assert find_throttles(paused, (), virtual=True, cpu_taken=withheld) == []
    assert watched_s(paused, withheld) == pytest.approx(
        0.75 * watched_s(paused), rel=0.05
    )  # without that load
    assert list(find_cpu_pauses(paused, withheld)) == [QD16] and find_cpu_pauses(paused, {}) == {}
    [finding] = cpu_pause_findings(paused, withheld)
    assert finding.id == "storage.cpu-pauses" and len(finding.evidence) == 1
    cap = DiskLimit(
        "IOPS", 2000.0, ("read",), "io.max", "/sys/fs/cgroup/io.max"
    )  # which is known without the course
    assert [hit.limit for hit in find_throttles(paused, [cap], virtual=True, cpu_taken=withheld)] == [cap]


def measure_streams(
    rate: float, operation_s: float, first: int, *meters: Meter
) -> dict[str, Sequence[BlockCompletions]]:
    """Reads and writes as a run of one directory has them: blocks of 200 operations, half a second to five each."""
    block_s = min(5.0, max(0.5, 200 / rate))
    series = {"cpu": courses(no_meter, operation_s=2e-3, workers=1, blocks=7)}
    for seed, (name, meter) in enumerate(zip((STREAM, WRITES), meters, strict=True), first):
        series[name] = courses(
            meter,
            operation_s=operation_s,
            workers=8,
            blocks=max(2, round(8.5 / block_s)),
            block_s=block_s,
            seed=seed,
        )
    return series


@pytest.mark.parametrize("scatter", [0.1, 0.2, 0.3, 0.5])
@pytest.mark.parametrize("rate", one_always(57, 24, 190))
def test_a_disk_that_serves_one_after_another_is_not_capped(rate: int, scatter: float) -> None:
    """Its reads and writes have the same rate by themselves, and the slower it is the more even it looks."""
    for seed in range(20):
        meters = (serial_meter(1 / rate, scatter, 2 * seed + side) for side in range(2))
        assert find_throttles(measure_streams(rate, 1e-4, 2 * seed, *meters), (), virtual=True) == []


@every_case("busy", [0.02, 0.1])  # of the time, were the disk not held back
@every_case("rate", [24, 57, 190])
def test_a_slow_cap_stays_found(rate: int, busy: float) -> None:
    for seed in range(4):
        pair = (bucket(rate, rate / 10) for _ in range(2))
        [throttle] = find_throttles(measure_streams(rate, busy * 8 / rate, 2 * seed, *pair), (), virtual=True)
        assert (throttle.unit, throttle.value) == ("MB/s", pytest.approx(rate * MIB / 1e6, rel=0.05))


COMMON_READS, COMMON_STREAM, COMMON_WRITES = "randread-4k-qd16", "read-1m-qd8", "write-1m-qd8"


def find_caps(
    a: Meter, b: Meter, *, shared: bool, limit: DiskLimit | None = None, virtual: bool = False,
    operation_s: float = 250e-6, workers: int = 16, seed: int = 1, control: Meter | None = no_meter,
    scatter: float = 0.3,
) -> dict[str, Throttle]:  # fmt: skip
    """By side. Both streams where operations are slow, random reads otherwise."""
    batches = trains((a, b), operation_s=operation_s, workers=workers, count=12, seed=seed, scatter=scatter)
    by_load = dict.fromkeys(
        (COMMON_READS,) if operation_s < 1e-3 else (COMMON_STREAM, COMMON_WRITES), batches
    )
    if control is not None:
        by_load["cpu"] = trains((control, control), operation_s=300e-6, workers=1, count=5, seed=seed)
    limits = [limit] if limit else []
    return {
        side: cap
        for side, course in completions_by_load(("A", "B"), by_load, shared=shared).items()
        for cap in find_throttles(course, limits, virtual=virtual, turns=1 if shared else 2)
    }


def verdict(word: str = "inconclusive") -> RunVerdict:
    return RunVerdict(t=1.0, workload=COMMON_READS, metric="IOPS", baseline="A", variant="B", verdict=word, ratio=0.97,
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


SEEDS = some_always(range(1, 4), range(4, 11))


@pytest.mark.parametrize("seed", SEEDS)
def test_a_burst_of_two_gigabytes_is_named_with_its_size(seed: int) -> None:
    mb = 1 << 20
    rate, size = 250e6 / mb, 2e9 / mb
    cap = find_cap(courses(bucket(rate, size), operation_s=8e-3, workers=8, blocks=17, seed=seed, drift=0.05))
    assert cap is not None
    assert cap.rate * mb == pytest.approx(250e6, rel=0.05)
    assert cap.burst_operations * mb == pytest.approx(2e9, rel=0.1)
    assert cap.burst_rate * mb == pytest.approx(1e9, rel=0.2)
    assert cap.refill_s == pytest.approx(8, rel=0.1)


@every_case(("directories", "keeps", "expected"), [(1, True, False), (2, True, True), (2, False, False)])
def test_one_directory_is_measured_by_real_files(
    directories: int, keeps: bool, expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plan, "delays_inode_reuse", lambda host, place: keeps)
    setup = StorageSetup.__new__(StorageSetup)
    setup.targets = [type("Target", (), {"place": None})() for _ in range(directories)]
    assert setup.makes_links(Host("/")) is expected
