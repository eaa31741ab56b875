"""Improvements and losses by group: geometric means, as IO500 and HEPscore make them."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence

import msgspec

from scenarios.analysis.compare.effects import Effect, effects_between
from scenarios.analysis.compare.run_summary import FigureKey, LoadFigure, PlannedLoad, RunSummary
from scenarios.contract.plan import Metric
from scenarios.triage.knowledge.differences import DifferencePattern, load_patterns
from scenarios.triage.knowledge.loads import group_of, load_scores

MEAN = Metric(name="geometric mean", unit="")
MEMORY = Metric(name=MEAN.name, unit="B", better="less")
Parts = tuple[tuple[FigureKey, ...], ...]
Means = dict[FigureKey, Parts]  # by what the mean is called


def group_means(a: Sequence[RunSummary], b: Sequence[RunSummary], *, margin: float) -> list[Effect]:
    """One effect for each group of which both sides have a load in every run. A score's own loads are left to it.

    A group of loads with metrics of several sorts has a mean of each: IOPS and latency together mean nothing.
    """
    scored = {load for score in load_scores().entries for part in score.parts for load in part}
    by_group: dict[str, dict[str, list[FigureKey]]] = {}
    keys = _keys_in_all_runs(a, b)
    metrics = Counter((key.workload, key.variant) for key in keys)
    for key in keys:
        if key.workload not in scored:
            sort = _mean_sort(a[0].loads[key].metric, several=metrics[key.workload, key.variant] > 1)
            by_group.setdefault(group_of(key.workload).name, {}).setdefault(sort, []).append(key)
    wanted: Means = {
        FigureKey(name, MEAN.name, sort if len(sorts) > 1 else ""): (tuple(load_keys),)
        for name, sorts in by_group.items()
        for sort, load_keys in sorts.items()
    }
    return _mean_effects(a, b, wanted, margin)


def _mean_sort(metric: Metric, *, several: bool) -> str:
    """Of what a mean is made: the speeds of loads that have one metric each, and each metric by itself."""
    return metric.name if several or metric.better == "less" else "rate"


def score_means(a: Sequence[RunSummary], b: Sequence[RunSummary], *, margin: float) -> list[Effect]:
    """The known scores all of whose loads are there."""
    by_load: dict[str, list[FigureKey]] = {}
    for key in _keys_in_all_runs(a, b):
        by_load.setdefault(key.workload, []).append(key)
    wanted: Means = {}
    for score in load_scores().entries:
        if all(load in by_load for part in score.parts for load in part):
            wanted[FigureKey(score.name, MEAN.name)] = tuple(
                tuple(k for load in part for k in by_load[load]) for part in score.parts
            )
    scales = {score.name: score.scale for score in load_scores().entries}
    return [
        msgspec.structs.replace(e, a=e.a / scales[e.title], b=e.b / scales[e.title])
        for e in _mean_effects(a, b, wanted, margin)
    ]


def _keys_in_all_runs(a: Sequence[RunSummary], b: Sequence[RunSummary]) -> list[FigureKey]:
    runs = [*a, *b]
    return sorted(key for key in runs[0].figures if all(key in run.figures for run in runs))


def _mean_effects(
    a: Sequence[RunSummary], b: Sequence[RunSummary], wanted: Means, margin: float
) -> list[Effect]:
    unordered_effects = effects_between(
        [_reduce_to_means(run, wanted) for run in a],
        [_reduce_to_means(run, wanted) for run in b],
        margin=margin,
    )
    order = list(wanted)
    counted = [
        msgspec.structs.replace(e, loads=sum(len(part) for part in wanted[e.key]), several=False)
        for e in unordered_effects
    ]
    return sorted(counted, key=lambda e: order.index(e.key))


def _reduce_to_means(run: RunSummary, wanted: Means) -> RunSummary:
    """The run with the means in place of its loads."""
    means = {key: _mean_metric(run, parts) for key, parts in wanted.items()}
    figures = {key: _mean(run, parts, means[key]) for key, parts in wanted.items()}
    loads = {key: PlannedLoad(key.workload, metric) for key, metric in means.items()}
    return msgspec.structs.replace(run, figures=figures, loads=loads)


def _mean_metric(run: RunSummary, parts: Parts) -> Metric:
    """A mean of memory is bytes: there is more or less of it, it is not slower or faster."""
    units = {(run.loads[key].metric.unit, run.loads[key].metric.better) for part in parts for key in part}
    return MEMORY if units == {(MEMORY.unit, MEMORY.better)} else MEAN


def _mean(run: RunSummary, parts: Parts, metric: Metric) -> LoadFigure:
    """The mean of the parts' mean logs; the variance, where every load has one."""
    weights = [(run.figures[key], 1 / len(parts) / len(part)) for part in parts for key in part]
    log = math.fsum(figure.log_mean * weight for figure, weight in weights)
    known_variances = [(f.variance, weight, f.stretches) for f, weight in weights if f.variance is not None]
    has_all_variances = len(known_variances) == len(weights)
    variance = math.fsum(v * weight**2 for v, weight, _ in known_variances) if has_all_variances else None
    return LoadFigure(
        log,
        math.exp(log if metric.better == "more" else -log),
        sum(f.blocks for f, _ in weights),
        variance,
        min((s for _, _, s in known_variances), default=0) if has_all_variances else 0,
    )


def match_pattern(load_effects: Iterable[Effect]) -> DifferencePattern | None:
    """Return what the groups say together; None where no known pattern fits."""
    judged: dict[str, list[Effect]] = {}
    for effect in load_effects:
        judged.setdefault(effect.group, []).append(effect)
    slower = {g for g, those in judged.items() if 2 * sum(e.is_slower for e in those) > len(those)}
    equal = {g for g, those in judged.items() if not any(e.is_different for e in those)}
    for pattern in load_patterns().entries:
        if set(pattern.slower) <= slower and set(pattern.equal) <= equal:
            return pattern
    return None
