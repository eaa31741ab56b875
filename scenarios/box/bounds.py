"""The bounding box of this file system: this run beside its own past, and the corner in which this one lies apart."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from hostdx.probes.imports.model import ImportedMeasure, Noted
from hostdx.scenarios.analysis.compare.bounding_box import BoundingBoxFigures, boxes_by_version, mark_outliers
from hostdx.scenarios.analysis.compare.odd import MIN_RUNS, ComparedRun, RunOutliers, find_outliers
from hostdx.scenarios.analysis.compare.run_summary import FigureKey
from hostdx.scenarios.analysis.compare.snapshot import RunSnapshot
from hostdx.scenarios.box.results import CornerFigures, CornersResult, corner_title, format_amount
from hostdx.scenarios.contract.finding import Finding
from hostdx.scenarios.contract.plan import Metric
from hostdx.scenarios.triage.rules.texts import finding_texts

SAYS = finding_texts("box")
THIS = "this run"


def same_setup_runs(
    measured: CornerFigures, history: Sequence[tuple[str, CornersResult]]
) -> list[tuple[str, CornerFigures]]:
    """Those of the past that measured the same: the file system, and as many workers."""
    own = (measured.source, measured.file_system, measured.workers)
    values = [(name, corners.value) for name, corners in history]
    return [
        (name, corners)
        for name, corners in values
        if (corners.source, corners.file_system, corners.workers) == own
    ]


def boxes_with_outliers(
    measured: CornerFigures, past: Sequence[tuple[str, CornerFigures]]
) -> tuple[list[BoundingBoxFigures], RunOutliers | None]:
    """One for writing and one for reading, where all corners of it are known; from five runs on with the odd ones."""
    runs = [*past, (THIS, measured)]
    odd = (
        find_outliers([_comparable_logs(name, figures) for name, figures in runs])
        if len(runs) >= MIN_RUNS
        else None
    )
    return mark_outliers(boxes_by_version([_snapshot_of(name, figures) for name, figures in runs]), odd), odd


def own_boxes(measured: CornerFigures) -> list[BoundingBoxFigures]:
    """Of this run alone, each corner with its own interval: what a job is held against."""
    ends = {level.corner: level.ci95 for level in measured.levels}
    return [
        replace(
            box,
            corners=tuple(replace(corner, ci95=ends[corner.workload]) for corner in box.corners),
        )
        for box in boxes_by_version([_snapshot_of(THIS, measured)])
    ]


def outlier_run_findings(measured: CornerFigures, outliers: RunOutliers | None) -> Iterator[Finding]:
    """Where this run lies apart from its past, each corner with its interval; alone, or with the runs just before it:
    what lasts since then. Two groups that take turns are no odd runs.
    """
    if outliers is None:
        return
    for load in outliers.found:
        newest = range(len(outliers.runs) - len(load.apart), len(outliers.runs))
        lasting = {outlier.index for outlier in load.apart} == set(newest)
        for outlier in load.apart:
            if outlier.run == THIS and (lasting or not load.groups):
                yield SAYS.finding(
                    "odd",
                    id=f"box.odd.{load.key.workload}",
                    subject=measured.directory,
                    severity="warning" if outlier.ratio < 1 else "notice",
                    corner=corner_title(load.key.workload),
                    value=format_amount(outlier.value, load.metric.unit),
                    centre=format_amount(load.centre, load.metric.unit),
                    runs=load.runs - len(load.apart),
                    low=outlier.ci95[0],
                    high=outlier.ci95[1],
                )


def _snapshot_of(name: str, measured: CornerFigures) -> RunSnapshot:
    measures = tuple(
        ImportedMeasure(
            workload=level.corner, metric=_metric_name(level.unit), value=level.median, unit=level.unit
        )
        for level in measured.levels
        if level.median is not None
    )
    facts = (Noted(name="processes", value=measured.workers),)
    return RunSnapshot(name=name, kind="box", began=None, host=None, measures=measures, facts=facts)


def _comparable_logs(name: str, measured: CornerFigures) -> ComparedRun:
    positive_levels = [level for level in measured.levels if level.median is not None and level.median > 0]
    keys = {level.corner: FigureKey(level.corner, _metric_name(level.unit)) for level in positive_levels}
    return ComparedRun(
        name,
        {keys[level.corner]: math.log(level.median) for level in positive_levels if level.median is not None},
        {keys[level.corner]: Metric(_metric_name(level.unit), level.unit) for level in positive_levels},
        {},
    )


def _metric_name(unit: str) -> str:
    return "bandwidth" if unit == "B/s" else "IOPS"
