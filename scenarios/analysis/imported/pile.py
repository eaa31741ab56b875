"""The imported files together: each result once, like loads only, their box, who lies apart, their course over time.

Several results of one host and benchmark over time: slope with interval, and steps, per workload.

The slope is that of a series without an interleaved reference (`scenarios/experiment/trend.py`: neighbouring results
count as correlated by at least 0.6, called at 1 %). A step is a change of level between two neighbours that explains
the series better than no step: Welch's t over the two sides with the residuals' own correlation, adjusted for the
number of places and series looked at, at least 3 results a side and 5 % in size; found again within the parts.
Simulated false steps in one series of 8, 13 and 30 results: 0.2, 0.2 and 0.7 % without correlation, 2.5, 4.3 and
6.8 % under AR(1) 0.6. A step of 20 % at a noise of 4 % is found in 58, 96 and 100 %.
"""

import math
from collections.abc import Sequence
from itertools import pairwise
from statistics import fmean

import msgspec

from hostdx.probes.units import count_noun
from hostdx.scenarios.analysis.compare.bounding_box import (
    BoundingBoxFigures,
    bounding_box_points_of,
    boxes_by_version,
    mark_outliers,
    place_applications,
)
from hostdx.scenarios.analysis.compare.conditions import separate_repeated_results
from hostdx.scenarios.analysis.compare.odd import MIN_RUNS, ComparedRun, RunOutliers, find_outliers
from hostdx.scenarios.analysis.compare.run_summary import FigureKey
from hostdx.scenarios.analysis.compare.snapshot import (
    ParsedImportFile,
    RunSnapshot,
    rename_snapshot_loads,
    snapshots_of,
)
from hostdx.scenarios.analysis.imported.cross_run import box_findings, history_findings, outlier_findings
from hostdx.scenarios.analysis.imported.findings import note_finding
from hostdx.scenarios.analysis.imported.results import HistoryStep, WorkloadHistory
from hostdx.scenarios.contract.finding import Finding
from hostdx.scenarios.contract.plan import Metric
from hostdx.scenarios.experiment.statistics.distributions import t_tail
from hostdx.scenarios.experiment.trend import fit_rounds

MIN_RESULTS_PER_PART = 3
STEP_ALPHA = 0.01
MIN_LAG_CORRELATION = 0.2  # lag-1 correlation of results taken hours or days apart, at least
MIN_STEP = 0.05
_MAX_STEPS = 10
_FLOOR = 0.002  # of the level: printed digits make two results equal that were not


def judge_histories(snapshots: Sequence[RunSnapshot]) -> list[WorkloadHistory]:
    """Every judged value that all results have, in the order of the first result."""
    if len(snapshots) < 2:
        return []
    tables = [{(m.workload, m.metric): m for m in s.measures if m.judged and m.value > 0} for s in snapshots]
    all_histories = []
    common = [key for key in tables[0] if all(key in table for table in tables)]
    for key in common:
        first = tables[0][key]
        values = tuple(table[key].value for table in tables)
        sign = 1.0 if first.better == "more" else -1.0
        line = fit_rounds(values, [1.0] * len(values), None, first.better)
        all_histories.append(
            WorkloadHistory(
                workload=key[0], metric=key[1], unit=first.unit, better=first.better, values=values,
                verdict=line.verdict, slope=line.slope_per_round, ci95=line.ci95, p=line.p,
                smallest_effect=line.smallest_effect, reason=line.reason, explain=line.explain,
                steps=tuple(find_steps([sign * math.log(v) for v in values], 0, len(common))),
            )
        )  # fmt: skip
    return all_histories


def find_steps(logs: Sequence[float], offset: int = 0, family: int = 1) -> list[HistoryStep]:
    """In the order of time, by halving: the clearest first, then within its two parts.

    `family`: how many series are looked at together; they err in 1 % of such looks, all of them together.
    """
    best = _clearest_step(logs, STEP_ALPHA / max(1, family))
    if best is None:
        return []
    place, ratio = best
    left = find_steps(logs[: place + 1], offset, family)
    right = find_steps(logs[place + 1 :], offset + place + 1, family)
    return [*left, HistoryStep(before=offset + place, ratio=ratio), *right][:_MAX_STEPS]


def _clearest_step(log_values: Sequence[float], alpha: float) -> tuple[int, float] | None:
    n = len(log_values)
    places = range(MIN_RESULTS_PER_PART - 1, n - MIN_RESULTS_PER_PART)
    best: tuple[float, int] | None = None
    # the split that leaves the smallest squares is the one that takes most between the two means
    total = math.fsum(log_values)
    below = math.fsum(log_values[: MIN_RESULTS_PER_PART - 1])
    for place in places:
        below += log_values[place]
        count = place + 1
        between = below * below / count + (total - below) ** 2 / (n - count)
        if best is None or between > best[0]:
            best = (between, place)
    if best is None:
        return None
    place = best[1]
    left, right = log_values[: place + 1], log_values[place + 1 :]
    a, b = fmean(left), fmean(right)
    size = b - a
    parts = (_squared_standard_error(left), _squared_standard_error(right))
    freedom = sum(parts) ** 2 / (parts[0] ** 2 / (len(left) - 1) + parts[1] ** 2 / (len(right) - 1))
    error = math.sqrt(sum(parts) * _error_inflation([x - a for x in left], [x - b for x in right]))
    p = 2 * t_tail(abs(size) / error, freedom) * len(places)
    ratio = math.exp(max(-50.0, min(50.0, size)))
    if p > alpha or abs(math.expm1(size)) < MIN_STEP:
        return None
    return place, ratio


def _error_inflation(left: Sequence[float], right: Sequence[float]) -> float:
    """Return how much larger the squared error of a mean is because neighbouring results are alike.

    From the residuals' own lag-1 correlation, corrected for its bias in short series; never below
    `MIN_LAG_CORRELATION`.
    """
    pairs = [*pairwise(left), *pairwise(right)]
    power = math.fsum(x * x for x in (*left, *right))
    correlation = math.fsum(x * y for x, y in pairs) / power if power > 0 else 0.0
    n = len(left) + len(right)
    rho = min(0.8, max(MIN_LAG_CORRELATION, correlation + (2 + 4 * correlation) / n))
    return (1 + rho) / (1 - rho)


def _squared_standard_error(values: Sequence[float]) -> float:
    """The squared standard error of the mean."""
    mean = fmean(values)
    variance = math.fsum((v - mean) ** 2 for v in values) / (len(values) - 1)
    return max(variance, _FLOOR**2) / len(values)


_MAX_TWINS = 40


class ResultSet(msgspec.Struct, frozen=True, kw_only=True):
    """`order`: the results by date, or as they were given. `twins`: files with the figures of another, and that one."""

    files: tuple[ParsedImportFile, ...]
    order: tuple[RunSnapshot, ...]
    boxes: tuple[BoundingBoxFigures, ...] = ()
    odd: RunOutliers | None = None
    courses: tuple[WorkloadHistory, ...] = ()
    twins: tuple[tuple[str, str], ...] = ()
    findings: tuple[Finding, ...] = ()


def make_result_set(files: Sequence[ParsedImportFile], *, series: bool = False) -> ResultSet:
    """`series`: the user says that the files are one series in time; else a trend needs their own word for it."""
    has_io500 = any(file.result.kind.startswith("io500") for file in files)
    own, twins = separate_repeated_results(
        [file for file in files if not (has_io500 and _is_application_result(file))],
        lambda file: [(m.workload, m.metric, m.value) for m in file.result.measures],
    )
    plain = snapshots_of(own)
    order = rename_snapshot_loads(plain)
    all_boxes = boxes_by_version(plain)
    odd = find_outliers(_runs_without_broken(plain, order, all_boxes)) if len(order) >= MIN_RUNS else None
    all_boxes = place_applications(
        mark_outliers(all_boxes, odd),
        [point for file in files for point in bounding_box_points_of(file.name, file.result)],
    )
    is_series = len(order) > 1 and (series or (len({s.series for s in order}) == 1 and bool(order[0].series)))
    together = judge_histories(order) if is_series else []
    findings = [f for box in all_boxes for f in box_findings(box)]
    findings += outlier_findings(odd) if odd is not None else []
    findings += history_findings(together, order)
    if twins:
        first, of = twins[0]
        findings.append(note_finding("import.twins", f"{first}: {of}", count=count_noun(len(twins), "file")))
    hosts = sorted({s.host for s in order if s.host})
    if len(order) > 1 and not is_series:
        findings.append(
            note_finding(
                "import.several-hosts" if len(hosts) > 1 else "import.no-series", ", ".join(hosts)[:500]
            )
        )
    elif len(order) > 1 and not all(snapshot.began for snapshot in order):
        findings.append(note_finding("import.not-dated", ""))
    return ResultSet(
        files=tuple(files), order=tuple(order), boxes=tuple(all_boxes), odd=odd, courses=tuple(together),
        twins=twins[:_MAX_TWINS], findings=tuple(findings),
    )  # fmt: skip


def _is_application_result(file: ParsedImportFile) -> bool:
    """An IOR or Darshan result: beside IO500 results it is put into their box, not into their series."""
    return not file.result.kind.startswith("io500") and bool(bounding_box_points_of(file.name, file.result))


def _runs_without_broken(
    plain: Sequence[RunSnapshot], order: Sequence[RunSnapshot], all_boxes: Sequence[BoundingBoxFigures]
) -> list[ComparedRun]:
    """Without the corners that the box's law calls broken: it needs no vote, and they have none."""
    broken = {(odd.run, odd.workload) for box in all_boxes for odd in box.odd}
    members = []
    for before, after in zip(plain, order, strict=True):
        logs: dict[FigureKey, float] = {}
        metrics: dict[FigureKey, Metric] = {}
        for old, new in zip(before.measures, after.measures, strict=True):
            if new.judged and new.value > 0 and (before.name, old.workload) not in broken:
                key = FigureKey(new.workload, new.metric)
                logs[key] = math.log(new.value) if new.better == "more" else -math.log(new.value)
                metrics[key] = Metric(new.metric, new.unit, new.better)
        facts = {(fact.subject or "run", fact.name): fact.value for fact in after.facts}
        members.append(ComparedRun(after.name, logs, metrics, facts))
    return members
