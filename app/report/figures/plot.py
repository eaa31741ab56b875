"""The one place that knows plotext: series of points in, lines of plain text out.

plotext 5.3 draws on one global figure. It is cleared here each time, its limit to the terminal's size is lifted, both
axes' limits are fixed, and values that are not finite are dropped (an infinity crashes it). Moving to plotext 6, which
replaced the module's functions by one figure object, changes this file only.
No colours: a series is known by its marker,
so that a view can colour it and a ticket can do without.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from hostdx.app.terminal.lines import flow_parts
from hostdx.app.terminal.printable import make_printable
from hostdx.probes import units
from hostdx.scenarios.contract.results.document import Axis, Chart, ChartSeries

HEIGHT = 16  # of a chart in a document

_STEPS = (1.0, 1.5, 2.0, 3.0, 5.0, 7.5, 10.0)
_TICK_STEPS = (1.0, 2.0, 2.5, 5.0)  # labels that are written whole: 5, 0.25, never 3.75


def rounded_axis(values: Sequence[float]) -> Axis:
    """Limits round all values in steps that seldom move; logarithmic where they span more than five times."""
    # a denormal has no power of ten below it: for a drawing it is nothing
    finite = [v if abs(v) > 1e-12 else 0.0 for v in values if _is_drawable(v)]
    if not finite:
        return Axis(0.0, 1.0)
    low, high = min(finite), max(finite)
    if low > 0 and high / low > 5:
        return Axis(_round_to_step(low, up=False), _round_to_step(high, up=True), log=True)
    if low >= 0:
        return Axis(0.0, _round_to_step(high, up=True) if high > 0 else 1.0)
    reach = _round_to_step(max(abs(low), abs(high)), up=True)
    return Axis(-reach, reach)


def _is_drawable(value: float) -> bool:
    """plotext multiplies by 1e8 on its way to a cell: beyond 1e15, and at an infinity, it crashes."""
    return -1e15 < value < 1e15


def _round_to_step(value: float, *, up: bool) -> float:
    power = 10.0 ** math.floor(math.log10(value))
    steps = [s * power for s in _STEPS]
    return (
        next(s for s in steps if s >= value * 0.999) if up else [s for s in steps if s <= value * 1.001][-1]
    )


def draw_plot(series: Sequence[ChartSeries], width: int, height: int, x: Axis, y: Axis) -> list[str]:
    """`height` lines of exactly `width` cells: the points over `x`, with labelled ticks on both axes."""
    limits = (*x[:2], *y[:2])
    if width < 12 or height < 4 or not all(map(_is_drawable, limits)) or x.low >= x.high or y.low >= y.high:
        return [" " * width for _ in range(max(0, height))]
    import plotext as plt  # type: ignore[import-untyped,unused-ignore]  # 36 ms: only where something is drawn

    plt.clear_figure()
    plt.theme("clear")
    plt.limit_size(False, False)
    plt.plot_size(width, height)
    plt.frame(False)
    plt.xaxes(True, False)
    plt.yaxes(True, False)

    def to_axis(value: float) -> float:
        return math.log10(value) if y.log else value

    plt.xlim(x.low, x.high)
    plt.ylim(to_axis(y.low), to_axis(y.high))
    for curve in series:
        points = [
            (px, to_axis(py))
            for px, py in curve.points
            if _is_drawable(px) and _is_drawable(py) and (py > 0 or not y.log)
        ]
        if points:
            plt.scatter([p[0] for p in points], [p[1] for p in points], marker=curve.marker)
        else:
            plt.scatter([x.low], [to_axis(y.low)], marker=" ")  # else the axes are left out
    if not series:
        plt.scatter([x.low], [to_axis(y.low)], marker=" ")
    ticks = _axis_ticks(y, 3 if height < 10 else 5)
    plt.yticks([to_axis(t) for t in ticks], [units.format_prefixed(t).strip().rjust(6) for t in ticks])
    steps = _axis_ticks(x, 5)
    plt.xticks(steps, [f"{s:g}" for s in steps])
    lines = [line.rstrip() for line in plt.uncolorize(plt.build()).split("\n")]
    return [line[:width].ljust(width) for line in lines[:height]]


def _axis_ticks(axis: Axis, about: int) -> list[float]:
    """Return the values of the labels, between the ends of the axis: about `about`, one more where they are even."""
    if not axis.log:
        smallest = math.floor(math.log10((axis.high - axis.low) / about))
        steps = (step * 10.0 ** (smallest + n) for n in range(3) for step in _TICK_STEPS)
        return next(ticks for step in steps if len(ticks := _multiples_inside(axis, step)) <= about + 1)
    power = 10.0 ** math.floor(math.log10(axis.low))
    marks = [m * power * 10**n for n in range(13) for m in (1, 2, 5)]
    inside = [m for m in marks if axis.low * 0.999 <= m <= axis.high * 1.001]
    return inside if len(inside) <= about else inside[:: -(-len(inside) // about)]


def _multiples_inside(axis: Axis, step: float) -> list[float]:
    first, last = math.ceil(axis.low / step - 1e-9), math.floor(axis.high / step + 1e-9)
    return [n * step for n in range(first, last + 1)]


def chart_lines(chart: Chart, width: int, height: int = HEIGHT) -> list[str]:
    """The points with their legend below."""
    drawn = [line.rstrip() for line in draw_plot(chart.series, width, height, chart.x, chart.y)]
    legend = flow_parts([(make_printable(curve.legend), "text") for curve in chart.series], width, gap="  ")
    return [*drawn, *("".join(part for part, _ in line) for line in legend)]
