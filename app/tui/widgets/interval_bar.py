"""An effect drawn, not only printed: `├──●──┤` on one log scale, the margin as a shaded band round 1."""

from __future__ import annotations

import math
from collections.abc import Iterable

from app.tui.lines import Line, merged

MARGIN = 0.05
_STEPS = (1.15, 1.3, 1.5, 2.0, 3.0, 5.0, 10.0, 20.0, 50.0, 100.0, 1000.0, 1e4, 1e6)


def common_scale(values: Iterable[float | None]) -> float:
    """The ends of the scale as a factor: 1/scale to scale, in fixed steps so that it seldom moves."""
    furthest = 1.0
    for value in values:
        if value is not None and value > 0 and math.isfinite(value):
            furthest = max(furthest, value, 1 / value)
    return next((s for s in _STEPS if s >= furthest * 1.02), _STEPS[-1])


def bar(
    ratio: float | None,
    ci95: tuple[float, float] | None,
    width: int,
    scale: float,
    *,
    margin: float = MARGIN,
    role: str = "strong",
) -> Line:
    """`width` cells (odd widths put 1 in the middle). Under 1, slower, is on the left."""

    def cell(value: float) -> int:
        share = math.log(max(value, 1e-9)) / math.log(scale)
        return round((min(1.0, max(-1.0, share)) + 1) / 2 * (width - 1))

    row: list[tuple[str, str]] = [(" ", "text")] * width
    for x in range(cell(1 / (1 + margin)), cell(1 + margin) + 1):
        row[x] = ("░", "band")
    row[cell(1.0)] = ("│", "band") if scale > 2 else ("░", "band")
    if ci95 is not None:
        low, high = cell(ci95[0]), cell(ci95[1])
        for x in range(low, high + 1):
            row[x] = ("─", role)
        row[low], row[high] = ("├", role), ("┤", role)
    if ratio is not None:
        row[cell(ratio)] = ("●", role)
    return merged(row)


def axis(width: int, scale: float) -> Line:
    """The scale's words over the bars: which side is slower, where 1 is, and how far the ends are."""
    far = f"{scale:.4g} ×"
    middle = "slower ◂ 1 ▸ faster"
    if width < len(middle) + 2 * len(far) + 2:
        middle, far = ("slower ◂1▸ faster", "") if width >= 17 else ("1", "")
    centre = (width - 1) // 2 - middle.index("1")
    row = list(" " * width)
    row[max(0, centre) : max(0, centre) + len(middle)] = middle
    row = row[:width]
    if far:
        row[: len(far)] = far
        row[width - len(far) :] = far
    return [("".join(row), "dim")]


def factor(ratio: float) -> str:
    """A ratio in words: `27 % slower`, `12.4 × slower`, `no difference`."""
    if ratio <= 0 or not math.isfinite(ratio):
        return "?"
    word = "slower" if ratio < 1 else "faster"
    if 0.5 < ratio < 2:
        share = abs(1 - ratio) * 100
        return (
            "the same"
            if share < 0.05
            else f"{share:.0f} % {word}"
            if share >= 10
            else f"{share:.1f} % {word}"
        )
    times = 1 / ratio if ratio < 1 else ratio
    return f"{times:.3g} × {word}"


def span(ci95: tuple[float, float]) -> str:
    """The interval in the same words as `factor`: `24–30 %` or `11.9–13.1 ×`; both sides of 1 keep their signs."""
    low, high = ci95
    if low <= 0 or not (math.isfinite(low) and math.isfinite(high)):
        return ""
    if low < 1 < high:
        return f"-{(1 - low) * 100:.1f} to +{(high - 1) * 100:.1f} %"
    if low > 0.5 and high < 2:
        ends = sorted((abs(1 - low) * 100, abs(1 - high) * 100))
        return f"{ends[0]:.1f}–{ends[1]:.1f} %"
    ends = sorted((1 / low, 1 / high)) if high <= 1 else [low, high]
    return f"{ends[0]:.3g}–{ends[1]:.3g} ×"
