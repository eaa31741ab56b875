"""A document's drawings as SVG.

Text comes from the host: every piece is made printable and escaped.
"""

import math
from html import escape

from hostdx.app.report import wording
from hostdx.app.report.figures.interval_chart import LogScale, format_factor
from hostdx.app.terminal.printable import make_printable
from hostdx.probes import units
from hostdx.scenarios.contract.results.document import Bar, Chart, Histogram

WIDE, SMALL = 720, 360  # of a drawing on its own, and of one among small multiples
_BAR, _BAR_HIGH, _EDGE = 220, 20, 8  # of an interval in its row
_MIN_BAND, _CHARACTER = 6, 8  # of the margin's band, and the width of a letter
_AXIS_TICKS = (10.0, 100.0, 2.0, 5.0)
_HIGH, _SIDE, _FOOT = 190, 64, 34  # of the blocks' picture
_HIST = 76  # of a side of a histogram
_SIDES = ("#0e8fb3", "#b3479b", "#8a7a1f", "#6f6fd1")  # in no severity's colour
_OPEN = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {w} {h}" width="{w}" role="img" font-size="12" '
    'font-family="sans-serif" fill="currentColor"><title>{title}</title>'
)


def bar_svg(bar: Bar, scale: LogScale, margin: float) -> str:
    """An effect in its row: the margin as a band, the line of no difference, the interval and its point."""
    high, middle = _BAR_HIGH, _BAR_HIGH / 2

    def x_position(value: float) -> float:
        return _x_position(scale, value)

    low, top = x_position(1 / (1 + margin)), x_position(1 + margin)
    if top - low < _MIN_BAND:
        low, top = x_position(1) - _MIN_BAND / 2, x_position(1) + _MIN_BAND / 2
    colour = wording.COLOURS.get(bar.word, "currentColor")
    parts = [
        _OPEN.format(w=_BAR, h=high, title=f"{_crop_escaped(bar.name, 60)}: {_crop_escaped(bar.size, 40)}"),
        f'<rect x="{low:.1f}" y="0" width="{top - low:.1f}" height="{high}" opacity="0.15"/>',
        f'<path d="M{x_position(1):.1f} 0V{high}" stroke="currentColor" opacity="0.5"/>',
    ]
    if bar.ci95 is not None:
        first, last = bar.ci95
        a, b = x_position(first), x_position(last)
        low_end = _interval_end_path(a, middle, beyond=first < scale.low, direction=1)
        high_end = _interval_end_path(b, middle, beyond=last > scale.high, direction=-1)
        parts.append(
            f'<path d="M{a:.1f} {middle:.1f}H{b:.1f}{low_end}{high_end}" '
            f'stroke="{colour}" stroke-width="2" fill="none"/>'
        )
    parts.append(f'<circle cx="{x_position(bar.ratio):.1f}" cy="{middle:.1f}" r="4.5" fill="{colour}"/>')
    return "".join([*parts, "</svg>"])


def _x_position(scale: LogScale, value: float) -> float:
    return _EDGE + scale.share_of(value) * (_BAR - 2 * _EDGE)


def axis_svg(scale: LogScale) -> str:
    """Over the bars: how far the ends are, and where 1 is."""
    parts = [_OPEN.format(w=_BAR, h=_BAR_HIGH, title="slower on the left, faster on the right")]
    label_spans: list[tuple[float, float]] = []
    # 1 is what all are read by; then the ends, then what has room between
    for value in (1.0, scale.low, scale.high, *(v for t in _AXIS_TICKS for v in (1 / t, t))):
        words = "1" if value == 1 else format_factor(max(value, 1 / value))
        half = _CHARACTER * len(words) / 2
        at = min(_BAR - half, max(half, _x_position(scale, value)))
        if scale.low <= value <= scale.high and all(at + half < a or at - half > b for a, b in label_spans):
            label_spans.append((at - half - _CHARACTER, at + half + _CHARACTER))
            parts.append(f'<text x="{at:.1f}" y="14" text-anchor="middle">{words}</text>')
    return "".join([*parts, "</svg>"])


def _interval_end_path(at: float, y: float, *, beyond: bool, direction: int) -> str:
    """A stroke across, or an arrow's head where the interval goes on beyond the axis."""
    if not beyond:
        return f"M{at:.1f} {y - 5:.1f}v10"
    return f"M{at + 6 * direction:.1f} {y - 5:.1f}L{at:.1f} {y:.1f}l{6 * direction} 5"


def chart_svg(chart: Chart, wide: int = WIDE) -> str:
    """One mark a point, the legend below in lines of its own."""
    x, y = chart.x, chart.y
    if not all(map(math.isfinite, (*x[:2], *y[:2]))) or x.low >= x.high or y.low >= y.high:
        return ""
    high = _HIGH + _FOOT

    def y_share(value: float) -> float:
        scale = math.log10 if y.log else float
        return (scale(value) - scale(y.low)) / (scale(y.high) - scale(y.low))

    def position(px: float, py: float) -> tuple[float, float]:
        return _SIDE + (px - x.low) / (x.high - x.low) * (wide - _SIDE - 10), _HIGH - y_share(py) * (
            _HIGH - 14
        )

    parts = [
        _OPEN.format(w=wide, h=high + 16 * len(chart.series), title=_crop_escaped(chart.title, 120)),
        f'<path d="M{_SIDE} 8V{_HIGH}H{wide - 10}" fill="none" stroke="currentColor" opacity="0.6"/>',
        f'<text x="{_SIDE - 6}" y="18" text-anchor="end">{units.format_prefixed(y.high)}</text>',
        f'<text x="{_SIDE - 6}" y="{_HIGH}" text-anchor="end">{units.format_prefixed(y.low)}</text>',
        f'<text x="{_SIDE}" y="{_HIGH + 15}">{x.low:g} {escape(chart.across.split()[0])}</text>',
        f'<text x="{wide - 10}" y="{_HIGH + 15}" text-anchor="end">{x.high:g} {escape(chart.across)}</text>',
    ]
    for n, curve in enumerate(chart.series):
        colour, line = _SIDES[n % len(_SIDES)], high + 16 * n
        for run in curve.runs:
            points = " ".join(f"{px:.1f},{py:.1f}" for px, py in (position(*point) for point in run))
            parts.append(f'<polyline points="{points}" fill="none" stroke="{colour}" opacity="0.35"/>')
        parts += [_mark_svg(n, *position(px, py), colour) for px, py in curve.points if py > 0 or not y.log]
        parts.append(_mark_svg(n, _SIDE, line - 4, colour))
        parts.append(
            f'<text x="{_SIDE + 10}" y="{line}">{_crop_escaped(curve.legend, (wide - _SIDE) // 7)}</text>'
        )
    if y.log:
        parts.append(f'<text x="{_SIDE + 6}" y="16" opacity="0.7">logarithmic</text>')
    return "".join([*parts, "</svg>"])


def histogram_svg(histogram: Histogram, wide: int = WIDE) -> str:
    """A side below the other: its name with its percentiles, and its bars, each by the side's own highest bucket."""
    high = _HIST * len(histogram.rows) + 20
    step = wide / len(histogram.rows[0][1])
    parts = [_OPEN.format(w=wide, h=high, title=_crop_escaped(histogram.title, 120))]
    for n, (name, filled) in enumerate(histogram.rows):
        base, most, colour = _HIST * (n + 1), max(1, *filled), _SIDES[n % len(_SIDES)]
        for line, words in enumerate((name, *histogram.percentiles[n : n + 1])):
            at = f'x="0" y="{base - _HIST + 14 + 14 * line}" font-size="11"'
            parts.append(f"<text {at}>{_crop_escaped(words, wide // 6)}</text>")
        parts.append(f'<path d="M0 {base}H{wide}" stroke="currentColor" opacity="0.4"/>')
        for place, count in enumerate(filled):
            up = (_HIST - 36) * count / most
            parts.append(
                f'<rect x="{step * place:.1f}" y="{base - up:.1f}" width="{step - 1:.1f}" height="{up:.1f}" '
                f'fill="{colour}"/>'
            )
    parts.append(f'<text x="0" y="{high - 4}">{units.format_latency(histogram.low_ns)}</text>')
    last = units.format_latency(histogram.high_ns)
    parts.append(f'<text x="{wide}" y="{high - 4}" text-anchor="end">{last}</text>')
    return "".join([*parts, "</svg>"])


def _mark_svg(side: int, x: float, y: float, colour: str) -> str:
    """A form of its own for every other side: colour alone is not seen by all, nor printed."""
    if side % 2:
        place = f'x="{x - 3:.1f}" y="{y - 3:.1f}" width="6" height="6"'
        return f'<rect {place} fill="none" stroke="{colour}" stroke-width="1.5"/>'
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>'


def _crop_escaped(text: str, most: int) -> str:
    shown = make_printable(text)
    return escape(shown if len(shown) <= most else shown[: most - 1] + "…")
