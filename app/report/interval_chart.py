"""Effects with their intervals on one logarithmic scale: where everything stands, before it is cells, text or SVG."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeGuard

_STEPS = (1.15, 1.3, 1.5, 2.0, 3.0, 5.0, 10.0, 20.0, 50.0, 100.0, 1000.0, 1e4, 1e6)


class Scale(NamedTuple):
    """The factors at the ends: `low` < 1 < `high`; slower is on the left."""

    low: float
    high: float

    def share(self, value: float) -> float:
        """0 at the left end, 1 at the right one; what lies beyond an end stands there."""
        share = math.log(max(value, 1e-12) / self.low) / math.log(self.high / self.low)
        return min(1.0, max(0.0, share))

    def cell(self, value: float, width: int) -> int:
        return round(self.share(value) * (width - 1))

    def band(self, margin: float, width: int) -> range:
        """The cells in which a difference is smaller than the margin."""
        return range(self.cell(1 / (1 + margin), width), self.cell(1 + margin, width) + 1)


def common_scale(values: Iterable[float | None]) -> Scale:
    """One scale for all, its ends in fixed steps so that it seldom moves; 1 always stands well inside."""
    slower = faster = 1.0
    for value in values:
        if sound(value):
            slower, faster = max(slower, 1 / value), max(faster, value)
    left, right = (next((s for s in _STEPS if s >= end * 1.02), _STEPS[-1]) for end in (slower, faster))
    left, right = max(left, right**0.2), max(right, left**0.2)
    return Scale(1 / left, right)


def sound(value: float | None) -> TypeGuard[float]:
    """It has a place on a logarithmic scale."""
    return value is not None and math.isfinite(value) and value > 1e-12


def row(
    scale: Scale,
    ratio: float | None,
    ci95: tuple[float, float] | None,
    ground: Sequence[str],
    *,
    band: range = range(0),
    point: str = "●",
) -> list[str]:
    """`├──●──┤` over the cells of `ground`, which shine through in the `band`; an arrow where it goes beyond an end."""
    width, cells = len(ground), list(ground)
    if ci95 is not None and not any(map(math.isnan, ci95)):
        low, high = (scale.cell(end, width) for end in ci95)
        for x in range(low, high + 1):
            cells[x] = "┄" if x in band else "─"
        cells[low] = "◀" if ci95[0] < scale.low else "├"
        cells[high] = "▶" if ci95[1] > scale.high else "┤"
    if sound(ratio):
        cells[scale.cell(ratio, width)] = "◀" if ratio < scale.low else "▶" if ratio > scale.high else point
    return cells
