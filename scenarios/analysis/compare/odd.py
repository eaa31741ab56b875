"""The odd ones out of a pile of like results: which run lies apart from the others, in which load, and how far.

For each load the core is that part of the runs which lies closest together (least trimmed squares, Rousseeuw 1984): its
mean is the centre, its variance the spread, drawn towards that of the pile's other loads over the same runs as far as
they are alike (`spread.py`), or the usual one of such loads (`knowledge/loads.toml`) where the pile's is no wider.
What lies outside is held against it by Student's t, each run alone. Which runs are the core is chosen by the figures,
so every choice there was counts: C(n, k) ways to leave k of n runs out, all loads, and a 2^-k share of the error for
each k. All of a pile's loads together name a run wrongly in at most 5 % of the piles
(tests/measured/README.md). Of five and more runs up to half may lie outside; where those lie together
they are a second group.
"""

import math
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import NamedTuple, TypeAlias

import msgspec

from hostdx.probes.types import Json
from hostdx.scenarios.analysis.compare.run_summary import FactKey, FigureKey, RunSummary
from hostdx.scenarios.analysis.compare.spread import ModeratedVariance, ObservedVariance, moderate_variances
from hostdx.scenarios.contract.plan import Metric
from hostdx.scenarios.experiment.statistics.distributions import normal_tail, t_quantile, t_tail
from hostdx.scenarios.experiment.statistics.stats import sum_of_squares
from hostdx.scenarios.triage.knowledge.differences import is_ignored_fact
from hostdx.scenarios.triage.knowledge.loads import load_group_of

MIN_RUNS = 5
MIN_EFFECT = 0.05
FAMILY_ERROR = 0.05
_FLOOR = 0.002  # of the level: printed digits make two results equal that were not
_MIN_CORE_RUNS = 3
_LIKE_USUAL = 1.6  # the pile's variances over the usual ones, at most, for these to be believed …
_USUAL_FREEDOM = 8  # … for as much as so many more runs
_BORROWS = 20  # runs: more of them know their spread themselves
_MAX_LOG_WAYS = 600.0  # logarithm of C(n, k): beyond it no probability is small enough to be told from 0
_MAX_NAMED_FACTS = 12  # of an odd run, named


class ComparedRun(NamedTuple):
    """One run. `logs` are turned so that more is better."""

    name: str
    logs: Mapping[FigureKey, float]
    metrics: Mapping[FigureKey, Metric]
    facts: Mapping[FactKey, Json]


class OutlierRun(msgspec.Struct, frozen=True, kw_only=True):
    """A run outside of the core. `ratio` to the core's centre, under 1 is worse; `ci95` holds for the whole pile."""

    run: str
    index: int
    value: float
    ratio: float
    ci95: tuple[float, float]


class OutlierFact(msgspec.Struct, frozen=True, kw_only=True):
    """A fact in which a run differs from every other run that has it."""

    subject: str
    name: str
    value: Json
    others: tuple[Json, ...]


class LoadWithOutliers(msgspec.Struct, frozen=True, kw_only=True):
    """`centre`, `low` and `high` are the core's, `runs` how many have the load. `groups`: those apart lie together."""

    key: FigureKey
    metric: Metric
    runs: int
    core: tuple[str, ...]
    centre: float
    low: float
    high: float
    apart: tuple[OutlierRun, ...]
    groups: bool = False


class RunOutliers(msgspec.Struct, frozen=True, kw_only=True):
    """`loads`: how many were looked at, those that at least five runs have. `facts`: by run that lies apart."""

    runs: tuple[str, ...]
    loads: int
    found: tuple[LoadWithOutliers, ...] = ()
    facts: dict[str, tuple[OutlierFact, ...]] = {}


def compared_run_of(run: RunSummary) -> ComparedRun:
    logs = {key: figure.log_mean for key, figure in run.figures.items()}
    return ComparedRun(run.name, logs, {key: load.metric for key, load in run.loads.items()}, run.facts)


def find_outliers(runs: Sequence[ComparedRun]) -> RunOutliers:
    """Of results of like loads."""
    names = dict.fromkeys(key for run in runs for key in run.logs)
    columns = {key: [(n, run.logs[key]) for n, run in enumerate(runs) if key in run.logs] for key in names}
    columns = {key: column for key, column in columns.items() if len(column) >= MIN_RUNS}
    usual = {key: _usual_run_variance(key, runs) for key in columns}
    leading = list({key.workload: key for key in reversed(columns)}.values())
    outlier_loads = []
    for key in columns:
        others = [(columns[other], usual[other]) for other in leading if other.workload != key.workload]
        chosen = _split_outliers((columns[key], usual[key]), others, len(columns))
        if chosen is not None:
            metric = next(run.metrics[key] for run in runs if key in run.metrics)
            outlier_loads.append(_outlier_load(key, metric, columns[key], chosen, [run.name for run in runs]))
    indices = sorted({run.index for load in outlier_loads for run in load.apart if not load.groups})
    return RunOutliers(
        runs=tuple(run.name for run in runs),
        loads=len(columns),
        found=tuple(sorted(outlier_loads, key=lambda load: min(run.ratio for run in load.apart))),
        facts={runs[n].name: facts for n in indices if (facts := _facts_only_it_has(runs, n))},
    )


def _usual_run_variance(key: FigureKey, pile: Sequence[ComparedRun]) -> float | None:
    """The variance of such a load from run to run, where something is known of it."""
    group = load_group_of(key.workload)
    guest = any(run.facts.get(("virtualisation", "hypervisor"), "none") != "none" for run in pile)
    return group.run_deviation(guest=guest) ** 2 if group.loads != ("*",) else None


# Of one load: the runs that have it, each with its logarithm; and the usual variance of such a load, where it is known.
_Column: TypeAlias = tuple[Sequence[tuple[int, float]], float | None]


class _Split(NamedTuple):
    """`outside`: indices of the pile; `reach`: the half-width of their intervals, on the log scale."""

    core: frozenset[int]
    centre: float
    reach: float
    outside: tuple[int, ...]


def _split_outliers(load: _Column, others: Sequence[_Column], load_count: int) -> _Split | None:
    """As many outside as can be shown, each of them; None where none can. By the pile's own spread
    or by the usual one, each with half of the error.
    """
    column, usual = load
    order = sorted(column, key=lambda item: item[1])
    n = len(order)
    for k in range(min(n // 2, n - _MIN_CORE_RUNS), 0, -1):
        ways = math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
        if ways > _MAX_LOG_WAYS:
            continue
        level = math.log(FAMILY_ERROR / load_count / 2.0 ** (k + (usual is not None))) - ways
        start = _tightest_window_start([value for _, value in order], n - k)
        inside, outside = order[start : start + n - k], [*order[:start], *order[start + n - k :]]
        centre = math.fsum(value for _, value in inside) / len(inside)
        nearest = min(abs(value - centre) for _, value in outside)
        own = _floored_variance([value for _, value in inside])
        scale = 1 + 1 / len(inside)
        if math.expm1(nearest) < MIN_EFFECT or not _is_below_level(
            2 * normal_tail(nearest / math.sqrt(own * scale)), level
        ):
            continue
        core = frozenset(index for index, _ in inside)
        spreads = (
            _candidate_variances((own, usual), core, others)
            if n <= _BORROWS
            else [ModeratedVariance(own, len(inside) - 1)]
        )
        for variance in spreads:
            error = math.sqrt(variance.value * scale)
            if _is_below_level(2 * t_tail(nearest / error, variance.freedom), level):
                reach = t_quantile(1 - max(1e-12, math.exp(level)) / 2, variance.freedom) * error
                return _Split(core, centre, reach, tuple(index for index, _ in outside))
    return None


def _is_below_level(p: float, log_level: float) -> bool:
    return p <= 0 or math.log(p) <= log_level


def _tightest_window_start(values: Sequence[float], size: int) -> int:
    """Where the window of so many neighbours with the least squares begins."""
    middle = values[len(values) // 2]
    sums = [0.0, *accumulate(v - middle for v in values)]
    squares = [0.0, *accumulate((v - middle) ** 2 for v in values)]

    def squares_of_window(start: int) -> float:
        total = sums[start + size] - sums[start]
        return squares[start + size] - squares[start] - total * total / size

    return min(range(len(values) - size + 1), key=squares_of_window)


def _floored_variance(values: Sequence[float]) -> float:
    return max(sum_of_squares(values) / (len(values) - 1), _FLOOR**2)


def _candidate_variances(
    own_and_usual: tuple[float, float | None], core: frozenset[int], others: Sequence[_Column]
) -> list[ModeratedVariance]:
    """With what the pile's other loads tell of the spread; and the usual one, where theirs is no wider."""
    own, usual = own_and_usual
    observations = [(own, len(core) - 1, usual)]
    for column, usual_of_column in others:
        values = [value for index, value in column if index in core]
        if len(values) >= _MIN_CORE_RUNS:
            observations.append((_floored_variance(values), len(values) - 1, usual_of_column))
    units = [usual_of_column for _, _, usual_of_column in observations if usual_of_column is not None]
    shares = units if len(units) == len(observations) else [1.0] * len(observations)
    first = moderate_variances(
        [ObservedVariance(v / share, d, None) for (v, d, _), share in zip(observations, shares, strict=True)]
    )[0]
    variances = [ModeratedVariance(first.value * shares[0], first.freedom)]
    known_ones = [(v / usual, d) for v, d, usual in observations if usual is not None]
    wide = math.fsum(v * d for v, d in known_ones) / max(1, sum(d for _, d in known_ones))
    if usual is not None and wide <= _LIKE_USUAL:
        variances.append(ModeratedVariance(max(own, usual), len(core) - 1 + _USUAL_FREEDOM))
    return variances


def _outlier_load(
    key: FigureKey, metric: Metric, column: Sequence[tuple[int, float]], chosen: _Split, names: Sequence[str]
) -> LoadWithOutliers:
    sign = metric.sign
    logs = dict(column)
    outliers = [
        OutlierRun(
            run=names[n], index=n, value=math.exp(sign * logs[n]), ratio=math.exp(logs[n] - chosen.centre),
            ci95=(
                math.exp(logs[n] - chosen.centre - chosen.reach), math.exp(logs[n] - chosen.centre + chosen.reach),
            ),
        )
        for n in chosen.outside
    ]  # fmt: skip
    core = sorted(math.exp(sign * logs[n]) for n in chosen.core)
    return LoadWithOutliers(
        key=key, metric=metric, runs=len(column), core=tuple(names[n] for n in sorted(chosen.core)),
        centre=math.exp(sign * chosen.centre), low=core[0], high=core[-1],
        apart=tuple(sorted(outliers, key=lambda outlier: outlier.ratio)),
        groups=_is_second_group([logs[n] for n in chosen.outside], [logs[n] for n in chosen.core]),
    )  # fmt: skip


def _is_second_group(outside: Sequence[float], core: Sequence[float]) -> bool:
    """Two and more on one side of the core, closer to each other than to it."""
    gap = max(min(outside) - max(core), min(core) - max(outside))
    return len(outside) > 1 and max(outside) - min(outside) < gap


def _facts_only_it_has(pile: Sequence[ComparedRun], index: int) -> tuple[OutlierFact, ...]:
    differing_facts = []
    for key, value in pile[index].facts.items():
        others = {
            str(run.facts[key]): run.facts[key]
            for n, run in enumerate(pile)
            if n != index and key in run.facts
        }
        if others and str(value) not in others and not is_ignored_fact("/".join(key)):
            differing_facts.append(
                OutlierFact(
                    subject=key[0], name=key[1], value=value, others=tuple(others.values())[:_MAX_NAMED_FACTS]
                )
            )
    return tuple(differing_facts[:_MAX_NAMED_FACTS])
