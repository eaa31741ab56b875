"""An effect drawn, not only printed: `├──●──┤` on one log scale, the margin as a shaded band round 1."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

from app.tui.lines import Line, merged

MARGIN = 0.05
_STEPS = (1.15, 1.3, 1.5, 2.0, 3.0, 5.0, 10.0, 20.0, 50.0, 100.0, 1000.0, 1e4, 1e6)


class Scale(NamedTuple):
    """The factors at the ends: `low` < 1 < `high`."""

    low: float
    high: float

    def cell(self, value: float, width: int) -> int:
        share = math.log(max(value, 1e-9) / self.low) / math.log(self.high / self.low)
        return round(min(1.0, max(0.0, share)) * (width - 1))


def common_scale(values: Iterable[float | None]) -> Scale:
    """One scale for all, its ends in fixed steps so that it seldom moves; 1 always stands well inside."""
    slower = faster = 1.0
    for value in values:
        if value is not None and value > 0 and math.isfinite(value):
            slower, faster = max(slower, 1 / value), max(faster, value)
    left, right = (next((s for s in _STEPS if s >= end * 1.02), _STEPS[-1]) for end in (slower, faster))
    left, right = max(left, right**0.2), max(right, left**0.2)
    return Scale(1 / left, right)


def bar(
    ratio: float | None,
    ci95: tuple[float, float] | None,
    width: int,
    scale: Scale,
    *,
    margin: float = MARGIN,
    role: str = "strong",
) -> Line:
    """`width` cells. Under 1, slower, is on the left; the margin round 1 is shaded, and shines through the bar."""
    row: list[tuple[str, str]] = [(" ", "text")] * width
    band = range(scale.cell(1 / (1 + margin), width), scale.cell(1 + margin, width) + 1)
    for x in band:
        row[x] = ("░", "shade@band")

    def put(x: int, sign: str) -> None:
        row[x] = (sign, f"{role}@band" if x in band else role)

    if ci95 is not None:
        low, high = scale.cell(ci95[0], width), scale.cell(ci95[1], width)
        for x in range(low, high + 1):
            put(x, "┄" if x in band else "─")
        put(low, "├")
        put(high, "┤")
    if ratio is not None:
        put(scale.cell(ratio, width), "●")
    return merged(row)


def _end(factor: float) -> str:
    """`1.15 ×`, `1000 ×`: as many digits as tell it, never a power of ten written as one."""
    return f"{factor:.0f} ×" if factor >= 10 else f"{factor:.3g} ×"


def axis(width: int, scale: Scale) -> Line:
    """The scale's words over the bars: where 1 is, which side is slower, and how far the ends are."""
    row = [" "] * width

    def put(at: int, words: str) -> bool:
        if (
            at < 0
            or at + len(words) > width
            or any(c != " " for c in row[max(0, at - 1) : at + len(words) + 1])
        ):
            return False
        row[at : at + len(words)] = words
        return True

    one = scale.cell(1.0, width)
    row[one] = "1"
    left, right = _end(1 / scale.low), _end(scale.high)
    put(one - 9, "slower ◂") or put(one - 2, "◂")
    put(one + 2, "▸ faster") or put(one + 2, "▸")
    put(0, left)
    put(width - len(right), right)
    return [("".join(row), "dim")]
