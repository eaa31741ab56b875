"""The size of an effect in words: the same on the screen and in the report."""

from __future__ import annotations

import math


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
    return f"{_three(times)} × {word}"


def _three(value: float) -> str:
    """Three digits, trailing noughts kept: 2.00 beside 2.17."""
    return f"{value:#.3g}".rstrip(".") if value < 1000 else f"{value:.0f}"


def span(ci95: tuple[float, float], ratio: float | None = None) -> str:
    """The interval in the words that `factor` has for its estimate: `24–30 %` or `11.9–13.1 ×`.

    Both sides of 1 keep their signs.
    """
    low, high = ci95
    if low <= 0 or not (math.isfinite(low) and math.isfinite(high)):
        return ""
    if low < 1 < high:
        return f"-{(1 - low) * 100:.1f}…+{(high - 1) * 100:.1f} %"
    if 0.5 < ratio < 2 if ratio else low > 0.5 and high < 2:
        ends = sorted((abs(1 - low) * 100, abs(1 - high) * 100))
        return f"{ends[0]:.1f}–{ends[1]:.1f} %"
    ends = sorted((1 / low, 1 / high)) if high <= 1 else [low, high]
    return f"{_three(ends[0])}–{_three(ends[1])} ×"
