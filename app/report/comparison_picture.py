"""Every effect as an interval on one axis, sorted: lines of text, the same in markdown and HTML."""

from __future__ import annotations

import math
from collections.abc import Sequence

from app.report.interval_chart import Scale, row
from probes.units import number
from scenarios.compare.effects import Effect

LABEL = 30
AXIS = 37  # columns, an odd number so that no change has one of its own where the axis is symmetric
WIDEST = math.log(64)  # beyond, an arrow


def picture(effects: Sequence[Effect], margin: float) -> list[str]:
    """The line in the middle is no change; the axis is logarithmic. What the points are stands below.

    An interval that is a lower bound is drawn like the others; the table says so.
    """
    ends = reach(effects, margin)
    scale = Scale(math.exp(-ends), math.exp(ends))
    ground = [" " if n != AXIS // 2 else "│" for n in range(AXIS)]
    lines = [_axis(ends)]
    for effect in effects:
        drawn = row(scale, effect.ratio, effect.ci95, ground, point="●" if effect.differs else "○")
        lines.append(f"{label(effect):<{LABEL}} {''.join(drawn)} {_ratio(effect.ratio):>6}")
    return [*lines, "● slower or faster   ○ inconclusive, or no material difference"]


def _ratio(ratio: float) -> str:
    return number(ratio) if 0.001 <= ratio < 1000 else "<0.001" if ratio < 1 else ">1000"


def reach(effects: Sequence[Effect], margin: float) -> float:
    """The logarithm at the axis's ends: all estimates, the intervals of what is called and half of the others'.

    A few wide intervals would flatten all others; they end in an arrow.
    """
    points = [abs(math.log(e.ratio)) for e in effects if e.ratio > 0]
    called = [abs(x) for e in effects if e.differs for x in _ends(e)]
    others = sorted(max(abs(x) for x in _ends(e)) for e in effects if not e.differs)
    middle = others[(len(others) - 1) // 2] if others else 0.0
    return min(max([2 * math.log1p(margin), middle, *points, *called]) * 1.05, WIDEST)


def _ends(effect: Effect) -> list[float]:
    return [math.log(r) for r in (effect.ratio, *(effect.ci95 or ())) if r > 0]


def label(effect: Effect) -> str:
    """Where it is too long the title is cut, not what tells its variants apart."""
    text, variant = effect.title, f" ({effect.key.variant})" if effect.key.variant else ""
    room = LABEL - len(variant)
    return f"{text if len(text) <= room else text[: max(0, room - 1)] + '…'}{variant}"[:LABEL]


def _axis(reach: float) -> str:
    """The axis's ends and its middle: `0.24  slower       1        faster  4.1`."""
    left, right = f"{number(math.exp(-reach), 2)} slower", f"faster {number(math.exp(reach), 2)}"
    half = AXIS // 2
    return f"{'B / A, more is better':<{LABEL}} {left:<{half}}1{right:>{half}}"
