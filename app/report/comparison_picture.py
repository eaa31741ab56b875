"""Every effect as an interval on one axis, sorted: lines of text, the same in markdown and HTML."""

from __future__ import annotations

import math
from collections.abc import Sequence

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
    lines = [_scale(ends)]
    for effect in effects:
        lines.append(f"{label(effect):<{LABEL}} {_bar(effect, ends)} {_ratio(effect.ratio):>6}")
    return [*lines, "● slower or faster   ○ inconclusive, or no material difference"]


def _ratio(ratio: float) -> str:
    return number(ratio) if 0.001 <= ratio < 1000 else "<0.001" if ratio < 1 else ">1000"


def reach(effects: Sequence[Effect], margin: float) -> float:
    """The logarithm at the axis's ends: all estimates, the intervals of what is called and half of the others'.

    A few wide intervals would flatten all others; they end in an arrow.
    """
    points = [abs(math.log(e.ratio)) for e in effects if e.ratio > 0]
    called = [abs(x) for e in effects if e.changed for x in _ends(e)]
    others = sorted(max(abs(x) for x in _ends(e)) for e in effects if not e.changed)
    middle = others[(len(others) - 1) // 2] if others else 0.0
    return min(max([2 * math.log1p(margin), middle, *points, *called]) * 1.05, WIDEST)


def _ends(effect: Effect) -> list[float]:
    return [math.log(r) for r in (effect.ratio, *(effect.ci95 or ())) if r > 0]


def label(effect: Effect) -> str:
    """Where it is too long the title is cut, not what tells its variants apart."""
    text, variant = effect.title, f" ({effect.key.variant})" if effect.key.variant else ""
    room = LABEL - len(variant)
    return f"{text if len(text) <= room else text[: max(0, room - 1)] + '…'}{variant}"[:LABEL]


def _column(log: float, reach: float) -> int:
    return round((max(-reach, min(reach, log)) / reach + 1) / 2 * (AXIS - 1))


def _bar(effect: Effect, reach: float) -> str:
    cells = [" "] * AXIS
    cells[AXIS // 2] = "│"
    if effect.ci95 is not None and effect.ci95[0] > 0:
        low, high = (math.log(end) for end in effect.ci95)
        left, right = _column(low, reach), _column(high, reach)
        for n in range(left, right + 1):
            cells[n] = "─"
        cells[left] = "◀" if low < -reach else "├"
        cells[right] = "▶" if high > reach else "┤"
    log = math.log(effect.ratio)
    called = "●" if effect.changed else "○"
    cells[_column(log, reach)] = "◀" if log < -reach else "▶" if log > reach else called
    return "".join(cells)


def _scale(reach: float) -> str:
    """The axis's ends and its middle: `0.24  slower       1        faster  4.1`."""
    left, right = f"{number(math.exp(-reach), 2)} slower", f"faster {number(math.exp(reach), 2)}"
    half = AXIS // 2
    return f"{'B / A, more is better':<{LABEL}} {left:<{half}}1{right:>{half}}"
