"""What a run of `workload` records beside its verdicts: where the time went, and what a memory limit did.

The parts of a difference in wall time between two variants, and what was waited for, as they are recorded.
"""

from __future__ import annotations

from typing import ClassVar

import msgspec

from scenarios.analysis.profile.results import ComparedSeconds
from scenarios.contract import ranges as of
from scenarios.contract.results.document import Part, ReportSection, paragraph_of
from scenarios.contract.results.result import Result


class TimePart(ComparedSeconds, frozen=True, kw_only=True):
    """Of the wall time. `differs`: on logarithms, as waits have long tails. `unmoved`: the sum over all threads moved
    less than half as much: it takes another part of the wall time as less (or more) runs at once.
    """

    name: str
    unmoved: bool = False


class BlockedOn(TimePart, frozen=True, kw_only=True):
    """What is known of the waits: `name` is what was waited for (`waits`), `calls` those that did most.

    `hard`: it divides what was waited in state D; else the rest: asleep, while nothing of the command ran.
    """

    calls: tuple[str, ...]
    hard: bool


class CounterRate(msgspec.Struct, frozen=True, kw_only=True):
    """What the CPU's counters say of a run, as `ComparedSeconds` has it, in `unit` in place of seconds."""

    name: str
    unit: str
    baseline: of.Value
    variant: of.Value
    difference: of.Value
    ci95: tuple[of.Value, of.Value]
    differs: bool


class Split(msgspec.Struct, frozen=True, kw_only=True):
    """`parts`: the whole (`wall`) first, then those that are known and the rest. `unknown`: not told from the rest.

    `waits` divide block I/O, other waits and the rest by samples, the largest difference first; none where they were
    not sampled in every run; `looks`: samples a run, the mean of both sides. `faults`: page faults a run more (variant
    - baseline) where system CPU goes with them.
    """

    baseline: str
    variant: str
    groups: of.Number
    parts: tuple[TimePart, ...]
    unknown: tuple[str, ...]
    waits: tuple[BlockedOn, ...] = ()
    faults: of.Value | None = None
    rates: tuple[CounterRate, ...] = ()
    looks: of.Value | None = None


class Splits(Result, frozen=True, tag="workload.where/1"):
    name: ClassVar[str] = "where"
    value: tuple[Split, ...]

    @property
    def result_parts(self) -> tuple[Part, ...]:
        from scenarios.workload.difference import build_table  # what runs commands comes along

        return tuple(part for time_split in self.value for part in build_table(time_split))

    def on_top(self, now: float) -> ReportSection | None:
        from scenarios.workload.difference import LIKELY, MIN_NAMED_SHARE, build_views

        tables = [
            table
            for time_split in self.value
            if time_split.parts
            for table in build_views(time_split, MIN_NAMED_SHARE)
        ]
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
