"""What was decided about one effect, with the figures it stands on, whoever judged it."""

from __future__ import annotations

import math

import msgspec

from scenarios.verdict.word import Judged, Word

_FARTHEST = 700.0  # in logs: beyond it exp overflows


class Verdict(msgspec.Struct, Judged, frozen=True, kw_only=True):
    """A comparison's verdict. `ratio`: variant over baseline, under 1 is slower, with its interval.

    `alpha`: the interval's share of the 5 % that all comparisons of a run err in together, so `ci95` is wider than
    one alone. `smallest_effect` that could have been found. `margin`: as a share. `reason`: why it is not decided.
    """

    verdict: Word = Word.UNDECIDED
    ratio: float | None = None
    ci95: tuple[float, float] | None = None
    smallest_effect: float | None = None
    alpha: float = 0.05
    margin: float = 0.05
    reason: str | None = None


def ratio_of(log: float) -> float:
    return math.exp(min(_FARTHEST, max(-_FARTHEST, log)))


def interval_of(low: float, high: float) -> tuple[tuple[float, float], float]:
    """Of logs: the interval of the ratio, and half its width, the smallest effect that it could have shown."""
    ends = ratio_of(low), ratio_of(high)
    return ends, (ends[1] - ends[0]) / 2
