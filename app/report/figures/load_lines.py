"""A row a load: its values over time as a line, what turned in red, what changed on the host between the rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import NamedTuple

from hostdx.app.terminal.printable import make_printable

_WIDE, _ROW, _LEFT, _RIGHT = 640, 44, 205, 170
_RED = "#c62828"


class LoadLine(NamedTuple):
    """Places are shares, 0 to 1, of the width and of the row's height. `level`: where its own line lies; `point_texts`:
    one for each point; `turns`: where it became slower, or another."""

    name: str
    label_text: str
    points: Sequence[tuple[float, float]]
    red: bool
    level: float = 0.0
    point_texts: Sequence[str] = ()
    turns: Sequence[float] = ()


def load_lines_svg(title: str, rows: Sequence[LoadLine], marks: Mapping[float, str] | None = None) -> str:
    """`marks`: what is said of a moment, by its place."""
    high = _ROW * len(rows) + 20

    def x_position(share: float) -> float:
        return _LEFT + (_WIDE - _LEFT - _RIGHT) * share

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDE} {high}" role="img" font-size="12" '
        'font-family="sans-serif" stroke="currentColor" fill="currentColor">',
        f"<title>{_crop_and_escape(title, 200)}</title>",
    ]
    parts += [
        f'<path d="M{x_position(at):.1f} 4V{high - 16}" opacity="0.5" stroke-dasharray="2 3">'
        f"<title>{_crop_and_escape(about, 400)}</title></path>"
        for at, about in (marks or {}).items()
    ]
    for number, row in enumerate(rows):
        base = _ROW * (number + 1)
        places = [(x_position(across), base - up * (_ROW - 10)) for across, up in row.points]
        line = " ".join(f"{px:.1f},{py:.1f}" for px, py in places)
        colour = _RED if row.red else "currentColor"
        level = base - row.level * (_ROW - 10)
        parts += [
            f'<path d="M{_LEFT} {level:.1f}H{_WIDE - _RIGHT}" opacity="0.3"/>',
            f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="1.5"/>',
            f'<text x="0" y="{base - 12}" stroke="none">{_crop_and_escape(row.name, 34)}</text>',
            f'<text x="{_WIDE - _RIGHT + 8}" y="{base - 12}" stroke="none">'
            f"{_crop_and_escape(row.label_text, 30)}</text>",
        ]
        parts += [
            f'<circle cx="{px:.1f}" cy="{py:.1f}" r="2.5"><title>{_crop_and_escape(point_text, 200)}</title></circle>'
            for (px, py), point_text in zip(places, row.point_texts, strict=False)
        ]
        parts += [
            f'<path d="M{x_position(at):.1f} {base}v-{_ROW - 8}" stroke="{_RED}" stroke-dasharray="2 3"/>'
            for at in row.turns
        ]
    return "\n".join([*parts, "</svg>"])


def _crop_and_escape(words: str, most: int) -> str:
    return escape(make_printable(words)[:most])
