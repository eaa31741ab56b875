"""The verdict in plain words, for the report and the events.

Whole sentences about what was seen, not about statistics: how many pairs, how many of them one side lost, and
between which two numbers the truth lies.
"""

from __future__ import annotations

from collections.abc import Sequence


def percent(share: float) -> str:
    """A share (0.052) as a person says it: "5 %", below ten with one digit where it matters ("1.3 %")."""
    value = abs(share) * 100
    if value < 9.95 and abs(value - round(value)) >= 0.05:
        return f"{value:.1f} %"
    return f"{value:.0f} %" if value < 1000 else "over 1000 %"


def side(ratio: float) -> str:
    """A ratio as a person says it: "27 % slower", "12 % faster", "the same"."""
    if abs(ratio - 1) < 0.0005:
        return "the same"
    return f"{percent(ratio - 1)} {'slower' if ratio < 1 else 'faster'}"


def between(low: float, high: float) -> str:
    """An interval of ratios in words; low <= high, under 1 is slower."""
    if high < 1:
        return f"between {percent(high - 1)[:-2]} and {percent(low - 1)} slower"
    if low > 1:
        return f"between {percent(low - 1)[:-2]} and {percent(high - 1)} faster"
    return f"between {side(low)} and {side(high)}"


def _pairs(groups: int) -> str:
    return "1 pair" if groups == 1 else f"{groups} pairs"


def record(log_ratios: Sequence[float]) -> str:
    """Who lost in how many of the groups."""
    groups = len(log_ratios)
    lost = sum(value < 0 for value in log_ratios)
    won = sum(value > 0 for value in log_ratios)
    return f"{_pairs(groups)}; the slower one lost in {max(lost, won)} of {groups}"


def verdict_text(
    word: str,
    log_ratios: Sequence[float],
    interval: tuple[float, float] | None,
    margin: float,
    smallest_effect: float | None = None,
    seconds_to_decide: float | None = None,
) -> str:
    """How the verdict came about, in one line."""
    if interval is None:
        return f"{_pairs(len(log_ratios))}; too few to say anything"
    low, high = interval
    if word in ("slower", "faster"):
        return f"{record(log_ratios)}; {between(low, high)}"
    lost = sum(value < 0 for value in log_ratios)
    seen = f"{_pairs(len(log_ratios))}; the variant lost in {lost} of {len(log_ratios)}; {between(low, high)}"
    if word == "no material difference":
        return f"{seen}, which is within the {percent(margin)} that matter"
    parts = [seen]
    if smallest_effect is not None:
        parts.append(f"this run could have shown {percent(smallest_effect)} or more")
    if seconds_to_decide is not None:
        parts.append(f"about {duration(seconds_to_decide)} of measuring would decide it")
    return "; ".join(parts)


def duration(seconds: float) -> str:
    """Seconds as a person says them."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    if seconds < 90 * 60:
        return f"{round(seconds / 60)} min"
    return f"{seconds / 3600:.0f} h" if seconds < 72 * 3600 else "days"
