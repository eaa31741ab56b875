"""The level that one side reaches under a load, with its interval."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from statistics import median, stdev

from scenarios.experiment.statistics.distributions import t_quantile

STRETCHES = 8


def level_interval(values: Sequence[float]) -> tuple[float, tuple[float, float] | None]:
    """The median of blocks or slices in the order measured, and its 95 % interval; None where they are too few.

    The interval is Student's, of the medians of up to eight stretches: neighbours in time are correlated.
    """
    middle = median(values)
    stretches = min(STRETCHES, len(values) // 2)
    if stretches < 3:
        return middle, None
    edges = [round(n * len(values) / stretches) for n in range(stretches + 1)]
    parts = [median(values[a:b]) for a, b in pairwise(edges)]
    half = t_quantile(0.975, stretches - 1) * stdev(parts) / math.sqrt(stretches)
    return middle, (max(0.0, middle - half), middle + half)
