"""What sar, sadf, iostat, mpstat and vmstat have in common: named columns of a subject, summed up over the samples.

kB of sysstat are 1024 bytes, sectors 512 bytes. The first report of iostat, mpstat and vmstat is the mean since boot.
"""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

import msgspec

from hostdx.probes.imports.dates import date_to_iso
from hostdx.probes.imports.formats import load_format_toml
from hostdx.probes.imports.model import (
    Contradiction,
    ImportedMeasure,
    ImportRefusedError,
    ImportResult,
    make_facts,
    make_troubles,
    points_to_draw,
)
from hostdx.probes.imports.numbers import parse_number
from hostdx.probes.imports.sample_series import BoundedSeries, SampleTimes

_HEADER = re.compile(r"^(\S+) (\S+) \((.+?)\)\s+(\S+)\s+_(\S+?)_\s+\((\d{1,9}) CPU\)")
_MAX_SUBJECTS = 5000
_MAX_POINTS = 1000  # of a series
_DRAWN = {("CPU", f"{name} share"): f"CPU {name}" for name in ("user", "system", "iowait", "steal")}
_MAX_MEASURES = 2000


class SysstatColumns(msgspec.Struct, frozen=True):
    """By column without % and /s: metric, factor and unit of a device's and of the host's, the metric of the CPUs'.
    A process's column is as it is printed.
    """

    cpu: dict[str, str]
    device: dict[str, tuple[str, float, str]]
    host: dict[str, tuple[str, float, str]]
    process: dict[str, tuple[str, float, str]]


@lru_cache(maxsize=1)
def load_columns() -> SysstatColumns:
    return load_format_toml("sysstat_columns.toml", SysstatColumns)


class SampleStat(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Over the samples of an interval; `average` is the mean that the tool itself printed."""

    count: int = 0
    total: float = 0.0
    least: float = 0.0
    most: float = 0.0
    last: float = 0.0
    average: float | None = None

    def add_all(self, values: Sequence[float]) -> None:
        least, most = min(values), max(values)
        self.least = min(self.least, least) if self.count else least
        self.most = max(self.most, most) if self.count else most
        self.count += len(values)
        self.total += sum(values)
        self.last = values[-1]

    @property
    def mean(self) -> float:
        return self.total / self.count if self.count else self.last


class SysstatHeader(msgspec.Struct, frozen=True):
    kernel: str | None = None
    host: str | None = None
    date: str | None = None
    arch: str | None = None
    cpus: int | None = None


class SysstatFile(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`tables`: activity → subject → column as printed → over the samples."""

    tool: str
    header: SysstatHeader = SysstatHeader()
    samples: int = 0
    restarts: int = 0
    tables: dict[str, dict[str, dict[str, SampleStat]]] = {}


def parse_header(line: str) -> SysstatHeader | None:
    """`Linux 4.4.0 (name)  05/21/2019  _x86_64_  (8 CPU)`."""
    match = _HEADER.match(line)
    if match is None:
        return None
    return SysstatHeader(match[2][:200], match[3][:200], match[4][:30], match[5][:30], int(match[6]))


class SysstatTables:
    """The running sums and every sample; subjects and samples are bounded."""

    def __init__(self) -> None:
        self.tables: dict[str, dict[str, dict[str, SampleStat]]] = {}
        self.series = BoundedSeries()
        self.subjects_left_out = 0
        self._subjects = 0

    @property
    def left_out(self) -> int:
        return self.subjects_left_out + self.series.left_out

    def add(
        self, activity: str, subject: str, values: Mapping[str, float], at_s: float | None = None
    ) -> None:
        """One sample; without a time it is no part of the series."""
        columns = {name: (value,) for name, value in list(values.items())[:200]}
        self.add_columns(activity, subject, columns, () if at_s is None else (at_s,))

    def add_averages(self, activity: str, subject: str, values: Mapping[str, float]) -> None:
        """The means that the tool itself printed."""
        columns = self._columns_or_none_if_full(activity, subject)
        if columns is not None:
            for name, value in list(values.items())[:200]:
                columns.setdefault(name, SampleStat()).average = value

    def add_columns(
        self, activity: str, subject: str, columns: Mapping[str, Sequence[float]], at_s: Sequence[float]
    ) -> None:
        """Many samples at once."""
        subject_columns = self._columns_or_none_if_full(activity, subject)
        if subject_columns is None:
            return
        for name, values in columns.items():
            subject_columns.setdefault(name, SampleStat()).add_all(values)
            if at_s:
                self._add_to_series(activity, subject, name, at_s, values)

    def _columns_or_none_if_full(self, activity: str, subject: str) -> dict[str, SampleStat] | None:
        table = self.tables.setdefault(activity, {})
        if subject not in table:
            if self._subjects >= _MAX_SUBJECTS:
                self.subjects_left_out += 1
                return None
            self._subjects += 1
        return table.setdefault(subject, {})

    def _add_to_series(
        self, activity: str, subject: str, column: str, at_s: Sequence[float], values: Sequence[float]
    ) -> None:
        meaning = _meaning_of_column(activity, subject, column)
        if meaning is not None:
            series_subject, metric, factor, unit = meaning
            scaled = values if factor == 1 else [value * factor for value in values]
            self.series.add(series_subject, metric, unit, at_s, scaled)

    def forget_since_boot(self) -> None:
        """What was added so far was the mean since boot: only its last values are kept, until others come."""
        self.series.clear()
        for table in self.tables.values():
            for columns in table.values():
                for stat in columns.values():
                    stat.count, stat.total = 0, 0.0


def _unitless(column: str) -> str:
    return column.strip("% ").removesuffix("/s").removesuffix("-percent")


def float_fields(values: Mapping[str, object]) -> dict[str, float]:
    """The columns that are numbers; a decimal comma is read as one."""
    read = {
        str(k): parse_number(v.replace(",", ".") if isinstance(v, str) else v)
        for k, v in list(values.items())[:200]
    }
    return {k: v for k, v in read.items() if v is not None}


def make_measures(tables: Mapping[str, Mapping[str, Mapping[str, SampleStat]]]) -> list[ImportedMeasure]:
    """Means over the samples, of the host, its CPUs together, and every disk and interface that did something."""
    all_measures: list[ImportedMeasure] = []
    for activity, subjects in tables.items():
        for subject, columns in subjects.items():
            idle = ":" in subject and not any(s.mean or s.last for s in columns.values())
            if idle or len(all_measures) >= _MAX_MEASURES:
                continue
            for column, stat in columns.items():
                if (meaning := _meaning_of_column(activity, subject, column)) is not None:
                    workload, metric, factor, unit = meaning
                    less = unit in ("s", "") or workload == "CPU"
                    all_measures.append(
                        ImportedMeasure(
                            workload=workload, metric=metric, value=stat.mean * factor, unit=unit, judged=False,
                            better="less" if less else "more",
                        )
                    )  # fmt: skip
    return all_measures


class _ColumnMeaning(NamedTuple):
    """A column's value times `factor` is in `unit`."""

    workload: str
    metric: str
    factor: float
    unit: str


@lru_cache(maxsize=20_000)
def _meaning_of_column(activity: str, subject: str, column: str) -> _ColumnMeaning | None:
    """Return what a column means; None where it is not imported."""
    columns, bare = load_columns(), _unitless(column)
    if subject in ("all", "-1", "cpu") and bare in columns.cpu:
        return _ColumnMeaning("CPU", f"{columns.cpu[bare]} share", 0.01, "")
    if ":" in subject:
        meaning = columns.device.get(column) or columns.device.get(bare)
        return _ColumnMeaning(subject, *meaning) if meaning and not subject.startswith("cpu:") else None
    if subject not in ("", "cpu"):
        return None
    is_share = "%" in column or column.endswith("-percent")
    meaning = columns.host.get(f"{activity}/{column}") or columns.host.get(column if is_share else bare)
    return _ColumnMeaning("host", *meaning) if meaning else None


def columns_left_out(tables: Mapping[str, Mapping[str, Mapping[str, SampleStat]]]) -> tuple[str, ...]:
    """`memory/kbcached`: the columns that are imported of no subject."""
    imported: dict[str, bool] = {}
    for activity, subjects in tables.items():
        for subject, columns in subjects.items():
            for column in columns:
                name = f"{activity}/{column}"
                imported[name] = (
                    imported.get(name, False) or _meaning_of_column(activity, subject, column) is not None
                )
    return tuple(name for name, is_imported in imported.items() if not is_imported)


def check_averages(tables: Mapping[str, Mapping[str, Mapping[str, SampleStat]]]) -> list[Contradiction]:
    """A printed average outside what the rows range over: rows are missing."""
    contradictions = []
    for activity, subjects in tables.items():
        for subject, columns in subjects.items():
            for column, stat in columns.items():
                if stat.average is None or stat.count < 2 or _unitless(column) not in load_columns().cpu:
                    continue
                if not stat.least - 0.02 <= stat.average <= stat.most + 0.02:
                    contradictions.append(
                        Contradiction(
                            id="sysstat.average", subject=f"{activity} {subject} {column}".strip(), unit="%",
                            claimed=stat.average, recomputed=stat.mean, rule=f"mean of {stat.count} rows",
                        )
                    )  # fmt: skip
    return contradictions[:50]


def make_result(
    detail: SysstatFile, tables: SysstatTables, times: SampleTimes, *, since_boot: bool = False
) -> ImportResult:
    """`since_boot`: the file holds one report only, which is the mean since boot."""
    if not detail.tables:
        raise ImportRefusedError(f"{detail.tool}: no value in it", "export it again")
    troubles = make_troubles(
        ("sysstat.since-boot", since_boot),
        ("sysstat.restart", detail.restarts),
        ("sysstat.left-out", tables.left_out),
    )
    header = detail.header
    facts = make_facts(("release", header.kernel), ("machine", header.arch), subject="kernel")
    facts += [*make_facts(("threads", header.cpus), subject="cpu"), *make_facts(("samples", detail.samples))]
    all_series = tables.series.as_tuple()
    return ImportResult(
        kind=detail.tool, tool=detail.tool, host=header.host, began=date_to_iso(header.date), facts=tuple(facts),
        measures=tuple(make_measures(detail.tables)), troubles=tuple(troubles),
        points=tuple(points_to_draw(all_series, _DRAWN, _MAX_POINTS)), times=times, series=all_series,
        contradictions=tuple(check_averages(detail.tables)) if not detail.restarts else (),
        recomputed=("means from the samples",), detail=detail,
    )  # fmt: skip
