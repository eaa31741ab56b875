"""Several results over time as a drawing: a line of bars for each workload, and the same as SVG."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

from app.printable import printable
from probes import units
from scenarios.imported.findings import said
from scenarios.imported.results import Course, History

_BARS = "▁▂▃▄▅▆▇█"
_MOST = 60  # workloads
_NAME = 30
_WIDE, _ROW, _LEFT, _RIGHT = 640, 46, 200, 170  # SVG


def drawn(found: Course) -> Course | None:
    """What of it is drawn; None where nothing can be."""
    kept = tuple(h for h in found.workloads[:_MOST] if len(h.values) > 1 and min(h.values) > 0)
    return Course(found.results, found.dates, kept) if kept else None


def course_lines(course: Course, width: int) -> list[str]:
    """`ior easy     ▇▂▂▇▂▂  2.03 GB/s to 2.01 GB/s  inconclusive`, one line a workload."""
    name = min(_NAME, max(len(_title(h, course)) for h in course.workloads))
    tails = [
        f"{said(h.values[0], h.unit)} to {said(h.values[-1], h.unit)}  {words(h)}" for h in course.workloads
    ]
    room = max(8, width - name - 4 - max(map(len, tails)))
    out = []
    for h, tail in zip(course.workloads, tails, strict=True):
        bars = sparks(h.values, room)
        out.append(
            f"{_title(h, course):<{name}.{name}}  {bars:<{min(room, len(h.values))}}  {tail}"[:width].rstrip()
        )
    first, last = course.results[:1], course.results[-1:]
    when = [d[:10] if d else "" for d in (*course.dates[:1], *course.dates[-1:])]
    shown = [" ".join(part for part in pair if part) for pair in zip((*first, *last), when, strict=False)]
    out.append(printable(f"from {' to '.join(shown)}: {len(course.results)} results")[:width])
    return out


def _title(h: History, course: Course) -> str:
    several = sum(1 for other in course.workloads if other.workload == h.workload) > 1
    return printable(f"{h.workload} {h.metric}" if several else h.workload)


def words(h: History) -> str:
    """The verdict; a step says more than a slope."""
    return "; ".join(f"step {units.effect(s.ratio)}" for s in h.steps[:3]) if h.steps else h.verdict


def sparks(values: Sequence[float], room: int) -> str:
    """One mark a value; of more values than cells, the mean of each stretch. From zero: half is half as high."""
    if len(values) > room:
        cut = [values[n * len(values) // room : (n + 1) * len(values) // room] for n in range(room)]
        values = [math.fsum(part) / len(part) for part in cut]
    top = max(values)
    return "".join(_BARS[min(7, int(v / top * 7.999))] for v in values)


def course_svg(course: Course) -> str:
    """A row a workload: the values as a line from zero, steps as gaps in colour."""
    high = _ROW * len(course.workloads) + 20
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDE} {high}" role="img" font-size="12" '
        'font-family="sans-serif" stroke="currentColor" fill="currentColor">',
        f"<title>{escape(printable(f'{len(course.results)} results over time'))}</title>",
    ]
    for row, h in enumerate(course.workloads):
        base = _ROW * (row + 1)
        points = _points(h.values, base)
        colour = "#c62828" if h.degrades else "currentColor"
        line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        parts += [
            f'<path d="M{_LEFT} {base}H{_WIDE - _RIGHT}" opacity="0.3"/>',
            f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="1.5"/>',
            f'<text x="0" y="{base - 12}" stroke="none">{escape(_title(h, course)[:34])}</text>',
            f'<text x="{_WIDE - _RIGHT + 8}" y="{base - 12}" stroke="none">{escape(words(h)[:30])}</text>',
        ]
        parts += [_dot(x, y, said(v, h.unit)) for (x, y), v in zip(points, h.values, strict=True)][:400]
        for step in h.steps:
            if step.before + 1 < len(points):
                middle = (points[step.before][0] + points[step.before + 1][0]) / 2
                parts.append(
                    f'<path d="M{middle:.1f} {base}v-{_ROW - 8}" stroke="#c62828" stroke-dasharray="2 3"/>'
                )
    return "\n".join([*parts, "</svg>"])


def _points(values: Sequence[float], base: float) -> list[tuple[float, float]]:
    top, last = max(values), len(values) - 1
    width = _WIDE - _RIGHT - _LEFT
    return [(_LEFT + width * n / last, base - v / top * (_ROW - 10)) for n, v in enumerate(values)]


def _dot(x: float, y: float, about: str) -> str:
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.5"><title>{escape(printable(about))}</title></circle>'
