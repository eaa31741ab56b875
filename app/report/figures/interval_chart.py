"""Effects with their intervals on one logarithmic scale: where everything stands, and the chart as lines of cells."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeGuard

from hostdx.app.report import wording
from hostdx.app.terminal.lines import (
    Line,
    cell_width,
    crop_line,
    fit_line,
    merge_spans,
    shorten_names,
    text_line,
)
from hostdx.probes import units
from hostdx.scenarios.contract.results.document import Bar, Intervals
from hostdx.scenarios.contract.verdict.verdict import Interval

MARGIN = 0.05
_TICKS = (10.0, 2.0, 100.0, 5.0, 3.0, 20.0, 1.3)  # those that have room, these first
_STEPS = (1.15, 1.3, 1.5, 2.0, 3.0, 5.0, 10.0, 20.0, 50.0, 100.0, 1000.0, 1e4, 1e6)
_NAME, MAX_BAR_CELLS = 44, 61
_MAX_FULL_BARS = 12  # bars: each is read


class LogScale(NamedTuple):
    """The factors at the ends: `low` < 1 < `high`; slower is on the left."""

    low: float
    high: float

    def share_of(self, value: float) -> float:
        """0 at the left end, 1 at the right one; what lies beyond an end stands there."""
        share = math.log(max(value, 1e-12) / self.low) / math.log(self.high / self.low)
        return min(1.0, max(0.0, share))

    def cell_of(self, value: float, width: int) -> int:
        return round(self.share_of(value) * (width - 1))

    def margin_cells(self, margin: float, width: int) -> range:
        """The cells in which a difference is smaller than the margin."""
        return range(self.cell_of(1 / (1 + margin), width), self.cell_of(1 + margin, width) + 1)


def common_scale(values: Iterable[float | None]) -> LogScale:
    """One scale for all, its ends in fixed steps so that it seldom moves; 1 always stands well inside."""
    slower = faster = 1.0
    for value in values:
        if is_drawable_value(value):
            slower, faster = max(slower, 1 / value), max(faster, value)
    left, right = _next_step(slower * 1.02), _next_step(faster * 1.02)
    return LogScale(1 / max(left, _next_step(right**0.25)), max(right, _next_step(left**0.25)))


def _next_step(factor: float) -> float:
    return next((step for step in _STEPS if step >= factor), _STEPS[-1])


def scale_for_bars(bars: Sequence[Bar]) -> LogScale:
    """For all; of more than a few bars for all estimates, the intervals of what is called and half of the others':
    some wide ones, which end in an arrow, would flatten all the rest."""
    if len(bars) <= _MAX_FULL_BARS:
        return common_scale(value for bar in bars for value in (bar.ratio, *(bar.ci95 or ())))
    others = sorted(_farthest_end_as_factor(bar) for bar in bars if not bar.word.is_different)
    middle = others[(len(others) - 1) // 2] if others else 1.0
    shown = [bar for bar in bars if bar.word.is_different or _farthest_end_as_factor(bar) <= middle]
    return common_scale([*(bar.ratio for bar in bars), *(end for bar in shown for end in bar.ci95 or ())])


def _farthest_end_as_factor(bar: Bar) -> float:
    return max(
        max(end, 1 / end) if is_drawable_value(end) else math.inf for end in (bar.ratio, *(bar.ci95 or ()))
    )


def is_drawable_value(value: float | None) -> TypeGuard[float]:
    """It has a place on a logarithmic scale."""
    return value is not None and math.isfinite(value) and value > 1e-12


def drawable_interval(ci95: Interval | None) -> Interval | None:
    return ci95 if ci95 is not None and all(map(is_drawable_value, ci95)) else None


def bar_line(
    ratio: float | None,
    ci95: Interval | None,
    width: int,
    scale: LogScale,
    *,
    margin: float = MARGIN,
    role: str = "strong",
    point: str = "●",
) -> Line:
    """`├──●──┤` in `width` cells, an arrow where it goes beyond an end. Under 1, slower, is on the left; the margin
    round 1 is shaded, and shines through the bar."""
    band = scale.margin_cells(margin, width)
    ground = ["░" if x in band else " " for x in range(width)]
    drawn = list(ground)
    if ci95 is not None and not any(map(math.isnan, ci95)):
        low, high = (scale.cell_of(end, width) for end in ci95)
        for x in range(low, high + 1):
            drawn[x] = "┄" if x in band else "─"
        drawn[low] = "◀" if ci95[0] < scale.low else "├"
        drawn[high] = "▶" if ci95[1] > scale.high else "┤"
    if is_drawable_value(ratio):
        drawn[scale.cell_of(ratio, width)] = (
            "◀" if ratio < scale.low else "▶" if ratio > scale.high else point
        )

    def role_at(x: int) -> str:
        if drawn[x] == ground[x]:
            return "shade@band" if x in band else "text"
        return f"{role}@band" if x in band else role

    return merge_spans([(sign, role_at(x)) for x, sign in enumerate(drawn)])


def format_factor(factor: float) -> str:
    """`1.15 ×`, `1000 ×`: as many digits as tell it, never a power of ten written as one."""
    return f"{factor:.0f} ×" if factor >= 10 else f"{factor:.3g} ×"


NARROW = 30  # cells of an axis that has not room for both words and numbers


def axis_line(width: int, scale: LogScale) -> Line:
    """The scale's words over the bars: where 1 is, which side is slower, and how far the ends are."""
    signs = [" "] * width

    def place_words(at: int, words: str) -> bool:
        if (
            at < 0
            or at + len(words) > width
            or any(c != " " for c in signs[max(0, at - 1) : at + len(words) + 1])
        ):
            return False
        signs[at : at + len(words)] = words
        return True

    center = scale.cell_of(1.0, width)
    signs[center] = "1"
    left, right = format_factor(1 / scale.low), format_factor(scale.high)
    # one word at least says which side is which
    if width < NARROW and not place_words(center + 2, "▸ faster"):
        place_words(center - 9, "slower ◂")
    place_words(0, left)  # else a number on each side before any word
    place_words(width - len(right), right)
    place_words(center - 9, "slower ◂") or place_words(center - 2, "◂")
    place_words(center + 2, "▸ faster") or place_words(center + 2, "▸")
    for tick in _TICKS:
        for value in (1 / tick, tick):
            if scale.low < value < scale.high:
                place_words(
                    scale.cell_of(value, width) - (len(format_factor(tick)) - 2) // 2, format_factor(tick)
                )
    return [("".join(signs), "dim")]


def legend_text(margin: float) -> str:
    return (
        "Drawn: each effect with its 95 % CI on one logarithmic scale; left of the line is slower, the band is the "
        f"margin of {units.format_percent(margin)}, an arrow goes on beyond the scale."
    )


def interval_lines(intervals: Intervals, width: int, *, names: int = 0, sizes: int = 0) -> list[Line]:
    """The axis, then a line a bar; `names` and `sizes`: the cells of these columns where others share them."""
    if not intervals.bars:
        return []
    scale = scale_for_bars(intervals.bars)
    sizes = sizes or max(cell_width(text_line(bar.size)) for bar in intervals.bars)
    names = names or min(
        _NAME, max(cell_width(text_line(bar.name)) for bar in intervals.bars), max(8, width - sizes - 21)
    )
    room = max(9, min(MAX_BAR_CELLS, width - names - sizes - 4))
    out: list[Line] = [crop_line([(" " * (names + 2), "text"), *axis_line(room, scale)], width)]
    shown_names = shorten_names([bar.name for bar in intervals.bars], names)
    for bar, shown_name in zip(intervals.bars, shown_names, strict=True):
        name = fit_line(text_line(shown_name), names)
        size = (f"  {bar.size}", wording.word_role(bar.word))
        drawn = draw_bar(bar, room, scale, intervals.margin)
        out.append(crop_line([*name, ("  ", "text"), *drawn, size], width))
    return out


def draw_bar(bar: Bar, width: int, scale: LogScale, margin: float) -> Line:
    """A hollow point is no difference that was called."""
    role, point = wording.word_role(bar.word), "●" if bar.word.is_different else "○"
    return bar_line(bar.ratio, bar.ci95, width, scale, margin=margin, role=role, point=point)
