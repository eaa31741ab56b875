"""Whether a measure's nodes are two populations: then one part is no pile of outliers, and a setting parts them.

The best cut of the sorted values in two (least squares within the parts, the exact 2-means of one dimension). Two,
where the parts' means lie so many of their own deviations apart as no single population cut in two shows: Ashman's D
(Ashman, Bird and Zepf, "Detecting bimodality in astronomical datasets", 1994), with a threshold from simulated single
populations, normal, uniform and heavy-tailed (tests/benchmarks/simulation/fleet.py).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import accumulate

import msgspec

LEAST_PART = 3  # nodes; and
LEAST_SHARE = 0.1  # of all: fewer are odd nodes
CUT = 4.0  # Ashman's D of one population cut in two: 2.7 for normal, 3.5 for uniform values of many nodes …
_FEW = 40.0  # … and more by chance among few nodes: so much over their number
_LEAST_GAP = 0.02  # of the level, between the parts' means
_FLOOR = 0.002


class Parted(msgspec.Struct, frozen=True, kw_only=True):
    """`lower` has the smaller logs (more is better: the slower part). `ratio`: its level over the other's."""

    lower: tuple[str, ...]
    upper: tuple[str, ...]
    centres: tuple[float, float]
    cut: float  # from this log on a node is in the upper part
    distance: float  # Ashman's D

    @property
    def ratio(self) -> float:
        return math.exp(self.centres[0] - self.centres[1])

    def centre_at(self, log: float) -> float:
        """Of the part that a node with this value is in."""
        return self.centres[0] if log < self.cut else self.centres[1]


def parted(logs: Mapping[str, float]) -> Parted | None:
    """None where it is one population, or where the smaller part is a few odd nodes."""
    order = sorted(logs, key=logs.__getitem__)
    n = len(order)
    least = max(LEAST_PART, math.ceil(LEAST_SHARE * n))
    if n < 2 * least:
        return None
    middle = logs[order[n // 2]]
    sums = [0.0, *accumulate(logs[name] - middle for name in order)]
    squares = [0.0, *accumulate((logs[name] - middle) ** 2 for name in order)]

    def part(start: int, end: int) -> tuple[float, float]:
        """Mean and sum of squares round it."""
        total = sums[end] - sums[start]
        return total / (end - start), max(0.0, squares[end] - squares[start] - total * total / (end - start))

    cut = min(range(least, n - least + 1), key=lambda at: part(0, at)[1] + part(at, n)[1])
    (low, a), (high, b) = part(0, cut), part(cut, n)
    scatter = math.sqrt(max(a / (cut - 1), _FLOOR**2) + max(b / (n - cut - 1), _FLOOR**2))
    distance = math.sqrt(2) * (high - low) / scatter
    if distance < CUT + _FEW / n or high - low < _LEAST_GAP:
        return None
    return Parted(
        lower=tuple(order[:cut]),
        upper=tuple(order[cut:]),
        centres=(low + middle, high + middle),
        cut=logs[order[cut]],
        distance=distance,
    )
