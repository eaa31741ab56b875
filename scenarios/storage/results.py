"""What a run of `storage` records beside its verdicts: the level of each directory, and what a job waits."""

from typing import ClassVar

import msgspec

from hostdx.probes import units
from hostdx.scenarios.contract import ranges as of
from hostdx.scenarios.contract.results.document import Part, Table
from hostdx.scenarios.contract.results.result import Result


class DirectoryLevel(msgspec.Struct, frozen=True, kw_only=True):
    """What one directory reached under one load: the median of its blocks, as in the verdicts' table, with its 95 % CI.

    `link_share` is the share (0..1) of the link's payload rate, for streams; `usual` what its class usually gives;
    `engine_ns` what the engine's own loop takes of each read or write, with the system call's way in and out.
    """

    workload: str
    variant: str
    metric: str
    unit: str
    blocks: of.Number
    median: of.Value
    ci95: tuple[of.Value, of.Value] | None
    link_share: of.Share | None = None
    usual: tuple[of.Value, of.Value] | None = None
    usual_class: str = ""
    engine_ns: of.Count | None = None
    p50_ns: of.Count | None = None  # under this load
    p99_ns: of.Count | None = None
    remarks: tuple[str, ...] = ()


class Levels(Result, frozen=True, tag="storage.levels/1"):
    name: ClassVar[str] = "levels"
    value: tuple[DirectoryLevel, ...]

    @property
    def appendix_parts(self) -> tuple[Part, ...]:
        header = ("load", "directory", "level", "95 % CI", "measurements", "p50", "p99", "usual", "remark")
        rows = tuple(
            (
                level.workload,
                level.variant,
                str(units.metric_quantity(level.median, level.unit)),
                _interval_in_unit(level.ci95, level.unit),
                str(level.blocks),
                *("–" if ns is None else units.format_latency(ns) for ns in (level.p50_ns, level.p99_ns)),
                f"{_interval_in_unit(level.usual, level.unit)} ({level.usual_class})" if level.usual else "–",
                "; ".join(level.remarks),
            )
            for level in self.value
        )
        return (Table(header, rows, frozenset({2, 4, 5, 6})).without_empty_columns(),)


def _interval_in_unit(ends: tuple[float, float] | None, unit: str) -> str:
    return "–" if ends is None else " to ".join(str(units.metric_quantity(end, unit)) for end in ends)


class WatchedJobWait(msgspec.Struct, frozen=True, kw_only=True):
    """The share (0..1) of `seconds` that a job's threads waited for I/O, by `samples` looks at `source`."""

    what: str
    waited: of.Share
    ci95: tuple[of.Share, of.Share] | None
    samples: of.Number
    seconds: of.Seconds
    source: str
    remark: str


class JobWaits(Result, frozen=True, tag="storage.job/1"):
    name: ClassVar[str] = "job"
    value: WatchedJobWait
