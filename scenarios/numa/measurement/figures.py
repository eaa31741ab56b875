"""Figures with their intervals: one cell is measured once a round, all cells in a drawn order, many rounds.

The value is the median of the Walsh averages of the rounds' logs, with its exact signed-rank interval: what disturbs a
few rounds moves it by some ranks only. Two cells are compared within their rounds, so that drift falls on both.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from hostdx.scenarios.experiment.statistics.stats import interval_over_groups


class RoundValue(NamedTuple):
    """One figure of one round, for whoever watches: what, with whom, how much, of what."""

    series: str
    variant: str
    value: float
    unit: str


class RoundsFigure(msgspec.Struct, frozen=True):
    """`low` to `high` is the 95 % interval; both are None below two rounds."""

    value: float
    low: float | None
    high: float | None
    rounds: int


def estimate_figure(values: Sequence[float]) -> RoundsFigure | None:
    """None where no round gave a value above nought."""
    logs = [math.log(value) for value in values if value > 0 and math.isfinite(value)]
    if not logs:
        return None
    spread = interval_over_groups(logs)
    if spread is None:
        return RoundsFigure(math.exp(logs[0]), None, None, 1)
    return RoundsFigure(math.exp(spread.estimate), math.exp(spread.low), math.exp(spread.high), len(logs))


def ratio_figure(
    values: Sequence[float], baseline: Sequence[float], factor: float = 1.0
) -> RoundsFigure | None:
    """`factor` times value over baseline, round by round; rounds in which one is missing are left out."""
    pairs = zip(values, baseline, strict=False)
    return estimate_figure([factor * value / base for value, base in pairs if value > 0 and base > 0])
