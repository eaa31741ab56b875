"""What blocks are summed up to."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hostdx.probes.engine import histogram
from hostdx.probes.engine.measured import Measured, served_by_cache_reason
from hostdx.probes.engine.summary import combine_replies
from hostdx.probes.engine.workloads import engine_load

MS = 1_000_000


def piece(count: int, each_ns: int, cpu_s: float = 0.0) -> dict[str, Any]:
    counts = histogram.bucket_latencies([each_ns] * count)
    return {"ns": count * each_ns, "n": count, "cpu": cpu_s, "h": sorted(counts.items())}


def reply(*pieces: dict[str, Any]) -> dict[str, Any]:
    return {"slices": list(pieces), "ns": sum(p["ns"] for p in pieces), "n": sum(p["n"] for p in pieces)}


def test_the_onset_stands_apart() -> None:
    replies = [reply(piece(100, 10 * MS, 0.5), piece(1000, MS, 0.25))]
    measured = combine_replies(engine_load("randread-4k-qd1"), replies, [1.0, 2.0], True, 1100 * 4096)
    assert measured.values["IOPS"] == pytest.approx(1000)
    assert measured.operations == 1000
    assert measured.cpu_s == 0.25
    assert measured.device_bytes == 1000 * 4096
    assert measured.onset is not None
    assert measured.onset.values["IOPS"] == pytest.approx(100)
    assert measured.onset.operations == 100


def test_a_read_block_must_reach_the_device() -> None:
    def block(device: int | None) -> Measured:
        return Measured(seconds=0.5, values={}, bytes=1000, device_bytes=device)

    assert served_by_cache_reason(block(950)) == ""
    assert served_by_cache_reason(block(4000)) == ""
    assert served_by_cache_reason(block(None)) == ""
    assert (
        served_by_cache_reason(block(30)) == "served by a cache: 3 % of the bytes read came from the device"
    )


latencies = st.lists(st.integers(0, 10**11), min_size=1, max_size=300)


@given(st.integers(0, 10**12))
def test_a_value_lies_in_its_bucket_and_buckets_are_3_percent_wide(ns: int) -> None:
    [number] = histogram.bucket_latencies([ns])
    low, high = histogram.bucket_lower_bound(number), histogram.bucket_upper_bound(number)
    assert low <= ns <= high
    assert high - low <= max(1, low) / 32


@given(st.integers(0, 10**6))
def test_buckets_lie_side_by_side(number: int) -> None:
    number %= 1500
    last = histogram.bucket_upper_bound(number)
    assert list(histogram.bucket_latencies([last, last + 1])) == [number, number + 1]


@given(latencies, st.sampled_from([0.01, 0.5, 0.9, 0.99, 0.999, 1.0]))
def test_percentiles_are_within_a_bucket_of_the_exact_ones(values: list[int], share: float) -> None:
    exact = sorted(values)[max(1, -int(-share * len(values) // 1)) - 1]
    percentile = histogram.percentile(histogram.bucket_latencies(values), share)
    assert percentile is not None
    assert abs(percentile - exact) <= max(1, exact * 0.032)
