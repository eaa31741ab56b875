"""Effects with their intervals on one logarithmic scale: where everything stands, and the chart as lines of cells."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeGuard

from app.lines import Line, cells, crop, merged, pad, shortened, text
from app.report import verdict_style
from probes import units
from scenarios.results.document import Bar, Intervals
from scenarios.verdict.verdict import Interval

MARGIN = 0.05
_TICKS = (10.0, 2.0, 100.0, 5.0, 3.0, 20.0, 1.3)  # those that have room, these first
_STEPS = (1.15, 1.3, 1.5, 2.0, 3.0, 5.0, 10.0, 20.0, 50.0, 100.0, 1000.0, 1e4, 1e6)
_NAME, MOST_BAR = 44, 61
_FEW = 12  # bars: each is read


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


def scale_of(bars: Sequence[Bar]) -> Scale:
    """For all; of more than a few bars for all estimates, the intervals of what is called and half of the others':
    some wide ones, which end in an arrow, would flatten all the rest."""
    if len(bars) <= _FEW:
        return common_scale(value for bar in bars for value in (bar.ratio, *(bar.ci95 or ())))
    others = sorted(_reach(bar) for bar in bars if not bar.word.is_different)
    middle = others[(len(others) - 1) // 2] if others else 1.0
    shown = [bar for bar in bars if bar.word.is_different or _reach(bar) <= middle]
    return common_scale([*(bar.ratio for bar in bars), *(end for bar in shown for end in bar.ci95 or ())])


def _reach(bar: Bar) -> float:
    return max(max(end, 1 / end) if sound(end) else math.inf for end in (bar.ratio, *(bar.ci95 or ())))


def sound(value: float | None) -> TypeGuard[float]:
    """It has a place on a logarithmic scale."""
    return value is not None and math.isfinite(value) and value > 1e-12


def drawable(ci95: Interval | None) -> Interval | None:
    return ci95 if ci95 is not None and all(map(sound, ci95)) else None


def bar_line(
    ratio: float | None,
    ci95: Interval | None,
    width: int,
    scale: Scale,
    *,
    margin: float = MARGIN,
    role: str = "strong",
    point: str = "●",
) -> Line:
    """`├──●──┤` in `width` cells, an arrow where it goes beyond an end. Under 1, slower, is on the left; the margin
    round 1 is shaded, and shines through the bar."""
    band = scale.band(margin, width)
    ground = ["░" if x in band else " " for x in range(width)]
    drawn = list(ground)
    if ci95 is not None and not any(map(math.isnan, ci95)):
        low, high = (scale.cell(end, width) for end in ci95)
        for x in range(low, high + 1):
            drawn[x] = "┄" if x in band else "─"
        drawn[low] = "◀" if ci95[0] < scale.low else "├"
        drawn[high] = "▶" if ci95[1] > scale.high else "┤"
    if sound(ratio):
        drawn[scale.cell(ratio, width)] = "◀" if ratio < scale.low else "▶" if ratio > scale.high else point

    def meaning(x: int) -> str:
        if drawn[x] == ground[x]:
            return "shade@band" if x in band else "text"
        return f"{role}@band" if x in band else role

    return merged([(sign, meaning(x)) for x, sign in enumerate(drawn)])


def factor(end: float) -> str:
    """`1.15 ×`, `1000 ×`: as many digits as tell it, never a power of ten written as one."""
    return f"{end:.0f} ×" if end >= 10 else f"{end:.3g} ×"


def axis(width: int, scale: Scale) -> Line:
    """The scale's words over the bars: where 1 is, which side is slower, and how far the ends are."""
    signs = [" "] * width

    def put(at: int, words: str) -> bool:
        if (
            at < 0
            or at + len(words) > width
            or any(c != " " for c in signs[max(0, at - 1) : at + len(words) + 1])
        ):
            return False
        signs[at : at + len(words)] = words
        return True

    one = scale.cell(1.0, width)
    signs[one] = "1"
    left, right = factor(1 / scale.low), factor(scale.high)
    put(one - 9, "slower ◂") or put(one - 2, "◂")
    put(one + 2, "▸ faster") or put(one + 2, "▸")
    put(0, left)
    put(width - len(right), right)
    for tick in _TICKS:
        for value in (1 / tick, tick):
            if scale.low < value < scale.high:
                put(scale.cell(value, width) - (len(factor(tick)) - 2) // 2, factor(tick))
    return [("".join(signs), "dim")]


def legend(margin: float) -> str:
    return (
        "Drawn: each effect with its 95 % CI on one logarithmic scale; left of the line is slower, the band is the "
        f"margin of {units.percent(margin)}, an arrow goes on beyond the scale."
    )


def interval_lines(found: Intervals, width: int, *, names: int = 0, sizes: int = 0) -> list[Line]:
    """The axis, then a line a bar; `names` and `sizes`: the cells of these columns where others share them."""
    if not found.bars:
        return []
    scale = scale_of(found.bars)
    sizes = sizes or max(cells(text(bar.size)) for bar in found.bars)
    names = names or min(_NAME, max(cells(text(bar.name)) for bar in found.bars), max(8, width - sizes - 21))
    room = max(9, min(MOST_BAR, width - names - sizes - 4))
    out: list[Line] = [crop([(" " * (names + 2), "text"), *axis(room, scale)], width)]
    for bar in found.bars:
        name = pad(text(shortened(bar.name, names)), names)
        size = (f"  {bar.size}", verdict_style.role(bar.word))
        drawn = drawn_line(bar, room, scale, found.margin)
        out.append(crop([*name, ("  ", "text"), *drawn, size], width))
    return out


def drawn_line(bar: Bar, width: int, scale: Scale, margin: float) -> Line:
    """A hollow point is no difference that was called."""
    role, point = verdict_style.role(bar.word), "●" if bar.word.is_different else "○"
    return bar_line(bar.ratio, bar.ci95, width, scale, margin=margin, role=role, point=point)
