"""The percentiles of a variant's latencies: apart from the groups, so that a report needs no bench to say it."""

from __future__ import annotations

from collections.abc import Iterable

# A variant's in a group: with fewer, the 99th percentile rests on less than ten of them.
OPERATIONS_FOR_P99 = 1000


def p99_ns(pairs: Iterable[tuple[int, int]]) -> int | None:
    """Of recorded [upper bound in ns, count] pairs, all blocks' together; None without any."""
    return percentile_ns(pairs, 0.99)


def percentile_ns(pairs: Iterable[tuple[int, int]], share: float) -> int | None:
    """The upper bound at or below which `share` (0..1) of them lie."""
    counts: dict[int, int] = {}
    for upper, count in pairs:
        counts[upper] = counts.get(upper, 0) + count
    total, seen = sum(counts.values()), 0
    for upper in sorted(counts):
        seen += counts[upper]
        if seen >= share * total:
            return upper
    return None
