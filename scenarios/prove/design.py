"""The screening design: many settings at once, each in half of the windows at its new value, in few windows.

Plackett-Burman designs (Biometrika 33, 1946, p. 305), each row followed by its mirror image: main effects are then free
of what two settings do together. A row and its mirror are measured next to each other, and only the ratio of the two
counts, so that a host which drifts moves no effect. All functions here are pure.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence

import msgspec

from hostdx.scenarios.contract import ranges as of
from hostdx.scenarios.experiment.statistics.least_squares import least_squares

# The first row of each design; the others are its rotations, and one of only low levels.
_FIRST_ROWS = {12: "++-+++---+-", 20: "++--++++-+-+----++-", 24: "+++++-+-++--++--+-+----"}
# columns of settings that do not exist: an effect of one is unknown noise, or what three settings do together
DUMMIES = 2
MAX_SETTINGS = 24 - 1 - DUMMIES
MIN_REPLICATES, MAX_REPLICATES = 2, 12
ALPHA = 0.05


class MeasuredPair(msgspec.Struct, frozen=True):
    """A row and its mirror: the levels of the row's columns, and ln(row / mirror), below 0 where the row is slower."""

    levels: tuple[bool, ...]
    log_ratio: of.Value
    row_first: bool


class ScreenedEffect(msgspec.Struct, frozen=True, kw_only=True):
    """The effect of one column: new over today's value, more is better, with its simultaneous interval."""

    label: str
    ratio: of.Value
    ci95: tuple[of.Value, of.Value]
    dummy: bool = False

    @property
    def is_beyond_chance(self) -> bool:
        """Return whether the interval excludes that there is no effect."""
        return not self.ci95[0] <= 1 <= self.ci95[1]


def design_rows(settings: int) -> tuple[tuple[bool, ...], ...]:
    """Return one row of levels for each pair of windows: `settings` columns, then the dummies. Raises ValueError."""
    columns = settings + DUMMIES
    runs = next((runs for runs in _FIRST_ROWS if runs > columns), None)
    if runs is None:
        raise ValueError(f"at most {MAX_SETTINGS} settings can be screened at once")
    first = [sign == "+" for sign in _FIRST_ROWS[runs]]
    rotations = [first[-shift:] + first[:-shift] for shift in range(runs - 1)]
    return tuple(tuple(row[:columns]) for row in (*rotations, [False] * (runs - 1)))


def draw_pairs(settings: int, rng: random.Random) -> list[tuple[tuple[bool, ...], bool]]:
    """Return the rows of one replicate in a drawn order, each with whether it comes before its mirror: half do."""
    rows = list(design_rows(settings))
    firsts = [number % 2 == 0 for number in range(len(rows))]
    rng.shuffle(rows)
    rng.shuffle(firsts)
    return list(zip(rows, firsts, strict=True))


def estimate_effects(pairs: Sequence[MeasuredPair], labels: Sequence[str]) -> list[ScreenedEffect]:
    """Return the effect of each setting and dummy. The intervals hold for all of them together in 95 % of runs.

    The residual scatter is of the pairs, after the effects and what the order within a pair does. `pairs` must be whole
    replicates of the design, at least two; else raises ValueError.
    """
    names = [*labels, *(f"dummy {number + 1}" for number in range(DUMMIES))]
    columns = [[1.0 if pair.levels[column] else -1.0 for pair in pairs] for column in range(len(names))]
    orders = [1.0 if pair.row_first else -1.0 for pair in pairs]
    fit = least_squares([*columns, orders], [pair.log_ratio for pair in pairs], 0.0)
    if fit is None:
        raise ValueError("an estimate needs at least two whole replicates")
    effects: list[ScreenedEffect] = []
    for column, name in enumerate(names):
        effect = fit.coefficient_at(column)
        reach = effect.half_width(ALPHA / len(names))
        ends = (math.exp(effect.value - reach), math.exp(effect.value + reach))
        effects.append(
            ScreenedEffect(label=name, ratio=math.exp(effect.value), ci95=ends, dummy=column >= len(labels))
        )
    return effects


def count_replicates(settings: int, window_s: float, seconds: float) -> int:
    """Return how many replicates fit into `seconds`; 0 where fewer fit than an estimate needs."""
    fits = int(seconds / (2 * len(design_rows(settings)) * window_s))
    return 0 if fits < MIN_REPLICATES else min(fits, MAX_REPLICATES)
