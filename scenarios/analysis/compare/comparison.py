"""Two sides of recordings, compared: a pure function of what was recorded, on this host or anywhere.

Kernels with known faults among the compared ones, as far as the recorded facts do not rule a fault out.

Improvements and losses by group: geometric means, as IO500 and HEPscore make them.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

import msgspec

from hostdx.probes.types import Json
from hostdx.scenarios.analysis.compare.conditions import (
    InvalidLoad,
    Unlike,
    invalid_loads,
    repeated_loads,
    unlike_loads,
    without_loads,
    without_repeated_runs,
)
from hostdx.scenarios.analysis.compare.differences import Fingerprints, compare_fingerprints
from hostdx.scenarios.analysis.compare.effects import Effect, effects_between
from hostdx.scenarios.analysis.compare.run_summary import (
    FactKey,
    FigureKey,
    LoadFigure,
    PlannedLoad,
    RunSummary,
)
from hostdx.scenarios.contract.plan import Metric
from hostdx.scenarios.triage.knowledge.differences import DifferencePattern, load_difference_patterns
from hostdx.scenarios.triage.knowledge.kernels import KernelFault, kernel_faults_of_release
from hostdx.scenarios.triage.knowledge.loads import list_scores, load_group_of

MEAN = Metric(name="geometric mean", unit="")
MEMORY = Metric(name=MEAN.name, unit="B", better="less")
Parts = tuple[tuple[FigureKey, ...], ...]
Means = dict[FigureKey, Parts]  # by what the mean is called


def compare_unscored_load_groups(
    a: Sequence[RunSummary], b: Sequence[RunSummary], *, margin: float
) -> list[Effect]:
    """One effect for each group of which both sides have a load in every run. A score's own loads are left to it.

    A group of loads with metrics of several sorts has a mean of each: IOPS and latency together mean nothing.
    """
    scored = {load for score in list_scores().entries for part in score.parts for load in part}
    by_group: dict[str, dict[str, list[FigureKey]]] = {}
    keys = _keys_in_all_runs(a, b)
    metrics = Counter((key.workload, key.variant) for key in keys)
    for key in keys:
        if key.workload not in scored:
            sort = _name_of_mean(a[0].loads[key].metric, several=metrics[key.workload, key.variant] > 1)
            by_group.setdefault(load_group_of(key.workload).name, {}).setdefault(sort, []).append(key)
    wanted: Means = {
        FigureKey(name, MEAN.name, sort if len(sorts) > 1 else ""): (tuple(load_keys),)
        for name, sorts in by_group.items()
        for sort, load_keys in sorts.items()
    }
    return _effects_of_means(a, b, wanted, margin)


def _name_of_mean(metric: Metric, *, several: bool) -> str:
    """Of what a mean is made: the speeds of loads that have one metric each, and each metric by itself."""
    return metric.name if several or metric.better == "less" else "rate"


def effects_on_scores(a: Sequence[RunSummary], b: Sequence[RunSummary], *, margin: float) -> list[Effect]:
    """The known scores all of whose loads are there."""
    by_load: dict[str, list[FigureKey]] = {}
    for key in _keys_in_all_runs(a, b):
        by_load.setdefault(key.workload, []).append(key)
    wanted: Means = {}
    for score in list_scores().entries:
        if all(load in by_load for part in score.parts for load in part):
            wanted[FigureKey(score.name, MEAN.name)] = tuple(
                tuple(k for load in part for k in by_load[load]) for part in score.parts
            )
    scales = {score.name: score.scale for score in list_scores().entries}
    return [
        msgspec.structs.replace(e, a=e.a / scales[e.title], b=e.b / scales[e.title])
        for e in _effects_of_means(a, b, wanted, margin)
    ]


def _keys_in_all_runs(a: Sequence[RunSummary], b: Sequence[RunSummary]) -> list[FigureKey]:
    runs = [*a, *b]
    return sorted(key for key in runs[0].figures if all(key in run.figures for run in runs))


def _effects_of_means(
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
    means = {key: _metric_of_mean(run, parts) for key, parts in wanted.items()}
    figures = {key: _mean_figure(run, parts, means[key]) for key, parts in wanted.items()}
    loads = {key: PlannedLoad(key.workload, metric) for key, metric in means.items()}
    return msgspec.structs.replace(run, figures=figures, loads=loads)


def _metric_of_mean(run: RunSummary, parts: Parts) -> Metric:
    """A mean of memory is bytes: there is more or less of it, it is not slower or faster."""
    units = {(run.loads[key].metric.unit, run.loads[key].metric.better) for part in parts for key in part}
    return MEMORY if units == {(MEMORY.unit, MEMORY.better)} else MEAN


def _mean_figure(run: RunSummary, parts: Parts, metric: Metric) -> LoadFigure:
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
    for pattern in load_difference_patterns().entries:
        if set(pattern.slower) <= slower and set(pattern.equal) <= equal:
            return pattern
    return None


MIN_MANY_CPUS = 16  # as for the running kernel: scenarios/kernel/rules.py


class KnownFault(msgspec.Struct, frozen=True, kw_only=True):
    """A kernel with a known fault on one side (or both). The version alone: nothing says that it shows here."""

    sides: tuple[str, ...]
    release: str
    id: str
    title: str
    effect: str
    fixed_in: str
    sources: tuple[str, ...]


# By the need of an entry of kernels.toml: the recorded fact that tells, and whether its value meets the need.
_TELLS: dict[str, tuple[FactKey, Callable[[Json], bool]]] = {
    "retbleed-ibrs": (("mitigation", "retbleed"), lambda value: value == "Mitigation: IBRS"),
    "huge-pages-always": (("memory", "transparent_huge_pages"), lambda value: value == "always"),
    "amd": (("cpu", "vendor"), lambda value: "AMD" in str(value)),
    "acpi-idle": (("cpu", "idle_driver"), lambda value: value == "acpi_idle"),
    "many-cpus": (("cpu", "threads"), lambda value: isinstance(value, int) and value > MIN_MANY_CPUS),
    "smt": (("cpu", "smt"), lambda value: value == "on"),
    "xfs": (("directory", "file_system"), lambda value: value == "xfs"),
    "cpu-quota": (("cgroup", "cpu"), lambda value: value != "none"),
}


def kernel_release_of(run: RunSummary) -> str:
    return _kernel_fact(run, "release")


def kernel_faults_by_side(a: Sequence[RunSummary], b: Sequence[RunSummary]) -> tuple[KnownFault, ...]:
    """Those of one side only first: what both kernels have explains no difference."""
    sides_by_fault: dict[tuple[str, str], tuple[list[str], KernelFault]] = {}
    for side, runs in (("A", a), ("B", b)):
        for run in runs:
            release = kernel_release_of(run)
            for fault in kernel_faults_of_release(release, _kernel_fact(run, "build")):
                if fault.quiet or _is_fault_ruled_out(fault, run):
                    continue
                sides, _ = sides_by_fault.setdefault((release, fault.id), ([], fault))
                if side not in sides:
                    sides.append(side)
    faults = [
        KnownFault(
            sides=tuple(sides),
            release=release,
            id=fault.id,
            title=fault.title,
            effect=fault.effect,
            fixed_in=fault.fixed_in,
            sources=fault.sources,
        )
        for (release, _), (sides, fault) in sides_by_fault.items()
    ]
    return tuple(sorted(faults, key=lambda fault: len(fault.sides)))


def _is_fault_ruled_out(fault: KernelFault, run: RunSummary) -> bool:
    """By a recorded fact. What was not recorded rules nothing out."""
    if fault.scheduler:
        active = {str(v) for (subject, name), v in run.facts.items() if name == "scheduler" and subject}
        if active and fault.scheduler not in active:
            return True
    links = {str(value) for (_, name), value in run.facts.items() if name == "transport"}
    if links and "sata-link-sleeps" in fault.needs and "sata" not in links:
        return True
    fact_tests = [_TELLS[need] for need in fault.needs if need in _TELLS]
    return any(key in run.facts and not met(run.facts[key]) for key, met in fact_tests)


def _kernel_fact(run: RunSummary, name: str) -> str:
    value = run.facts.get(("kernel", name), "")
    return value if isinstance(value, str) else ""


FAMILY_ERROR = 0.05


class RecordedSide(msgspec.Struct, frozen=True, kw_only=True):
    """Who was measured, when, how often. `unfinished`: runs that were interrupted, failed or killed.

    `boots` is 0 where nobody knows them. `twins`: results left out, each with the one whose figures it has.
    `others_cpu`: the most that other programs used of all CPUs during all of a run, a share. `emulated`: a run's CPU
    was QEMU's own.
    """

    names: tuple[str, ...]  # of the recordings
    hosts: tuple[str, ...]
    kernels: tuple[str, ...]
    scenarios: tuple[str, ...]
    runs: int
    boots: int
    first: str  # UTC, ISO 8601
    last: str
    unfinished: int = 0
    disturbed: int = 0
    groups: int = 0
    left_out: int = 0  # lines of its recordings that are not read: `RunSummary.left_out`
    twins: tuple[tuple[str, str], ...] = ()
    others_cpu: float = 0.0
    emulated: bool = False


class ComparedRecordings(msgspec.Struct, frozen=True, kw_only=True):
    """`order`: the runs by date, "ABBA". `only_a`, `only_b`: loads that the other side has not.

    `unlike`: loads that both have, under other conditions; they are among the effects only with
    `anyway`. `invalid`: loads of single runs that are never among the effects. `one_boot`: all runs are of one boot.
    """

    a: RecordedSide
    b: RecordedSide
    margin: float
    effects: tuple[Effect, ...]
    groups: tuple[Effect, ...]
    scores: tuple[Effect, ...]
    fingerprints: Fingerprints
    order: str
    unlike: tuple[Unlike, ...] = ()
    anyway: bool = False
    invalid: tuple[InvalidLoad, ...] = ()
    only_a: tuple[FigureKey, ...] = ()
    only_b: tuple[FigureKey, ...] = ()
    pattern: DifferencePattern | None = None
    faults: tuple[KnownFault, ...] = ()
    one_boot: bool = False

    @property
    def measures_nothing_alike(self) -> bool:
        """True where no load is on both sides because they ran different scenarios."""
        common = self.effects or self.scores or self.unlike or self.invalid
        return not common and set(self.a.scenarios).isdisjoint(self.b.scenarios)

    @property
    def ran_one_after_the_other(self) -> bool:
        """All runs of one side before all of the other: a drift over the days looks like an effect."""
        return self.order in ("A" * self.a.runs + "B" * self.b.runs, "B" * self.b.runs + "A" * self.a.runs)


def compare_recordings(
    a: Sequence[RunSummary], b: Sequence[RunSummary], *, margin: float = 0.05, anyway: bool = False
) -> ComparedRecordings:
    """B against A. Raises ValueError where a side has no recording."""
    if not a or not b:
        raise ValueError("a comparison needs a recording on each side")
    (a, a_twins), (b, b_twins) = without_repeated_runs(a), without_repeated_runs(b)
    repetitions = repeated_loads([*a, *b])
    a, b = without_loads(a, repetitions), without_loads(b, repetitions)
    left, right = ({key for run in side for key in run.figures} for side in (a, b))
    unlike = unlike_loads(a, b)
    if not anyway:
        unlike_keys = {key for load in unlike for key in load.keys}
        a, b = without_loads(a, unlike_keys), without_loads(b, unlike_keys)
    load_effects = effects_between(a, b, margin=margin, alpha=FAMILY_ERROR)
    runs = sorted([(run.wall, "A") for run in a] + [(run.wall, "B") for run in b])
    return ComparedRecordings(
        a=_recorded_side(a, a_twins),
        b=_recorded_side(b, b_twins),
        margin=margin,
        effects=tuple(load_effects),
        groups=tuple(compare_unscored_load_groups(a, b, margin=margin)),
        scores=tuple(effects_on_scores(a, b, margin=margin)),
        fingerprints=compare_fingerprints(a, b, load_effects),
        order="".join(side for _, side in runs),
        unlike=unlike,
        anyway=anyway,
        invalid=(*invalid_loads(a), *invalid_loads(b)),
        only_a=tuple(sorted(left - right)),
        only_b=tuple(sorted(right - left)),
        pattern=match_pattern(load_effects),
        faults=kernel_faults_by_side(a, b),
        one_boot=len({run.boot for run in (*a, *b)}) == 1 and bool(a[0].boot),
    )


def _recorded_side(runs: Sequence[RunSummary], twins: tuple[tuple[str, str], ...]) -> RecordedSide:
    return RecordedSide(
        names=tuple(run.name for run in runs),
        hosts=tuple(dict.fromkeys(run.host for run in runs)),
        kernels=tuple(dict.fromkeys(r for run in runs if (r := kernel_release_of(run)))),
        scenarios=tuple(dict.fromkeys(run.scenario for run in runs)),
        runs=len(runs),
        boots=len({run.boot for run in runs if run.boot}),
        first=min(run.wall for run in runs),
        last=max(run.wall for run in runs),
        unfinished=sum(run.status != "done" for run in runs),
        disturbed=sum(run.disturbed for run in runs),
        groups=sum(run.groups for run in runs),
        left_out=sum(run.left_out for run in runs),
        twins=twins,
        others_cpu=max(run.others_cpu for run in runs),
        emulated=any(run.on_emulated_cpu for run in runs),
    )
