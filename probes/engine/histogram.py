"""A histogram of latencies with logarithmic buckets: constant size, mergeable, 3 % wide. Standard library only.

The scheme is fio's and HdrHistogram's: the highest bit chooses the octave, the next five bits the bucket in it.
"""

from collections.abc import Iterable, Mapping, Sequence

SUB_BITS = 5
_SUB = 1 << SUB_BITS


def bucket_lower_bound(number: int) -> int:
    """The smallest value in the bucket, in ns."""
    if number < 2 * _SUB:
        return number
    shift = (number >> SUB_BITS) - 1
    return ((number & (_SUB - 1)) + _SUB) << shift


def bucket_upper_bound(number: int) -> int:
    """The largest value in the bucket, in ns."""
    return bucket_lower_bound(number + 1) - 1


def bucket_latencies(latencies_ns: Iterable[int]) -> dict[int, int]:
    """Bucket number -> count. Values below 0 count as 0; the number grows with the value."""
    counts: dict[int, int] = {}
    get = counts.get
    for ns in latencies_ns:
        if ns < _SUB:
            number = ns if ns > 0 else 0
        else:
            shift = ns.bit_length() - 1 - SUB_BITS
            number = (shift << SUB_BITS) + (ns >> shift)
        counts[number] = get(number, 0) + 1
    return counts


def merge_histograms(parts: Iterable[Mapping[int, int]]) -> dict[int, int]:
    total: dict[int, int] = {}
    for part in parts:
        for number, count in part.items():
            total[number] = total.get(number, 0) + count
    return total


def percentile(counts: Mapping[int, int], share: float) -> int | None:
    """The value in ns that `share` (0..1) of all lie at or below, interpolated in its bucket; None without any.

    Nearest rank: the smallest value such that at least `share` of all are not greater.
    """
    total = sum(counts.values())
    if total <= 0:
        return None
    rank = max(1, min(total, -int(-share * total // 1)))
    count_below = 0
    for number in sorted(counts):
        count = counts[number]
        if count_below + count >= rank:
            low, high = bucket_lower_bound(number), bucket_upper_bound(number)
            return low + (high - low) * (rank - count_below) // count
        count_below += count
    return None


def bucket_pairs(counts: Mapping[int, int]) -> list[tuple[int, int]]:
    """[upper bound in ns, count] by rising bound: the form of `Measured.histogram`."""
    return [(bucket_upper_bound(number), counts[number]) for number in sorted(counts)]


def coarser_buckets(pairs: Sequence[tuple[int, int]], width: float) -> list[tuple[int, int]]:
    """Upper bounds and counts in buckets so many times as wide as they are low: less to record."""
    merged: list[tuple[int, int]] = []
    first = 0
    for bound, count in pairs:
        if merged and bound <= first * width:
            merged[-1] = (bound, merged[-1][1] + count)
        else:
            merged.append((bound, count))
            first = bound
    return merged
