"""The histogram against exact percentiles."""

from hypothesis import given
from hypothesis import strategies as st

from hostdx.probes.engine import histogram

latencies = st.lists(st.integers(0, 10**11), min_size=1, max_size=300)


@given(st.integers(0, 10**12))
def test_a_value_lies_in_its_bucket_and_buckets_are_3_percent_wide(ns: int) -> None:
    [number] = histogram.fold_latencies([ns])
    low, high = histogram.bucket_lower_bound(number), histogram.bucket_upper_bound(number)
    assert low <= ns <= high
    assert high - low <= max(1, low) / 32


@given(st.integers(0, 10**6))
def test_buckets_lie_side_by_side(number: int) -> None:
    number %= 1500
    last = histogram.bucket_upper_bound(number)
    assert list(histogram.fold_latencies([last, last + 1])) == [number, number + 1]


@given(latencies, st.sampled_from([0.01, 0.5, 0.9, 0.99, 0.999, 1.0]))
def test_percentiles_are_within_a_bucket_of_the_exact_ones(values: list[int], share: float) -> None:
    exact = sorted(values)[max(1, -int(-share * len(values) // 1)) - 1]
    percentile = histogram.percentile(histogram.fold_latencies(values), share)
    assert percentile is not None
    assert abs(percentile - exact) <= max(1, exact * 0.032)
