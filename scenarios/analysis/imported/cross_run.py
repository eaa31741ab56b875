"""What several results say together: the box's odd runs, trends and steps, as findings and series."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from hostdx.probes import units
from hostdx.probes.imports.numbers import imported_text
from hostdx.probes.units import join_names
from hostdx.scenarios.analysis.compare.bounding_box import BoundingBoxFigures, BoxOutlier
from hostdx.scenarios.analysis.compare.effects import metric_interval_text, metric_ratio_text
from hostdx.scenarios.analysis.compare.odd import LoadWithOutliers, OutlierFact, OutlierRun, RunOutliers
from hostdx.scenarios.analysis.compare.placing import io500_workload_title, placing_finding
from hostdx.scenarios.analysis.compare.snapshot import RunSnapshot
from hostdx.scenarios.analysis.imported.results import WorkloadHistory
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.finding import Evidence, Finding
from hostdx.scenarios.experiment.trend import MIN_ROUNDS
from hostdx.scenarios.triage.rules.texts import finding_texts

SAYS = finding_texts("analysis/imported")

_NUMBERED = re.compile(r"(.{0,80}?)run (\d{1,6})")
MIN_LOADS_SLOWER, MIN_SHARE_SLOWER = 3, 0.1  # in so many loads, and so many of all
_MAX_NAMED_OUTLIERS = 20  # runs of a load, named in the evidence
_SCATTER = 2.0  # largest over smallest of a series without slope or step


def box_findings(box: BoundingBoxFigures) -> list[Finding]:
    below = [o for o in box.odd if o.kind == "easy below hard"]
    below_findings = [
        _easy_below_hard_finding(box, name, [o for o in below if o.workload == name])
        for name in list(dict.fromkeys(o.workload for o in below))
    ]
    return [*below_findings, *(placing_finding(box, p) for p in box.placed)]


def _easy_below_hard_finding(box: BoundingBoxFigures, name: str, odd: Sequence[BoxOutlier]) -> Finding:
    """No vote is taken: the hard pattern of the same run is the witness."""
    hard = name.replace("easy", "hard")
    count = f"{len(odd)} of {len(box.runs)} runs" if len(box.runs) > 1 else "the run"
    easy, hard = io500_workload_title(name), io500_workload_title(hard)
    return SAYS.finding(
        "below",
        id=f"io500.box-{name}",
        severity="warning" if name.startswith("ior") else "notice",
        subject=box.title or "box",
        easy=easy,
        hard=hard,
        count=count,
        runs=_runs_text([o.run for o in odd]),
        evidence=[
            *_two_groups_evidence(box, name, odd),
            *(
                SAYS.evidence(
                    "below",
                    run=o.run,
                    easy=easy,
                    value=imported_text(o.value, o.unit),
                    hard=hard,
                    other=imported_text(o.other, o.unit),
                )
                for o in odd[:40]
            ),
        ],
    )


def _two_groups_evidence(box: BoundingBoxFigures, name: str, odd: Sequence[BoxOutlier]) -> list[Evidence]:
    """Where the broken runs lie together and the sound ones elsewhere."""
    corner = next(c for c in box.corners if c.workload == name)
    broken = [o.value for o in odd]
    sound = [v for i, v in enumerate(corner.values) if v is not None and i not in {o.index for o in odd}]
    if not sound or max(broken) >= min(sound):
        return []
    return [
        SAYS.evidence(
            "two-groups",
            load=io500_workload_title(name),
            few=units.count_noun(len(broken), "run"),
            at=_range_text(broken, corner.unit),
            rest=units.count_noun(len(sound), "run"),
            other=_range_text(sound, corner.unit),
        )
    ]


def _range_text(values: Sequence[float], unit: str) -> str:
    """`502 MB/s`, `494 MB/s to 505 MB/s`."""
    low, high = imported_text(min(values), unit), imported_text(max(values), unit)
    return low if low == high else f"{low} to {high}"


def outlier_findings(odd: RunOutliers) -> list[Finding]:
    """One for each set of runs that lies apart, in however many loads."""
    sets: dict[tuple[tuple[int, ...], bool], list[LoadWithOutliers]] = {}
    for load in odd.found:
        indices = tuple(sorted(outlier.index for outlier in load.apart))
        sets.setdefault((indices, load.groups), []).append(load)
    several = Counter(load.key.workload for load in odd.found)
    outlier_findings = [_outlier_finding(odd, loads, groups, several) for (_, groups), loads in sets.items()]
    return [*_often_slower_findings(odd), *outlier_findings]


def _often_slower_findings(odd: RunOutliers) -> Iterator[Finding]:
    """Which results are slower in many loads: of a table by size there is else one finding for nearly each size."""
    ratios: dict[str, list[float]] = {}
    for load in odd.found:
        for outlier in load.apart:
            if outlier.ratio < 1:
                ratios.setdefault(outlier.run, []).append(outlier.ratio)
    least = max(MIN_LOADS_SLOWER, odd.loads * MIN_SHARE_SLOWER)
    often = sorted(
        (run for run, own in ratios.items() if len(own) >= least), key=lambda run: -len(ratios[run])
    )
    if often:
        yield SAYS.finding(
            "often-slower",
            id="import.often-slower",
            subject="pile",
            runs=_runs_text(often),
            loads=odd.loads,
            count=len(ratios[often[0]]),
            evidence=[
                SAYS.evidence(
                    "often",
                    run=run,
                    count=len(ratios[run]),
                    loads=odd.loads,
                    least=units.format_effect(max(ratios[run]), ("", "")).strip(),
                    most=units.format_effect(min(ratios[run]), ("", "")).strip(),
                )
                for run in often[:_MAX_NAMED_OUTLIERS]
            ],
        )


def _outlier_finding(
    odd: RunOutliers, loads: Sequence[LoadWithOutliers], groups: bool, several: Mapping[str, int]
) -> Finding:
    first = loads[0]
    runs = [outlier.run for outlier in sorted(first.apart, key=lambda outlier: outlier.index)]
    worse = any(outlier.ratio < 1 for load in loads for outlier in load.apart)
    return SAYS.finding(
        "groups" if groups else "odd",
        id=f"import.{'groups' if groups else 'odd'}-{first.key.workload}",
        severity="warning" if worse or groups else "notice",
        subject="pile",
        evidence=[
            *(
                _outlier_evidence(outlier, load, several)
                for load in loads
                for outlier in load.apart[:_MAX_NAMED_OUTLIERS]
            ),
            *(_fact_evidence(run, fact) for run in dict.fromkeys(runs) for fact in odd.facts.get(run, ())),
        ],
        load=_title_with_metric(first, several),
        runs=_runs_text(runs),
        more=f" and in {units.count_noun(len(loads) - 1, 'more load')}" if len(loads) > 1 else "",
        at=_range_text([outlier.value for outlier in first.apart], first.metric.unit),
        rest=units.count_noun(len(first.core), "other result"),
        others=_range_text([first.low, first.high], first.metric.unit),
        size=metric_ratio_text(first.apart[0].ratio, first.metric),
    )


def _title_with_metric(load: LoadWithOutliers, several: Mapping[str, int]) -> str:
    name = io500_workload_title(load.key.workload)
    return f"{name}, {load.key.metric}" if several[load.key.workload] > 1 else name


def _outlier_evidence(outlier: OutlierRun, load: LoadWithOutliers, several: Mapping[str, int]) -> Evidence:
    unit = load.metric.unit
    return SAYS.evidence(
        "apart",
        run=outlier.run,
        load=_title_with_metric(load, several),
        value=imported_text(outlier.value, unit),
        size=metric_ratio_text(outlier.ratio, load.metric),
        interval=metric_interval_text(outlier.ci95, outlier.ratio, load.metric),
        centre=imported_text(load.centre, unit),
        low=imported_text(load.low, unit),
        high=imported_text(load.high, unit),
        rest=units.count_noun(len(load.core), "result"),
    )


def _fact_evidence(run: str, fact: OutlierFact) -> Evidence:
    return SAYS.evidence(
        "fact-apart", run=run, fact=f"{fact.subject} {fact.name}", value=str(fact.value)[:200],
        others=", ".join(str(value)[:200] for value in fact.others),
    )  # fmt: skip


def _runs_text(names: Sequence[str]) -> str:
    """`runs 2, 3, 5 to 10`: neighbours joined, a common beginning said once; other names as they are."""
    matches = [_NUMBERED.fullmatch(name) for name in names]
    heads = {m[1] for m in matches if m is not None}
    if None in matches or len(heads) != 1:
        return join_names(names, 20)
    numbers = [int(m[2]) for m in matches if m is not None]
    parts: list[str] = []
    start = last = numbers[0]
    for number in [*numbers[1:], -1]:
        if number == last + 1:
            last = number
            continue
        joined = f"{start} to {last}" if last > start + 1 else f"{start}, {last}"
        parts.append(str(start) if start == last else joined)
        start = last = number
    return f"{heads.pop()}run{'s' if len(numbers) > 1 else ''} {', '.join(parts)}"


def series_verdicts(all_histories: Sequence[WorkloadHistory]) -> list[ev.SeriesVerdict]:
    return [
        ev.SeriesVerdict(
            t=0.0, workload=h.workload, rounds=len(h.values), verdict=h.verdict, slope_per_round=h.slope,
            ci95=h.ci95, p=h.p, reason=h.reason, explain="", smallest_effect=h.smallest_effect,
        )
        for h in _first_history_of_each(all_histories)
    ]  # fmt: skip


def _first_history_of_each(all_histories: Sequence[WorkloadHistory]) -> list[WorkloadHistory]:
    """One value a workload: its first."""
    first: dict[str, WorkloadHistory] = {}
    for h in all_histories:
        first.setdefault(h.workload, h)
    return list(first.values())


def history_findings(all_histories: Sequence[WorkloadHistory], order: Sequence[RunSnapshot]) -> list[Finding]:
    leading = _first_history_of_each(all_histories)
    trend_findings = [_step_finding(h, order) for h in leading if h.steps]
    trend_findings += [_scatter_finding(h) for h in leading if _is_scattered(h)]
    if len(leading) > 1 or trend_findings:
        trend_findings.append(_overview_finding(leading, len(order)))
    return trend_findings


def _step_finding(h: WorkloadHistory, order: Sequence[RunSnapshot]) -> Finding:
    loss = any(s.ratio < 1 for s in h.steps)
    words = [
        f"{units.format_effect(s.ratio)} after {order[s.before].name}"
        + (f" ({order[s.before].began})" if order[s.before].began else "")
        for s in h.steps
    ]
    return SAYS.finding(
        "step",
        severity="warning" if loss else "notice",
        subject=h.workload,
        steps="; ".join(words),
        values=_values_text(h),
    )


def _values_text(h: WorkloadHistory) -> str:
    return ", ".join(imported_text(v, h.unit) for v in h.values[:40])


def _is_scattered(h: WorkloadHistory) -> bool:
    undecided = h.is_undecided and not h.steps and len(h.values) >= MIN_ROUNDS
    return undecided and max(h.values) >= _SCATTER * min(h.values)


def _scatter_finding(h: WorkloadHistory) -> Finding:
    """Neither a slope nor a step explains it: said, so that "undecided" is not taken for "fine"."""
    factor = units.format_factor(max(h.values) / min(h.values))
    return SAYS.finding("scatter", subject=h.workload, factor=factor[:-2], values=_values_text(h))


def _overview_finding(leading: Sequence[WorkloadHistory], results: int) -> Finding:
    worse = [h for h in leading if h.is_degrading]
    better = [h for h in leading if not h.is_degrading and (h.is_faster or h.steps)]
    same = [h for h in leading if not h.steps and h.is_equal]
    rest = len(leading) - len(worse) - len(better) - len(same)
    parts = [f"{len(worse)} of {len(leading)} workloads degrade over {results} results"]
    parts += [f"{len(better)} gained"] if better else []
    parts += [f"{len(same)} did not change"] if same else []
    parts += [f"{rest} undecided"] if rest else []
    return SAYS.finding(
        "overview",
        severity="warning" if worse else "notice" if rest == len(leading) else "ok",
        subject="trend",
        parts=", ".join(parts),
        evidence=[Evidence(h.workload) for h in worse],
    )
