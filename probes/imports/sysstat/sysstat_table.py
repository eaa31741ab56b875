"""What sar, sadf, iostat, mpstat and vmstat have in common: named columns of a subject, summed up over the samples.

kB of sysstat are 1024 bytes, sectors 512 bytes. The first report of iostat, mpstat and vmstat is the mean since boot.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

import msgspec

from probes.imports.dates import iso
from probes.imports.formats import load_format
from probes.imports.model import Contradiction, Measure, Point, Refused, Result, Trouble, noted
from probes.imports.numbers import number

_HEADER = re.compile(r"^(\S+) (\S+) \((.+?)\)\s+(\S+)\s+_(\S+?)_\s+\((\d{1,9}) CPU\)")
_MOST_SUBJECTS = 5000
_MOST_POINTS = 4000
_MAX_MEASURES = 2000


class SysstatColumns(msgspec.Struct, frozen=True):
    """By column without % and /s: metric, factor and unit of a device's and of the host's, the metric of the CPUs'."""

    cpu: dict[str, str]
    device: dict[str, tuple[str, float, str]]
    host: dict[str, tuple[str, float, str]]


@lru_cache(maxsize=1)
def load_columns() -> SysstatColumns:
    return load_format("sysstat_columns.toml", SysstatColumns)


class Stat(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Over the samples of an interval; `average` is the mean that the tool itself printed."""

    count: int = 0
    total: float = 0.0
    least: float = 0.0
    most: float = 0.0
    last: float = 0.0
    average: float | None = None

    def add(self, value: float) -> None:
        self.least = value if not self.count else min(self.least, value)
        self.most = value if not self.count else max(self.most, value)
        self.count += 1
        self.total += value
        self.last = value

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


class Sysstat(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`tables`: activity → subject → column as printed → over the samples. `keys`: the activities of the file."""

    tool: str
    host: str | None = None
    kernel: str | None = None
    arch: str | None = None
    cpus: int | None = None
    date: str | None = None
    samples: int = 0
    keys: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    headings: int = 0
    restarts: int = 0
    tables: dict[str, dict[str, dict[str, Stat]]] = {}


class Header(msgspec.Struct, frozen=True):
    kernel: str
    host: str
    date: str
    arch: str
    cpus: int


def header(line: str) -> Header | None:
    """`Linux 4.4.0 (name)  05/21/2019  _x86_64_  (8 CPU)`."""
    found = _HEADER.match(line)
    if found is None:
        return None
    return Header(found[2][:200], found[3][:200], found[4][:30], found[5][:30], int(found[6]))


class Tables:
    """The running sums; subjects and points are bounded."""

    def __init__(self) -> None:
        self.tables: dict[str, dict[str, dict[str, Stat]]] = {}
        self.points: list[Point] = []
        self.left_out = 0
        self._subjects = 0

    def add(self, activity: str, subject: str, values: Mapping[str, float], average: bool = False) -> None:
        table = self.tables.setdefault(activity, {})
        if subject not in table:
            if self._subjects >= _MOST_SUBJECTS:
                self.left_out += 1
                return
            self._subjects += 1
        columns = table.setdefault(subject, {})
        for name, value in list(values.items())[:200]:
            stat = columns.setdefault(name, Stat())
            if average:
                stat.average = value
            else:
                stat.add(value)

    def add_columns(self, activity: str, subject: str, columns: Mapping[str, Sequence[float]]) -> None:
        """Many rows at once."""
        rows = max(map(len, columns.values()), default=1)
        self.add(activity, subject, {})
        found = self.tables[activity].get(subject)
        if found is None:
            self.left_out += rows - 1
            return
        for name, values in columns.items():
            found.setdefault(name, Stat()).add_all(values)

    @property
    def full(self) -> bool:
        """No further point is kept, they are counted only."""
        return len(self.points) >= _MOST_POINTS

    def points_left_out(self, columns: Iterable[str], rows: int) -> None:
        self.left_out += rows * sum(_drawn(name) for name in columns)

    def forget(self) -> None:
        """What was added so far was the mean since boot: only its last values are kept, until others come."""
        for table in self.tables.values():
            for columns in table.values():
                for stat in columns.values():
                    stat.count, stat.total = 0, 0.0

    def point(self, at_s: float, values: Mapping[str, float]) -> None:
        for name, value in values.items():
            if _drawn(name):
                if not self.full:
                    metric = load_columns().cpu[_bare(name)]
                    self.points.append(Point(series=f"CPU {metric}", at_s=at_s, value=value / 100, unit=""))
                else:
                    self.left_out += 1


def _drawn(column: str) -> bool:
    return load_columns().cpu.get(_bare(column)) in ("user", "system", "iowait", "steal")


def _bare(column: str) -> str:
    return column.strip("% ").removesuffix("/s").removesuffix("-percent")


def floats(values: Mapping[str, object]) -> dict[str, float]:
    """The columns that are numbers; a decimal comma is read as one."""
    read = {
        str(k): number(v.replace(",", ".") if isinstance(v, str) else v)
        for k, v in list(values.items())[:200]
    }
    return {k: v for k, v in read.items() if v is not None}


def measures(tables: Mapping[str, Mapping[str, Mapping[str, Stat]]]) -> list[Measure]:
    """Means over the samples, of the host, its CPUs together, and every disk and interface that did something."""
    made: list[Measure] = []
    for activity, subjects in tables.items():
        for subject, columns in subjects.items():
            idle = ":" in subject and not any(s.mean or s.last for s in columns.values())
            if idle or len(made) >= _MAX_MEASURES:
                continue
            for column, stat in columns.items():
                if (named := _named(activity, subject, column)) is not None:
                    workload, metric, factor, unit = named
                    less = unit in ("s", "") or workload == "CPU"
                    made.append(
                        Measure(
                            workload=workload, metric=metric, value=stat.mean * factor, unit=unit, judged=False,
                            better="less" if less else "more",
                        )
                    )  # fmt: skip
    return made


def _named(activity: str, subject: str, column: str) -> tuple[str, str, float, str] | None:
    """Workload, metric, factor and unit of a column; None where it is not imported."""
    known, bare = load_columns(), _bare(column)
    if subject in ("all", "-1", "cpu") and bare in known.cpu:
        return ("CPU", f"{known.cpu[bare]} share", 0.01, "")
    if ":" in subject:
        found = known.device.get(column) or known.device.get(bare)
        return (subject, *found) if found and not subject.startswith("cpu:") else None
    if subject not in ("", "cpu"):
        return None
    is_share = "%" in column or column.endswith("-percent")
    found = known.host.get(f"{activity}/{column}") or known.host.get(column if is_share else bare)
    return ("host", *found) if found else None


def columns_left_out(tables: Mapping[str, Mapping[str, Mapping[str, Stat]]]) -> tuple[str, ...]:
    """`memory/kbcached`: the columns that are imported of no subject."""
    imported: dict[str, bool] = {}
    for activity, subjects in tables.items():
        for subject, columns in subjects.items():
            for column in columns:
                name = f"{activity}/{column}"
                imported[name] = imported.get(name, False) or _named(activity, subject, column) is not None
    return tuple(name for name, known in imported.items() if not known)


def averages(tables: Mapping[str, Mapping[str, Mapping[str, Stat]]]) -> list[Contradiction]:
    """A printed average outside what the rows range over: rows are missing."""
    found = []
    for activity, subjects in tables.items():
        for subject, columns in subjects.items():
            for column, stat in columns.items():
                if stat.average is None or stat.count < 2 or _bare(column) not in load_columns().cpu:
                    continue
                if not stat.least - 0.02 <= stat.average <= stat.most + 0.02:
                    found.append(
                        Contradiction(
                            id="sysstat.average", subject=f"{activity} {subject} {column}".strip(), unit="%",
                            claimed=stat.average, recomputed=stat.mean, rule=f"mean of {stat.count} rows",
                        )
                    )  # fmt: skip
    return found[:50]


def result(detail: Sysstat, tables: Tables, *, since_boot: bool = False) -> Result:
    """`since_boot`: the file holds one report only, which is the mean since boot."""
    if not detail.tables:
        raise Refused(f"{detail.tool}: no value in it", "export it again")
    troubles = [Trouble(id="sysstat.since-boot")] if since_boot else []
    if detail.restarts:
        troubles.append(Trouble(id="sysstat.restart", said=str(detail.restarts)))
    if tables.left_out:
        troubles.append(Trouble(id="sysstat.left-out", said=str(tables.left_out)))
    facts = noted(("release", detail.kernel), ("machine", detail.arch), subject="kernel")
    facts += [*noted(("threads", detail.cpus), subject="cpu"), *noted(("samples", detail.samples))]
    return Result(
        kind=detail.tool, tool=detail.tool, host=detail.host, began=iso(detail.date), facts=tuple(facts),
        measures=tuple(measures(detail.tables)), troubles=tuple(troubles), points=tuple(tables.points),
        contradictions=tuple(averages(detail.tables)) if not detail.restarts else (),
        recomputed=("means from the samples",), detail=detail,
    )  # fmt: skip
