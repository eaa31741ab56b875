"""What a run of `box` records beside its verdicts: each corner's level with its interval, or why there is none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import msgspec

from hostdx.probes import units
from hostdx.scenarios.analysis.compare.bounding_box import BoundingBoxFigures, Boxed
from hostdx.scenarios.box.measurement.corner import BY_ID
from hostdx.scenarios.contract import ranges as of
from hostdx.scenarios.contract.results.document import Part, ReportSection, Table, paragraph_of
from hostdx.scenarios.contract.results.result import Result

NAMES = {
    "ior-easy-write": "ior easy write",
    "ior-hard-write": "ior hard write",
    "ior-easy-read": "ior easy read",
    "ior-hard-read": "ior hard read",
    "mdtest-easy-write": "mdtest easy create",
    "mdtest-hard-write": "mdtest hard create",
    "find": "find",
    "mdtest-easy-stat": "mdtest easy stat",
    "mdtest-hard-stat": "mdtest hard stat",
    "mdtest-hard-read": "mdtest hard read",
    "mdtest-easy-delete": "mdtest easy delete",
    "mdtest-hard-delete": "mdtest hard delete",
}


def corner_title(corner: str) -> str:
    """As a person reads it; what a foreign recording calls it else."""
    return NAMES.get(corner, corner)


class CornerLevel(msgspec.Struct, frozen=True, kw_only=True):
    """One corner: the median of its blocks in `unit` ("B/s" or "IOPS"), the 95 % interval over the cycles.

    `median` None: not measured, `reason` says why. `seconds`: of a block, the median. `cpu`: share (0..1) of a core a
    worker. `tool`, `other`: another program and its value, in recordings of before 2026-11-28.
    """

    corner: str
    unit: str
    cycles: of.Number = 0
    median: of.Value | None = None
    ci95: tuple[of.Value, of.Value] | None = None
    seconds: of.Seconds = 0.0
    cpu: of.Share = 0.0
    reason: str = ""
    cached: bool = False  # not measured because it would have been memory
    tool: str = ""
    other: of.Value | None = None


class CornerFigures(msgspec.Struct, frozen=True, kw_only=True):
    """`direct`: easy reads and writes passed by the page cache. `names`: files of a cycle, on both sides together."""

    directory: str
    file_system: str
    source: str
    workers: of.Number
    direct: bool
    file_bytes: of.Count
    names: of.Count
    beside: of.Count = 0  # names in `directory` itself, listed in `listed_s`; `listed`: to the end
    listed_s: of.Duration = 0.0
    listed: bool = True
    levels: tuple[CornerLevel, ...]

    def corner_median(self, corner: str) -> float | None:
        return next((level.median for level in self.levels if level.corner == corner), None)


class CornersResult(Result, frozen=True, tag="box.corners/1"):
    name: ClassVar[str] = "corners"
    value: CornerFigures

    @property
    def appendix_parts(self) -> tuple[Part, ...]:
        value = self.value
        tools = tuple(dict.fromkeys(level.tool for level in value.levels if level.tool))
        header = ("test", "level", "95 % CI", "cycles", "CPU", *tools, "remark")
        rows = tuple(_table_row(level, tools) for level in value.levels)
        right = frozenset({1, 3, 4, *range(5, 5 + len(tools))})
        table = Table(header, rows, right).without_empty_columns()
        caption = (
            f"{units.count_noun(value.workers, 'worker')} on {value.file_system} ({value.directory}); "
            "tests of IO500, not an IO500 score: hostdx explain box names what a valid score also needs."
        )
        return (table, paragraph_of(caption))


class JobsResult(Result, frozen=True, tag="box.jobs/1"):
    """`value`: this run's own boxes, each corner with its interval, and the jobs that were put into them."""

    name: ClassVar[str] = "jobs"
    value: tuple[BoundingBoxFigures, ...]

    @property
    def appendix_parts(self) -> tuple[Part, ...]:
        return ()

    def section_on_top(self, now: float) -> ReportSection | None:
        from hostdx.scenarios.analysis.compare.placing import jobs_table

        return ReportSection("jobs in the box", (jobs_table(self.value),))


class BoundingBoxResult(Boxed, frozen=True, tag="box.box/1"):
    name: ClassVar[str] = "bounding_box"


def _table_row(level: CornerLevel, tools: Sequence[str]) -> tuple[str, ...]:
    """A foreign recording may name several tools: a column for each."""
    low_high = (
        " to ".join(str(units.metric_quantity(end, level.unit)) for end in level.ci95) if level.ci95 else "–"
    )
    measured = level.median is not None
    return (
        corner_title(level.corner),
        format_amount(level.median, level.unit),
        low_high,
        str(level.cycles) if measured else "–",
        units.format_percent(level.cpu) if measured else "–",
        *(format_amount(level.other if level.tool == tool else None, level.unit) for tool in tools),
        level.reason or "–",
    )


def format_amount(value: float | None, unit: str) -> str:
    return "–" if value is None else str(units.metric_quantity(value, unit))


assert set(NAMES) == set(BY_ID)
