"""What a run of `workload` records beside its verdicts: where the time went, and what a memory limit did."""

from __future__ import annotations

from typing import ClassVar

import msgspec

from hostdx.scenarios.contract import ranges as of
from hostdx.scenarios.contract.results.document import Part, ReportSection, paragraph_of
from hostdx.scenarios.contract.results.result import Result
from hostdx.scenarios.workload.parts import Split, TimePart


class TimeSplitsResult(Result, frozen=True, tag="workload.where/1"):
    name: ClassVar[str] = "where"
    value: tuple[Split, ...]

    @property
    def appendix_parts(self) -> tuple[Part, ...]:
        from hostdx.scenarios.workload.difference import time_split_parts  # what runs commands comes along

        return tuple(part for time_split in self.value for part in time_split_parts(time_split))

    def section_on_top(self, now: float) -> ReportSection | None:
        from hostdx.scenarios.workload.difference import LIKELY, MIN_NAMED_SHARE, build_views

        tables = [t for split in self.value if split.parts for t in build_views(split, MIN_NAMED_SHARE)]
        return ReportSection("where the time went", (*tables, paragraph_of(LIKELY))) if tables else None


class AtLimit(msgspec.Struct, frozen=True, kw_only=True):
    """`side` met its limit `hits` times a run, `other` `other_hits` times; bytes a run of `side`, None: not counted.

    `paid` is the difference (variant - baseline) in all parts that a limit is paid in; `named`: it is the cause of most
    of the difference, and the stalls say so.
    """

    side: str
    other: str
    hits: of.Value
    other_hits: of.Value
    reclaimed_bytes: of.Value | None
    refaulted_bytes: of.Value | None
    swapped_in_bytes: of.Value | None
    all_wait_s: of.Value | None
    paid: TimePart
    named: bool


class MemoryLimits(Result, frozen=True, tag="workload.memory-limit/1"):
    name: ClassVar[str] = "memory limit"
    value: tuple[AtLimit, ...]
