"""The values that stand beside a verdict, the same in every view: screen, report, page, CSV and JSON."""

from __future__ import annotations

import math
from statistics import fmean
from typing import TYPE_CHECKING

from probes.units import format_percent
from scenarios import events as ev
from scenarios.experiment.levels import Pair, are_two_regimes, pair_values
from scenarios.plan import Metric

if TYPE_CHECKING:
    from app.recording.session import RunSession

SidesOfPair = tuple[list[float], list[float]]  # each counted group's mean, baseline and variant


def is_counted(block: ev.Block) -> bool:
    """Return whether the block is in a number that is shown: no onset, no warm-up, nothing disturbed."""
    return not block.disturbed and block.phase not in ("warmup", "onset")


def values_beside(session: RunSession, verdict: ev.RunVerdict) -> tuple[float | None, float | None]:
    """Return the values of baseline and variant: variant / baseline is the verdict's effect."""
    return session.compute_once(
        ("values", verdict.workload, verdict.metric), lambda: _load_values(session, verdict)
    )[verdict.baseline, verdict.variant]


def value_of(session: RunSession, workload: str, metric: str, variant: str) -> float | None:
    """Return a variant's value in the first verdict about it that has one; None where no verdict is about it."""
    for verdict in session.verdicts.values():
        if (verdict.workload, verdict.metric) == (workload, metric) and variant in (
            verdict.baseline,
            verdict.variant,
        ):
            value = values_beside(session, verdict)[variant == verdict.variant]
            if value is not None:
                return value
    return None


def last_groups(session: RunSession, workload: str) -> dict[str, int]:
    """Return, by variant, the last group that the first verdict about it rests on."""
    groups_by_variant: dict[str, int] = {}
    for verdict in session.verdicts.values():
        if verdict.workload == workload and (behind := session.groups_behind(verdict)):
            for variant in (verdict.baseline, verdict.variant):
                groups_by_variant.setdefault(variant, behind[-1].index)
    return groups_by_variant


def regimes_words(session: RunSession, verdict: ev.RunVerdict) -> str:
    """Return `medians differ by 65 %: two regimes` where the medians' quotient is outside of the effect's interval."""
    if verdict.ci95 is None or not verdict.is_different:
        return ""
    left, right = _group_means(session, verdict)
    if not (left and right):
        return ""
    low, high = (math.log(max(end, 1e-300)) for end in verdict.ci95)
    if _metric_sign(session, verdict) < 0:
        low, high = -high, -low
    if not are_two_regimes(left, right, low - math.log1p(verdict.margin), high + math.log1p(verdict.margin)):
        return ""
    middles = [sorted(side)[len(side) // 2] for side in (left, right)]
    return f"medians differ by {format_percent(abs(middles[1] / middles[0] - 1))}: two regimes"


def _load_values(session: RunSession, asked: ev.RunVerdict) -> dict[Pair, tuple[float | None, float | None]]:
    """Return the values of all pairs of the load in the verdict's metric."""
    sign = _metric_sign(session, asked)
    verdicts = [
        v for v in session.verdicts.values() if (v.workload, v.metric) == (asked.workload, asked.metric)
    ]
    means = {(v.baseline, v.variant): _group_means(session, v) for v in verdicts}
    effects = {
        (v.baseline, v.variant): sign * math.log(v.ratio)
        for v in verdicts
        if v.ratio is not None and v.ratio > 0
    }
    medians: dict[Pair, tuple[float | None, float | None]] = {
        pair: (_median(left), _median(right)) for pair, (left, right) in means.items()
    }
    return medians | pair_values(means, effects)


def _median(values: list[float]) -> float | None:
    ranked = sorted(values)
    half = len(ranked) // 2
    return None if not ranked else (ranked[half] + ranked[-1 - half]) / 2


def _metric_sign(session: RunSession, verdict: ev.RunVerdict) -> int:
    metric = session.find_metric(verdict.workload, verdict.metric) or Metric(verdict.metric, verdict.metric)
    return -1 if metric.better == "less" else 1


def _group_means(session: RunSession, verdict: ev.RunVerdict) -> SidesOfPair:
    """Return each counted group's mean of the baseline and of the variant."""
    behind = {group.index for group in session.groups_behind(verdict)}
    groups: dict[tuple[str, int], list[float]] = {}
    for place, block in enumerate(session.blocks.get(verdict.workload, ())):
        value = block.values.get(verdict.metric, math.nan)
        if is_counted(block) and math.isfinite(value) and (not behind or block.group in behind):
            group = block.group if behind else place
            groups.setdefault((block.variant, group), []).append(value)
    sides = (
        [fmean(values) for (variant, _), values in groups.items() if variant == name]
        for name in (verdict.baseline, verdict.variant)
    )
    left, right = sides
    return left, right
