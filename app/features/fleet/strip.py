"""A strip of nodes: one measure, every node a dot on one line, outliers marked. In cells, and as SVG for a page."""

from __future__ import annotations

import math
from collections.abc import Collection
from html import escape
from typing import NamedTuple

from hostdx.app.terminal.glyphs import SPARKS
from hostdx.app.terminal.lines import Line, fit_line, merge_spans, split_line
from hostdx.app.terminal.printable import make_printable
from hostdx.probes import units
from hostdx.scenarios.analysis.peers.judgement import FleetMeasure

ODD, SUSPECT = "▲", "?"
_MIN_FULL_MARK_NODES = 8  # nodes in a cell, up to which each makes the mark higher
_WIDE, _HIGH, _EDGE = 720, 64, 12
_MAX_DOTS = 2_000  # of a drawing on a page; more are every so many-th
_NAMED = 6


class _LogRange(NamedTuple):
    """In logs of the values, or of their inverses where less is better: the slow nodes stand on the left."""

    low_log: float
    high_log: float

    def share_of(self, log: float) -> float:
        return min(1.0, max(0.0, (log - self.low_log) / (self.high_log - self.low_log)))


def _logs_slow_first(measure: FleetMeasure) -> dict[str, float]:
    sign = measure.metric.sign
    return {name: sign * math.log(value) for name, value in measure.values.items()}


def _log_range_with_room(logs: Collection[float]) -> _LogRange:
    low, high = min(logs), max(logs)
    room = max(0.005, (high - low) * 0.04)
    return _LogRange(low - room, high + room)


def strip_lines(
    measure: FleetMeasure, outliers: Collection[str], suspects: Collection[str], width: int
) -> list[Line]:
    """Two lines: the nodes, as high as there are many in a cell, and the values at the ends and in the middle."""
    logs = _logs_slow_first(measure)
    scale = _log_range_with_room(logs.values())
    counts = [0] * width
    marks: dict[int, tuple[str, str]] = {}
    for name, log in logs.items():
        cell = round(scale.share_of(log) * (width - 1))
        counts[cell] += 1
        if name in outliers:
            marks[cell] = (ODD, "critical")
        elif name in suspects:
            marks.setdefault(cell, (SUSPECT, "warning"))
    most = max(_MIN_FULL_MARK_NODES, *counts)
    steps = len(SPARKS) - 1
    # logarithmic: one node beside a pile of a thousand is seen
    drawn: Line = [
        marks.get(n)
        or ((SPARKS[round(math.log(count) / math.log(most) * steps)], "a") if count else (" ", "text"))
        for n, count in enumerate(counts)
    ]
    left, right = (_format_log_value(measure, end) for end in (min(logs.values()), max(logs.values())))
    axis = split_line([(left, "dim")], [(right, "dim")], width)
    middle = _format_log_value(measure, math.log(measure.centre) * measure.metric.sign)
    at = round(scale.share_of(_log_of_centre(measure)) * (width - 1)) - len(middle) // 2
    if len(left) + 1 < at < width - len(right) - len(middle) - 1:
        axis = [
            *fit_line([(left, "dim")], at),
            (middle, "strong"),
            *fit_line([], width - at - len(middle) - len(right)),
            (right, "dim"),
        ]
    return [merge_spans(drawn), axis]


def _log_of_centre(measure: FleetMeasure) -> float:
    return math.log(measure.centre) * measure.metric.sign


def _format_log_value(measure: FleetMeasure, log: float) -> str:
    sign = measure.metric.sign
    return " ".join(units.metric_quantity(math.exp(sign * log), measure.metric.unit)).strip()


def strip_svg(measure: FleetMeasure, outliers: Collection[str], suspects: Collection[str]) -> str:
    """Dots in lanes by turns, so that like ones do not cover each other; outliers named."""
    logs = _logs_slow_first(measure)
    scale = _log_range_with_room(logs.values())
    title = escape(make_printable(f"{measure.title}: {len(logs)} nodes")[:120])
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDE} {_HIGH}" width="{_WIDE}" role="img" '
        f'font-size="12" font-family="sans-serif" fill="currentColor"><title>{title}</title>',
        f'<path d="M{_EDGE} 40H{_WIDE - _EDGE}" stroke="currentColor" opacity="0.3"/>',
    ]

    def x_position(log: float) -> float:
        return _EDGE + scale.share_of(log) * (_WIDE - 2 * _EDGE)

    middle = x_position(_log_of_centre(measure))
    parts.append(f'<path d="M{middle:.1f} 14V44" stroke="currentColor" opacity="0.5"/>')
    step = max(1, len(logs) // _MAX_DOTS)
    named_count = 0
    for n, (name, log) in enumerate(sorted(logs.items(), key=lambda item: item[1])):
        at, lane = x_position(log), 22 + 4 * (n % 5)
        if name in outliers or name in suspects:
            colour = "#c0392b" if name in outliers else "#b9770e"
            parts.append(f'<path d="M{at - 5:.1f} {lane + 4}h10l-5 -9z" fill="{colour}"/>')
            if name in outliers and named_count < _NAMED:
                side = ' text-anchor="end"' if scale.share_of(log) > 0.5 else ""
                words = escape(make_printable(name)[:40])
                parts.append(
                    f'<text x="{at:.1f}" y="{10 + 6 * (named_count % 2)}" fill="{colour}"{side}>{words}</text>'
                )
                named_count += 1
        elif n % step == 0:
            parts.append(f'<circle cx="{at:.1f}" cy="{lane}" r="2.5" fill="#0e8fb3" opacity="0.6"/>')
    ends = (min(logs.values()), "start", _EDGE), (max(logs.values()), "end", _WIDE - _EDGE)
    for log, anchor, place in ends:
        parts.append(
            f'<text x="{place}" y="58" text-anchor="{anchor}">{escape(_format_log_value(measure, log))}</text>'
        )
    if 0.2 < scale.share_of(_log_of_centre(measure)) < 0.8:
        words = escape(_format_log_value(measure, _log_of_centre(measure)))
        parts.append(f'<text x="{middle:.1f}" y="58" text-anchor="middle">median {words}</text>')
    return "".join([*parts, "</svg>"])
