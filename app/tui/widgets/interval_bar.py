"""An effect drawn, not only printed: `├──●──┤` on one log scale, the margin as a shaded band round 1."""

from __future__ import annotations

from app.lines import Line, merged
from app.report.interval_chart import Scale, row

MARGIN = 0.05


def bar(
    ratio: float | None,
    ci95: tuple[float, float] | None,
    width: int,
    scale: Scale,
    *,
    margin: float = MARGIN,
    role: str = "strong",
) -> Line:
    """`width` cells. Under 1, slower, is on the left; the margin round 1 is shaded, and shines through the bar."""
    band = scale.band(margin, width)
    ground = ["░" if x in band else " " for x in range(width)]
    drawn = row(scale, ratio, ci95, ground, band=band)

    def meaning(x: int) -> str:
        if drawn[x] == ground[x]:
            return "shade@band" if x in band else "text"
        return f"{role}@band" if x in band else role

    return merged([(sign, meaning(x)) for x, sign in enumerate(drawn)])


def _end(factor: float) -> str:
    """`1.15 ×`, `1000 ×`: as many digits as tell it, never a power of ten written as one."""
    return f"{factor:.0f} ×" if factor >= 10 else f"{factor:.3g} ×"


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
    left, right = _end(1 / scale.low), _end(scale.high)
    put(one - 9, "slower ◂") or put(one - 2, "◂")
    put(one + 2, "▸ faster") or put(one + 2, "▸")
    put(0, left)
    put(width - len(right), right)
    return [("".join(signs), "dim")]
