"""Improvements and losses by group: geometric means, as IO500 and HEPscore make them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import msgspec

from scenarios.compare.effects import Effect, effects
from scenarios.compare.run_summary import Figure, FigureKey, Load, Take
from scenarios.knowledge.differences import Pattern, patterns
from scenarios.knowledge.loads import group_of, scores
from scenarios.plan import Metric

MEAN = Metric(name="geometric mean", unit="")
Parts = tuple[tuple[FigureKey, ...], ...]


def group_means(a: Sequence[Take], b: Sequence[Take], *, margin: float) -> list[Effect]:
    """One effect for each group of which both sides have a load in every run. A score's own loads are left to it."""
    scored = {load for score in scores().entries for part in score.parts for load in part}
    by_group: dict[str, list[FigureKey]] = {}
    for key in _everywhere(a, b):
        if key.workload not in scored:
            by_group.setdefault(group_of(key.workload).name, []).append(key)
    return _means(a, b, {name: (tuple(found),) for name, found in by_group.items()}, margin)


def score_means(a: Sequence[Take], b: Sequence[Take], *, margin: float) -> list[Effect]:
    """The known scores all of whose loads are there."""
    by_load: dict[str, list[FigureKey]] = {}
    for key in _everywhere(a, b):
        by_load.setdefault(key.workload, []).append(key)
    wanted: dict[str, Parts] = {}
    for score in scores().entries:
        if all(load in by_load for part in score.parts for load in part):
            wanted[score.name] = tuple(
                tuple(k for load in part for k in by_load[load]) for part in score.parts
            )
    scales = {score.name: score.scale for score in scores().entries}
    return [
        msgspec.structs.replace(e, a=e.a / scales[e.title], b=e.b / scales[e.title])
        for e in _means(a, b, wanted, margin)
    ]


def _everywhere(a: Sequence[Take], b: Sequence[Take]) -> list[FigureKey]:
    runs = [*a, *b]
    return sorted(key for key in runs[0].figures if all(key in run.figures for run in runs))


def _means(a: Sequence[Take], b: Sequence[Take], wanted: dict[str, Parts], margin: float) -> list[Effect]:
    found = effects([_reduced(run, wanted) for run in a], [_reduced(run, wanted) for run in b], margin=margin)
    order = list(wanted)
    return sorted(found, key=lambda e: order.index(e.key.workload))


def _reduced(run: Take, wanted: dict[str, Parts]) -> Take:
    """The run with the means in place of its loads."""
    keys = {name: FigureKey(name, MEAN.name) for name in wanted}
    figures = {keys[name]: _mean(run, parts) for name, parts in wanted.items()}
    loads = {key: Load(name, MEAN) for name, key in keys.items()}
    return msgspec.structs.replace(run, figures=figures, loads=loads)


def _mean(run: Take, parts: Parts) -> Figure:
    """The mean of the parts' mean logs; the variance, where every load has one."""
    weights = [(run.figures[key], 1 / len(parts) / len(part)) for part in parts for key in part]
    log = math.fsum(figure.log_mean * weight for figure, weight in weights)
    known = [(f.variance, weight, f.stretches) for f, weight in weights if f.variance is not None]
    whole = len(known) == len(weights)
    variance = math.fsum(v * weight**2 for v, weight, _ in known) if whole else None
    return Figure(
        log,
        math.exp(log),
        sum(f.blocks for f, _ in weights),
        variance,
        min((s for _, _, s in known), default=0) if whole else 0,
    )


def matching(found: Iterable[Effect]) -> Pattern | None:
    """What the groups say together; None where no known pattern fits."""
    judged: dict[str, list[Effect]] = {}
    for effect in found:
        judged.setdefault(effect.group, []).append(effect)
    slower = {g for g, those in judged.items() if 2 * sum(e.slower for e in those) > len(those)}
    equal = {g for g, those in judged.items() if not any(e.differs for e in those)}
    for pattern in patterns().entries:
        if set(pattern.slower) <= slower and set(pattern.equal) <= equal:
            return pattern
    return None
