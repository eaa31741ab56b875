"""The value of each variant of a load, so that value B / value A is the effect that stands beside them.

The medians' quotient is seldom the effect: that is estimated within the groups. So the medians of all variants that
verdicts link are moved in logs until each quotient is its effect, and all together as near to the medians as can be.
Where pairs form a circle (A to B, B to C, A to C) the last one of them may not fit, because each rests on groups of
its own: where it is off by more than 1 %, no values stand beside it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import fmean, median
from typing import TypeAlias

import msgspec

from hostdx.scenarios.contract import events as ev

Pair: TypeAlias = tuple[str, str]  # baseline, variant
FITS = math.log(1.01)


def fit_variant_levels(
    means: Mapping[Pair, tuple[Sequence[float], Sequence[float]]], effects: Mapping[Pair, float]
) -> dict[str, float]:
    """Return the value of each variant.

    means: each counted group's mean of the baseline and of the variant, in the metric's unit. effects: the logarithm of
    variant over baseline in that unit (not turned), in the order of the verdicts. Pairs without an effect or with a
    mean of 0 are left out.
    """
    steps: dict[str, dict[str, float]] = {}  # from a variant to each that a verdict compares it with
    medians: dict[str, list[float]] = {}  # of each variant, one for each pair that it is in
    for pair, effect in effects.items():
        sides = means[pair]
        if min(min(side, default=0.0) for side in sides) <= 0:
            continue
        for here, there, step, side in zip(pair, reversed(pair), (effect, -effect), sides, strict=True):
            steps.setdefault(here, {})[there] = step
            medians.setdefault(here, []).append(math.log(median(side)))
    values: dict[str, float] = {}
    for first in steps:
        if first in values:
            continue
        linked, ahead = {first: 0.0}, [first]
        for here in ahead:  # grows as it goes
            ahead += [there for there in steps[here] if there not in linked]
            linked = {there: linked[here] + step for there, step in steps[here].items()} | linked
        middle = fmean(fmean(medians[name]) - place for name, place in linked.items())
        values |= {name: math.exp(middle + place) for name, place in linked.items()}
    return values


def values_of_pair(
    values: Mapping[str, float], verdict: ev.RunVerdict, sign: int
) -> tuple[float, float] | None:
    """Return the values of baseline and variant; None where their quotient is not the verdict's effect.

    `sign`: the metric's.
    """
    baseline, variant = (values.get(name, 0.0) for name in (verdict.baseline, verdict.variant))
    if not verdict.ratio or min(baseline, variant) <= 0:
        return None
    fits = abs(sign * math.log(variant / baseline) - math.log(verdict.ratio)) <= FITS
    return (baseline, variant) if fits else None


def with_value_delta(verdict: ev.RunVerdict, values: tuple[float, float] | None, sign: int) -> ev.RunVerdict:
    """Return the verdict with the difference of its values, and with that difference's interval.

    The interval has the ends of the effect's interval, times the baseline's value. So the difference excludes 0 where
    the effect excludes 1. How the level itself wandered is not in it: within a group the level cancels.
    """
    delta, ends = None, None
    if values is not None:
        baseline, variant = values
        delta = variant - baseline
        if verdict.ci95 is not None and min(verdict.ci95) > 0:
            low, high = sorted(baseline * end**sign - baseline for end in verdict.ci95)
            ends = (low, high)
    return msgspec.structs.replace(verdict, delta=delta, delta_ci95=ends)
