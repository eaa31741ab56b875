"""A document's drawings as SVG.

Text comes from the host: every piece is made printable and escaped.
"""

from __future__ import annotations

import math
from html import escape

from app.lines import shortened
from app.printable import printable
from app.report import verdict_style
from app.report.figures.interval_chart import factor, scale_of
from probes import units
from scenarios.results.document import Chart, Histogram, Intervals

_WIDE, _LEFT, _RIGHT, _ROW, _TOP = 720, 210, 230, 26, 26
_HIGH, _SIDE, _FOOT = 190, 64, 34  # of the blocks' picture
_HIST = 48  # of a side of a histogram
_SIDES = ("#0e8fb3", "#b3479b", "#8a7a1f", "#6f6fd1")  # in no severity's colour
_OPEN = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {w} {h}" role="img" font-size="12" '
    'font-family="sans-serif" fill="currentColor"><title>{title}</title>'
)


def interval_svg(found: Intervals) -> str:
    """Empty without a bar."""
    drawn, margin = found.bars, found.margin
    if not drawn:
        return ""
    scale = scale_of(drawn)

    def x(value: float) -> float:
        return _LEFT + scale.share(value) * (_WIDE - _LEFT - _RIGHT)

    high = _TOP + _ROW * len(drawn) + 6
    parts = [_OPEN.format(w=_WIDE, h=high, title="effects with their 95 % confidence intervals")]
    low, top = x(1 / (1 + margin)), x(1 + margin)
    parts.append(
        f'<rect x="{low:.1f}" y="{_TOP - 4}" width="{top - low:.1f}" height="{high - _TOP}" opacity="0.15"/>'
        f'<path d="M{x(1):.1f} {_TOP - 4}V{high - 4}" stroke="currentColor" opacity="0.5"/>'
        f'<text x="{x(1) - 8:.1f}" y="14" text-anchor="end">slower</text>'
        f'<text x="{x(1) + 8:.1f}" y="14">faster</text>'
        f'<text x="{_LEFT}" y="14" text-anchor="middle" opacity="0.7">{factor(1 / scale.low)}</text>'
        f'<text x="{_WIDE - _RIGHT}" y="14" text-anchor="middle" opacity="0.7">{factor(scale.high)}</text>'
    )
    for n, bar in enumerate(drawn):
        y = _TOP + _ROW * n + _ROW / 2
        colour = verdict_style.colour(bar.word)
        parts.append(f'<text x="0" y="{y + 4:.1f}">{escape(shortened(printable(bar.name), 34))}</text>')
        ends = bar.ci95
        if ends is not None:
            a, b = x(ends[0]), x(ends[1])
            low_end = _end(a, y, beyond=ends[0] < scale.low, turn=1)
            high_end = _end(b, y, beyond=ends[1] > scale.high, turn=-1)
            parts.append(
                f'<path d="M{a:.1f} {y:.1f}H{b:.1f}{low_end}{high_end}" '
                f'stroke="{colour}" stroke-width="2" fill="none"/>'
            )
        parts.append(f'<circle cx="{x(bar.ratio):.1f}" cy="{y:.1f}" r="4.5" fill="{colour}"/>')
        parts.append(f'<text x="{_WIDE - _RIGHT + 12}" y="{y + 4:.1f}">{_short(bar.size, 36)}</text>')
    return "".join([*parts, "</svg>"])


def _end(at: float, y: float, *, beyond: bool, turn: int) -> str:
    """A stroke across, or an arrow's head where the interval goes on beyond the axis."""
    if not beyond:
        return f"M{at:.1f} {y - 5:.1f}v10"
    return f"M{at + 6 * turn:.1f} {y - 5:.1f}L{at:.1f} {y:.1f}l{6 * turn} 5"


def chart_svg(found: Chart) -> str:
    """One mark a point."""
    x, y = found.x, found.y
    if not all(map(math.isfinite, (*x[:2], *y[:2]))) or x.low >= x.high or y.low >= y.high:
        return ""
    high = _HIGH + _FOOT

    def up(value: float) -> float:
        scale = math.log10 if y.log else float
        return (scale(value) - scale(y.low)) / (scale(y.high) - scale(y.low))

    def place(px: float, py: float) -> tuple[float, float]:
        return _SIDE + (px - x.low) / (x.high - x.low) * (_WIDE - _SIDE - 10), _HIGH - up(py) * (_HIGH - 14)

    parts = [
        _OPEN.format(w=_WIDE, h=high + 16 * ((len(found.series) + 1) // 2), title=_short(found.title, 120)),
        f'<path d="M{_SIDE} 8V{_HIGH}H{_WIDE - 10}" fill="none" stroke="currentColor" opacity="0.6"/>',
        f'<text x="{_SIDE - 6}" y="18" text-anchor="end">{units.prefixed(y.high)}</text>',
        f'<text x="{_SIDE - 6}" y="{_HIGH}" text-anchor="end">{units.prefixed(y.low)}</text>',
        f'<text x="{_SIDE}" y="{_HIGH + 15}">{x.low:g} s</text>',
        f'<text x="{_WIDE - 10}" y="{_HIGH + 15}" text-anchor="end">{x.high:g} s into the run</text>',
    ]
    for n, one in enumerate(found.series):
        colour, left, line = _SIDES[n % len(_SIDES)], _SIDE + 320 * (n % 2), high + 16 * (n // 2)
        for run in one.runs:
            points = " ".join(f"{px:.1f},{py:.1f}" for px, py in (place(*point) for point in run))
            parts.append(f'<polyline points="{points}" fill="none" stroke="{colour}" opacity="0.35"/>')
        parts += [_mark(n, *place(px, py), colour) for px, py in one.points if py > 0 or not y.log]
        parts.append(_mark(n, left, line - 4, colour))
        parts.append(f'<text x="{left + 10}" y="{line}">{_short(one.legend, 48)}</text>')
    if y.log:
        parts.append(f'<text x="{_SIDE + 6}" y="16" opacity="0.7">logarithmic</text>')
    return "".join([*parts, "</svg>"])


def histogram_svg(found: Histogram) -> str:
    """A row of bars a side, each by its own highest bucket."""
    high = _HIST * len(found.rows) + 20
    wide = (_WIDE - _LEFT - 10) / len(found.rows[0][1])
    parts = [_OPEN.format(w=_WIDE, h=high, title=_short(found.title, 120))]
    for n, (name, filled) in enumerate(found.rows):
        base, most = _HIST * (n + 1), max(1, *filled)
        parts.append(f'<text x="0" y="{base - 4}">{escape(shortened(printable(name), 34))}</text>')
        for place, count in enumerate(filled):
            up = (_HIST - 8) * count / most
            parts.append(
                f'<rect x="{_LEFT + wide * place:.1f}" y="{base - up:.1f}" width="{wide - 1:.1f}" height="{up:.1f}" '
                f'fill="{_SIDES[n % len(_SIDES)]}"/>'
            )
    parts.append(f'<text x="{_LEFT}" y="{high - 4}">{units.elapsed(found.low_ns)}</text>')
    last = units.elapsed(found.high_ns)
    parts.append(f'<text x="{_WIDE - 10}" y="{high - 4}" text-anchor="end">{last}</text>')
    return "".join([*parts, "</svg>"])


def _mark(side: int, x: float, y: float, colour: str) -> str:
    """A form of its own for every other side: colour alone is not seen by all, nor printed."""
    if side % 2:
        place = f'x="{x - 3:.1f}" y="{y - 3:.1f}" width="6" height="6"'
        return f'<rect {place} fill="none" stroke="{colour}" stroke-width="1.5"/>'
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>'


def _short(text: str, most: int) -> str:
    shown = printable(text)
    return escape(shown if len(shown) <= most else shown[: most - 1] + "…")
