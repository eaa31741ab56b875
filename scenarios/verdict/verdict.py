"""What was decided about one effect, with the figures it stands on, whoever judged it."""

from __future__ import annotations

import math
from typing import TypeVar

import msgspec

from scenarios.verdict.word import Judged, Word

_FARTHEST = 700.0  # in logs: beyond it exp overflows
AnyJudged = TypeVar("AnyJudged", bound=msgspec.Struct)  # that has a `verdict` and a `reason`


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


def withdrawn(judged: AnyJudged, reason: str | None) -> AnyJudged:
    """The same figures, of which nothing is decided."""
    return msgspec.structs.replace(judged, verdict=Word.UNDECIDED, reason=reason or None)


def held_equal(judged: AnyJudged, reason: str) -> AnyJudged:
    """No difference, known from elsewhere than the interval of the figures."""
    return msgspec.structs.replace(judged, verdict=Word.EQUAL, reason=reason)


def not_applicable(judged: AnyJudged, reason: str) -> AnyJudged:
    return msgspec.structs.replace(judged, verdict=Word.NOT_APPLICABLE, reason=reason)


def not_measured(judged: AnyJudged, reason: str) -> AnyJudged:
    return msgspec.structs.replace(judged, verdict=Word.NOT_MEASURED, reason=reason)


def ratio_of(log: float) -> float:
    return math.exp(min(_FARTHEST, max(-_FARTHEST, log)))


def interval_of(low: float, high: float) -> tuple[tuple[float, float], float]:
    """Of logs: the interval of the ratio, and half its width, the smallest effect that it could have shown."""
    ends = ratio_of(low), ratio_of(high)
    return ends, (ends[1] - ends[0]) / 2
