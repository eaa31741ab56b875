"""Effect by effect: how much faster or slower a load is on side B than on side A, and how sure that is.

The unit of inference is the boot: what changes from boot to boot (code and page placement, which CPU gets which
interrupt) is in none of a run's own blocks. Where a side was booted once only, it is the run, and with a single run
its own stretches, which are a lower bound of the spread. A verdict from single runs must therefore also exceed what two
runs of such a load usually lie apart (`knowledge/loads.toml`), and what other programs may have taken meanwhile: who
used half of the CPUs all the time can make one of two runs twice as slow.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Literal, TypeAlias

import msgspec

from hostdx.probes.units import (
    COST,
    SPEED,
    effect_word,
    format_interval,
    format_percent,
    smallest_seen_difference_text,
)
from hostdx.probes.units import format_effect as effect_text
from hostdx.scenarios.analysis.compare.run_summary import (
    FigureKey,
    LoadFigure,
    PlannedLoad,
    RunSummary,
    name_with_variant,
)
from hostdx.scenarios.analysis.compare.spread import ModeratedVariance, ObservedVariance, moderate_variances
from hostdx.scenarios.contract.plan import Metric
from hostdx.scenarios.contract.verdict.verdict import (
    EffectEstimate,
    PairVerdict,
    margin_edge,
    ratio_of,
    rule_on_effect,
)
from hostdx.scenarios.experiment.statistics.distributions import normal_quantile, t_quantile
from hostdx.scenarios.experiment.statistics.stats import sum_of_squares
from hostdx.scenarios.triage.knowledge.loads import load_group_of

# What the interval's spread comes from, best first: several boots a side, several runs (of imported results: files),
# one side's repeated runs for both, the blocks of single runs (a lower bound), or nothing (single values).
Basis: TypeAlias = Literal["boots", "runs", "one side", "blocks", "values"]

Unrepeated: TypeAlias = Literal["boot", "run"]

# Two runs' means lie farther apart than the blocks inside them tell: on a busy virtual machine, over 40 loads in 8
# runs, their deviation was 1.3 times (the median load) to 2.1 times (nine in ten) that which the blocks gave.
RUNS_OVER_BLOCKS = 2.0
MAX_OTHERS_CPU = 0.99  # the kernel leaves everybody a little


class Effect(PairVerdict, frozen=True, kw_only=True):
    """B against A. `a` and `b` are the sides' values in the metric's unit.

    `lower_bound`: it is at least so wide, for want of repeated runs.
    `allowance`: the run-to-run deviation (a share) that the verdict reckoned with for want of a measured one.
    `unrepeated`: what each side has only one of, so that nobody saw how it differs from the next one.
    `others_cpu`: the share of all CPUs that other programs used, where no repeated run tells what that costs.
    `several`: the load has other judged metrics as well. `loads`: of how many loads it is the mean.
    """

    key: FigureKey
    title: str
    group: str
    metric: Metric
    a: float
    b: float
    runs: tuple[int, int]
    basis: Basis
    ratio: float
    lower_bound: bool = False
    allowance: float | None = None
    unrepeated: Unrepeated | None = None
    others_cpu: float = 0.0
    control: bool = False
    several: bool = False
    loads: int = 1
    variant_label: str = ""


class _LoadOnSide(msgspec.Struct, frozen=True):
    """One load on one side, a value for each unit of inference."""

    values: tuple[float, ...]
    within: float | None  # mean variance of a unit's value, as its blocks tell
    freedom: int  # of `within`
    natural: float
    runs: int


def effects_between(
    a: Sequence[RunSummary], b: Sequence[RunSummary], *, margin: float, alpha: float = 0.05
) -> list[Effect]:
    """Every load that both sides have, worst first. The family-wise error over all of them is `alpha`."""
    loads = {key: load for run in (*b, *a) for key, load in run.loads.items()}
    boots = max(_count_boots(a), _count_boots(b)) > 1
    has_boot_ids = any(run.boot for run in (*a, *b))
    sides = {key: (_load_side(a, key, boots), _load_side(b, key, boots)) for key in sorted(loads)}
    both = {key: (left, right) for key, (left, right) in sides.items() if left and right}
    variances = _moderated_variances(both)
    level = alpha / max(1, len(both))
    unseen = not boots and {run.boot for run in a} != {run.boot for run in b}
    unrepeated: Unrepeated = "boot" if unseen and all(run.boot for run in (*a, *b)) else "run"
    guest = any(run.was_in_guest for run in (*a, *b))
    others_cpu = max(run.others_cpu for run in (*a, *b))
    effects = [
        _load_effect(
            key, loads[key], *both[key], variances.get(key), margin, level, boots, unseen, guest, others_cpu
        )
        for key in both
    ]
    metrics = Counter((e.key.workload, e.key.variant) for e in effects)
    marked = [
        msgspec.structs.replace(
            e,
            several=metrics[e.key.workload, e.key.variant] > 1,
            basis="runs" if e.basis == "boots" and not has_boot_ids else e.basis,
            unrepeated=unrepeated if e.lower_bound else None,
        )
        for e in effects
    ]
    return sorted(marked, key=lambda e: (e.ratio, e.key))


def _count_boots(runs: Sequence[RunSummary]) -> int:
    return len({run.boot or run.name for run in runs})


def _load_side(runs: Sequence[RunSummary], key: FigureKey, join_boots: bool) -> _LoadOnSide | None:
    """`join_boots`: the runs of one boot are one unit; else every run is."""
    having = [(run, run.figures[key]) for run in runs if key in run.figures]
    if not having:
        return None
    by_boot: defaultdict[str, list[LoadFigure]] = defaultdict(list)
    for run, figure in having:
        by_boot[run.boot or run.name].append(figure)
    units = list(by_boot.values()) if join_boots else [[figure] for _, figure in having]
    withins = [_variance_of_mean_or_none(unit) for unit in units]
    known_withins = [w for w in withins if w is not None]
    return _LoadOnSide(
        values=tuple(math.fsum(f.log_mean for f in unit) / len(unit) for unit in units),
        within=math.fsum(known_withins) / len(known_withins) if len(known_withins) == len(units) else None,
        freedom=sum(max(0, f.stretches - 1) for _, f in having),
        natural=math.exp(math.fsum(math.log(f.value) for _, f in having) / len(having)),
        runs=len(having),
    )


def _variance_of_mean_or_none(unit: Sequence[LoadFigure]) -> float | None:
    known_variances = [f.variance for f in unit if f.variance is not None]
    return (
        math.fsum(known_variances) / len(known_variances) / len(unit)
        if len(known_variances) == len(unit)
        else None
    )


def _moderated_variances(
    both: dict[FigureKey, tuple[_LoadOnSide, _LoadOnSide]],
) -> dict[FigureKey, ModeratedVariance]:
    """Of one unit's value, for the loads that some side has repeated."""
    observed: dict[FigureKey, ObservedVariance] = {}
    for key, sides in both.items():
        freedom = sum(len(side.values) - 1 for side in sides)
        if freedom > 0:
            squares = math.fsum(sum_of_squares(side.values) for side in sides)
            known_withins = [side.within for side in sides if side.within is not None]
            within = math.fsum(known_withins) / len(known_withins) if len(known_withins) == 2 else None
            observed[key] = ObservedVariance(squares / freedom, freedom, within)
    return dict(zip(observed, moderate_variances(list(observed.values())), strict=True))


def _load_effect(
    key: FigureKey,
    load: PlannedLoad,
    a: _LoadOnSide,
    b: _LoadOnSide,
    variance: ModeratedVariance | None,
    margin: float,
    level: float,
    per_boot: bool,
    boot_spread_unknown: bool,
    guest: bool,
    others_cpu: float,
) -> Effect:
    """`per_boot`: a value is a boot's. `boot_spread_unknown`: one boot a side, so nobody saw how boots differ.

    `guest`: a side was measured in a virtual machine. `others_cpu`: as `Effect` has it, of all runs.
    """
    estimate = math.fsum(b.values) / len(b.values) - math.fsum(a.values) / len(a.values)
    group = load_group_of(key.workload)
    half: float | None = None
    basis: Basis = "values"
    if variance is not None:
        basis = ("boots" if per_boot else "runs") if min(len(a.values), len(b.values)) > 1 else "one side"
        error = math.sqrt(variance.value * (1 / len(a.values) + 1 / len(b.values)))
        half = t_quantile(1 - level / 2, variance.freedom) * error
    elif a.within is not None and b.within is not None:
        basis = "blocks"
        half = t_quantile(1 - level / 2, _welch_freedom(a, b)) * math.sqrt(a.within + b.within)
    allowance = group.run_deviation(guest=guest) if variance is None or boot_spread_unknown else None
    reach = half or 0.0
    if allowance is not None:
        wider = RUNS_OVER_BLOCKS if basis == "blocks" else 1.0
        reach = math.hypot(wider * reach, normal_quantile(1 - level / 2) * allowance * math.sqrt(2))
        reach += log_slowdown_by_others(others_cpu)
    return Effect(
        key=key,
        title=load.title,
        variant_label=load.variant_label,
        group=group.name,
        metric=load.metric,
        a=a.natural,
        b=b.natural,
        runs=(a.runs, b.runs),
        basis=basis,
        ratio=ratio_of(estimate),
        margin=margin,
        alpha=level,
        verdict=rule_on_effect(
            EffectEstimate(estimate, estimate - reach, estimate + reach, margin_edge(margin))
        ).word,
        ci95=None if half is None else (ratio_of(estimate - half), ratio_of(estimate + half)),
        lower_bound=allowance is not None,
        allowance=allowance,
        others_cpu=others_cpu if allowance is not None else 0.0,
        smallest_effect=math.expm1(min(700.0, reach)),
        control=load.control,
    )


def log_slowdown_by_others(share: float) -> float:
    """Return the logarithm of how many times slower a load is that gets what others leave of the CPUs."""
    return -math.log1p(-min(share, MAX_OTHERS_CPU))


def _welch_freedom(a: _LoadOnSide, b: _LoadOnSide) -> float:
    """Welch and Satterthwaite's degrees of freedom of a sum of two variances."""
    left, right = a.within or 0.0, b.within or 0.0
    squares = left**2 / max(1, a.freedom) + right**2 / max(1, b.freedom)
    return (left + right) ** 2 / squares if squares > 0 else max(1, a.freedom + b.freedom)


WIDEST = 100
MAX_TOLD_SHARE = 1.0  # of an undecided load: what could be missed beyond a factor of two decides nothing


def effect_name(effect: Effect) -> str:
    """`system call, all CPUs`; with its metric where the load has several: `random-read read, mean latency`."""
    title = f"{effect.title}, {effect.metric.name}" if effect.several else effect.title
    return name_with_variant(title, effect.key, effect.variant_label)


def is_cost_metric(metric: Metric) -> bool:
    """Of memory there is more or less, it is not slower or faster."""
    return metric.unit == "B"


def metric_ratio_text(ratio: float, metric: Metric) -> str:
    """`27 % slower`; of memory `40 % less`, by its own ratio: 977 to 586 MiB are 1.67 as a speed would have it."""
    return effect_text(*_ratio_and_less_more_words(ratio, metric))


def metric_interval_text(ci95: tuple[float, float], ratio: float, metric: Metric) -> str:
    (low, words), (high, _) = sorted(_ratio_and_less_more_words(end, metric) for end in ci95)
    return format_interval(low, high, _ratio_and_less_more_words(ratio, metric)[0], words)


def _ratio_and_less_more_words(ratio: float, metric: Metric) -> tuple[float, tuple[str, str]]:
    if not is_cost_metric(metric):
        return ratio, SPEED
    return (1 / ratio if metric.better == "less" and ratio > 0 else ratio), COST


def direction_word(effect: Effect) -> str:
    return effect_word(*_ratio_and_less_more_words(effect.ratio, effect.metric))


def _ratio_text(effect: Effect) -> str:
    return metric_ratio_text(effect.ratio, effect.metric)


def ratio_text_with_interval(effect: Effect) -> str:
    """`4.13 × slower, 95 % CI 3.9 to 4.4 ×`."""
    if effect.ci95 is None:
        return _ratio_text(effect)
    return f"{_ratio_text(effect)}, 95 % CI {interval_text(effect)}"


def effect_size_text(effect: Effect) -> str:
    """`23 % slower`; no direction where the interval does not allow one.

    `within ±0.5 %, one boot each` and `23 % slower here, one boot each`, where only what other
    boots would have given leaves it open.
    """
    if effect.is_different:
        return _ratio_text(effect)
    once = f"one {effect.unrepeated} each"
    if effect.ci95 is not None and is_within_margin(effect):
        farthest = max(abs(_ratio_and_less_more_words(end, effect.metric)[0] - 1) for end in effect.ci95)
        return f"within ±{format_percent(farthest)}, {once}"
    if is_different_in_these_runs(effect):
        return f"{_ratio_text(effect)} here, {once}"
    return effect.verdict


def is_different_in_these_runs(effect: Effect) -> bool:
    """True where the measured interval excludes no change, and only what was not repeated leaves the effect open.

    The figures of A and B differ then. Whether the next boot (or run) of one side differs as much is not known.
    """
    if not effect.is_undecided or effect.unrepeated is None or effect.ci95 is None:
        return False
    low, high = effect.ci95
    others = math.exp(log_slowdown_by_others(effect.others_cpu))
    return not (low <= others and high >= 1 / others) and not is_within_margin(effect)


def is_shown_to_differ(effect: Effect) -> bool:
    """True where A and B differ, for good or in these runs alone."""
    return effect.is_different or is_different_in_these_runs(effect)


def certain_log_difference(effect: Effect) -> float:
    """Return the logarithm of the factor by which A and B differ at least: the end of the interval nearer to 1."""
    if effect.ci95 is None:
        return abs(math.log(effect.ratio)) - math.log1p(effect.smallest_effect or 0.0)
    return min(abs(math.log(end)) if end > 0 else math.inf for end in effect.ci95)


def is_within_margin(effect: Effect) -> bool:
    """True where the interval lies inside the margin, and only other boots could still move the effect out of it."""
    if not effect.is_undecided or not effect.lower_bound or effect.ci95 is None or effect.ci95[0] <= 0:
        return False
    return max(abs(math.log(end)) for end in effect.ci95) <= margin_edge(effect.margin)


def interval_text(effect: Effect, *, is_bound_explained: bool = False) -> str:
    """`26 to 42 %, at least` where its width is a lower bound, unless that is `is_bound_explained` of all.

    A dash where it decides nothing.
    """
    if effect.ci95 is None:
        return "–"
    low, high = effect.ci95
    widest = max(high, 1 / low if low > 0 else math.inf)
    if widest > 1 + MAX_TOLD_SHARE and effect.is_undecided and not is_different_in_these_runs(effect):
        return "–"
    if widest > WIDEST:
        return f"wider than a factor of {WIDEST}"
    text = metric_interval_text(effect.ci95, effect.ratio, effect.metric)
    # the size beside it names no direction
    if not (is_shown_to_differ(effect) or low < 1 < high):
        text += f" {direction_word(effect)}"
    return f"{text}, at least" if effect.lower_bound and not is_bound_explained else text


def missable_effect_text(effect: Effect) -> str:
    """Return `below 12 %`: the differences that could be missed. A dash where the size says something itself, and where
    not even a difference of a factor of two would have been seen.
    """
    share = effect.smallest_effect
    if (
        share is None
        or share > MAX_TOLD_SHARE
        or not effect.is_undecided
        or is_within_margin(effect)
        or is_different_in_these_runs(effect)
    ):
        return "–"
    return f"below {smallest_seen_difference_text(share)}"
