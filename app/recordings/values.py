"""The values that stand beside a verdict, the same in every view: screen, report, page, CSV and JSON."""

from __future__ import annotations

import math
from statistics import fmean, median
from typing import TYPE_CHECKING

from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.experiment.levels import fit_variant_levels, values_of_pair, with_value_delta

if TYPE_CHECKING:
    from hostdx.app.recordings.session import RunSession

MAX_VALUE = 1e100  # what a recording gives beyond it was not measured, and overflows a sum
SidesOfPair = tuple[list[float], list[float]]  # each counted group's mean, baseline and variant


def is_counted(block: ev.Block) -> bool:
    """Return whether the block is in a number that is shown: no onset, no warm-up, nothing disturbed."""
    return not block.disturbed and block.phase not in ("warmup", "onset")


def baseline_and_variant_values(
    session: RunSession, verdict: ev.RunVerdict
) -> tuple[float | None, float | None]:
    """Return the values of baseline and variant: variant / baseline is the verdict's effect. None
    where they do not fit to it."""
    values = _variant_values(session, verdict.workload, verdict.metric)
    if verdict.ratio is None:
        return values.get(verdict.baseline), values.get(verdict.variant)
    return values_of_pair(values, verdict, session.metric_of(verdict).sign) or (None, None)


def with_difference_of_values(session: RunSession, verdict: ev.RunVerdict) -> ev.RunVerdict:
    """Return the verdict with the difference of these values; as recorded where the recording has no values."""
    values, sign = _variant_values(session, verdict.workload, verdict.metric), session.metric_of(verdict).sign
    return with_value_delta(verdict, values_of_pair(values, verdict, sign), sign) if values else verdict


def variant_value(session: RunSession, workload: str, metric: str, variant: str) -> float | None:
    """Return a variant's value as it stands beside the verdicts about it; None where no verdict is about it."""
    return _variant_values(session, workload, metric).get(variant)


def counted_values(session: RunSession, workload: str, metric: str, variant: str) -> list[float]:
    """Return a variant's value in each block that counts."""
    return [
        value
        for block in session.blocks.get(workload, ())
        if block.variant == variant
        and is_counted(block)
        and math.isfinite(value := block.values.get(metric, math.nan))
    ]


def shown_variant_value(session: RunSession, workload: str, metric: str, variant: str) -> float | None:
    """Return a variant's value in every view: as beside its verdicts, else of all its blocks so far."""
    if (judged := variant_value(session, workload, metric, variant)) is not None:
        return judged
    own = counted_values(session, workload, metric, variant)
    planned = session.find_metric(workload, metric)
    middle = max if planned is not None and planned.of == "max" else median
    return middle(own) if own else None


def last_group_by_variant(session: RunSession, workload: str) -> dict[str, int]:
    """Return, by variant, the last group that the first verdict about it rests on."""
    groups_by_variant: dict[str, int] = {}
    for verdict in session.verdicts.values():
        if verdict.workload == workload and (behind := session.groups_behind(verdict)):
            for variant in (verdict.baseline, verdict.variant):
                groups_by_variant.setdefault(variant, behind[-1].index)
    return groups_by_variant


def medians_apart_from_effect(session: RunSession, verdict: ev.RunVerdict) -> float | None:
    """Return by which share the groups' medians differ where that is outside of the effect's interval; else None.

    The groups of a side then come from two regimes, of which its median is one. None also where the effect is freed
    from another load's changes, which the medians hold.
    """
    left, right = group_means(session, verdict)
    load = session.find_workload(verdict.workload)
    if load is not None and load.freed_from:
        return None
    if verdict.ci95 is None or not verdict.is_different or min((*left, *right), default=0.0) <= 0:
        return None
    quotient, sign = median(right) / median(left), session.metric_of(verdict).sign
    low, high = sorted(max(end, 1e-300) ** sign for end in verdict.ci95)
    if low / (1 + verdict.margin) <= quotient <= high * (1 + verdict.margin):
        return None
    return abs(quotient - 1)


def _variant_values(session: RunSession, workload: str, metric: str) -> dict[str, float]:
    """Return the value of each variant: the median of its groups where no verdict about it has an effect."""

    def compute_variant_values() -> dict[str, float]:
        verdicts = [v for v in session.verdicts.values() if (v.workload, v.metric) == (workload, metric)]
        means = {(v.baseline, v.variant): group_means(session, v) for v in verdicts}
        effects = {
            (v.baseline, v.variant): session.metric_of(v).sign * math.log(v.ratio)
            for v in verdicts
            if v.ratio is not None and v.ratio > 0
        }
        values = fit_variant_levels(means, effects)
        for pair, sides in means.items():
            for variant, side in zip(pair, sides, strict=True):
                if side:
                    values.setdefault(variant, median(side))
        return values

    return session.compute_once(("values", workload, metric), compute_variant_values)


def group_means(session: RunSession, verdict: ev.RunVerdict) -> SidesOfPair:
    """Return the means of the baseline and of the variant in each group behind the verdict, in the order measured."""

    def compute_means() -> SidesOfPair:
        behind = {group.index for group in session.groups_behind(verdict)}
        first = session.counted_from.get(verdict.workload, 0)
        groups: dict[int, dict[str, list[float]]] = {}
        for block in session.blocks.get(verdict.workload, ()):
            value = block.values.get(verdict.metric, math.nan)
            counts = block.group in behind if behind else block.group >= first
            if counts and is_counted(block) and abs(value) < MAX_VALUE:
                groups.setdefault(block.group, {}).setdefault(block.variant, []).append(value)
        both = [group for group in groups.values() if verdict.baseline in group and verdict.variant in group]
        left, right = ([fmean(group[side]) for group in both] for side in (verdict.baseline, verdict.variant))
        return left, right

    key = (verdict.workload, verdict.metric, verdict.baseline, verdict.variant, verdict.groups)
    return session.compute_once(("group means", key), compute_means)
