"""The bounding box of this file system: this run beside its own past, and the corner in which this one lies apart."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from probes.imports.model import Measure, Noted
from scenarios.box.results import CornerFigures, Corners, amount, name_of
from scenarios.compare.bounding_box import Box, boxes, marked
from scenarios.compare.odd import LEAST_RUNS, Member, OddRuns, odd_runs
from scenarios.compare.run_summary import FigureKey
from scenarios.compare.snapshot import Snapshot
from scenarios.finding import Finding
from scenarios.plan import Metric
from scenarios.rules.texts import texts

SAYS = texts("box")
THIS = "this run"


def like(measured: CornerFigures, kept: Sequence[tuple[str, Corners]]) -> list[tuple[str, CornerFigures]]:
    """Those of the past that measured the same: the file system, and as many workers."""
    own = (measured.source, measured.file_system, measured.workers)
    values = [(name, one.value) for name, one in kept]
    return [(name, one) for name, one in values if (one.source, one.file_system, one.workers) == own]


def bounding(
    measured: CornerFigures, past: Sequence[tuple[str, CornerFigures]]
) -> tuple[list[Box], OddRuns | None]:
    """One for writing and one for reading, where all corners of it are known; from five runs on with the odd ones."""
    runs = [*past, (THIS, measured)]
    odd = odd_runs([_member(name, one) for name, one in runs]) if len(runs) >= LEAST_RUNS else None
    return marked(boxes([_snapshot(name, one) for name, one in runs]), odd), odd


def own_boxes(measured: CornerFigures) -> list[Box]:
    """Of this run alone, each corner with its own interval: what a job is held against."""
    ends = {one.corner: one.ci95 for one in measured.levels}
    return [
        replace(
            box,
            corners=tuple(replace(corner, ci95=ends[corner.workload]) for corner in box.corners),
        )
        for box in boxes([_snapshot(THIS, measured)])
    ]


def odd_findings(measured: CornerFigures, odd: OddRuns | None) -> Iterator[Finding]:
    """Where this run lies apart from its past, each corner with its interval; alone, or with the runs just before it:
    what lasts since then. Two groups that take turns are no odd runs.
    """
    if odd is None:
        return
    for load in odd.found:
        newest = range(len(odd.runs) - len(load.apart), len(odd.runs))
        lasting = {one.index for one in load.apart} == set(newest)
        for one in load.apart:
            if one.run == THIS and (lasting or not load.groups):
                yield SAYS.finding(
                    "odd", id=f"box.odd.{load.key.workload}", subject=measured.directory,
                    severity="warning" if one.ratio < 1 else "notice", corner=name_of(load.key.workload),
                    value=amount(one.value, load.metric.unit), centre=amount(load.centre, load.metric.unit),
                    runs=load.runs - len(load.apart), low=one.ci95[0], high=one.ci95[1],
                )  # fmt: skip


def _snapshot(name: str, measured: CornerFigures) -> Snapshot:
    measures = tuple(
        Measure(workload=one.corner, metric=_metric(one.unit), value=one.median, unit=one.unit)
        for one in measured.levels
        if one.median is not None
    )
    facts = (Noted(name="processes", value=measured.workers),)
    return Snapshot(name=name, kind="box", began=None, host=None, measures=measures, facts=facts)


def _member(name: str, measured: CornerFigures) -> Member:
    known = [one for one in measured.levels if one.median is not None and one.median > 0]
    keys = {one.corner: FigureKey(one.corner, _metric(one.unit)) for one in known}
    return Member(
        name,
        {keys[one.corner]: math.log(one.median) for one in known if one.median is not None},
        {keys[one.corner]: Metric(_metric(one.unit), one.unit) for one in known},
        {},
    )


def _metric(unit: str) -> str:
    return "bandwidth" if unit == "B/s" else "IOPS"
