"""The imported files together: each result once, like loads only, their box, who lies apart, their course over time."""

import math
from collections.abc import Sequence

import msgspec

from probes.units import count_noun
from scenarios.analysis.compare.bounding_box import (
    BoundingBoxFigures,
    make_boxes,
    mark_outliers,
    place_applications,
    points_of,
)
from scenarios.analysis.compare.odd import MIN_RUNS, Member, OddRuns, find_outliers
from scenarios.analysis.compare.run_summary import FigureKey
from scenarios.analysis.compare.snapshot import (
    Imported,
    Snapshot,
    have_dates,
    rename_snapshot_loads,
    snapshots_of,
    without_twin_files,
)
from scenarios.analysis.imported.cross_run import box_findings, history_findings, odd_findings
from scenarios.analysis.imported.findings import note_finding
from scenarios.analysis.imported.history import make_histories
from scenarios.analysis.imported.results import WorkloadHistory
from scenarios.contract.finding import Finding
from scenarios.contract.plan import Metric

_MAX_TWINS = 40


class ResultSet(msgspec.Struct, frozen=True, kw_only=True):
    """`order`: the results by date, or as they were given. `twins`: files with the figures of another, and that one."""

    files: tuple[Imported, ...]
    order: tuple[Snapshot, ...]
    boxes: tuple[BoundingBoxFigures, ...] = ()
    odd: OddRuns | None = None
    courses: tuple[WorkloadHistory, ...] = ()
    twins: tuple[tuple[str, str], ...] = ()
    findings: tuple[Finding, ...] = ()


def make_result_set(files: Sequence[Imported], *, series: bool = False) -> ResultSet:
    """`series`: the user says that the files are one series in time; else a trend needs their own word for it."""
    has_io500 = any(file.result.kind.startswith("io500") for file in files)
    own, twins = without_twin_files([file for file in files if not (has_io500 and _is_application(file))])
    plain = snapshots_of(own)
    order = rename_snapshot_loads(plain)
    all_boxes = make_boxes(plain)
    odd = find_outliers(_outlier_members(plain, order, all_boxes)) if len(order) >= MIN_RUNS else None
    all_boxes = place_applications(
        mark_outliers(all_boxes, odd),
        [point for file in files for point in points_of(file.name, file.result)],
    )
    is_series = len(order) > 1 and (series or (len({s.series for s in order}) == 1 and bool(order[0].series)))
    together = make_histories(order) if is_series else []
    all_findings = [f for box in all_boxes for f in box_findings(box)]
    all_findings += odd_findings(odd) if odd is not None else []
    all_findings += history_findings(together, order)
    if twins:
        first, of = twins[0]
        all_findings.append(
            note_finding("import.twins", f"{first}: {of}", count=count_noun(len(twins), "file"))
        )
    hosts = sorted({s.host for s in order if s.host})
    if len(order) > 1 and not is_series:
        all_findings.append(
            note_finding(
                "import.several-hosts" if len(hosts) > 1 else "import.no-series", ", ".join(hosts)[:500]
            )
        )
    elif len(order) > 1 and not have_dates(order):
        all_findings.append(note_finding("import.not-dated", ""))
    return ResultSet(
        files=tuple(files), order=tuple(order), boxes=tuple(all_boxes), odd=odd, courses=tuple(together),
        twins=tuple(twins[:_MAX_TWINS]), findings=tuple(all_findings),
    )  # fmt: skip


def _is_application(file: Imported) -> bool:
    """An IOR or Darshan result: beside IO500 results it is put into their box, not into their series."""
    return not file.result.kind.startswith("io500") and bool(points_of(file.name, file.result))


def _outlier_members(
    plain: Sequence[Snapshot], order: Sequence[Snapshot], all_boxes: Sequence[BoundingBoxFigures]
) -> list[Member]:
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
        members.append(Member(after.name, logs, metrics, facts))
    return members
