"""What sar, sadf, iostat, mpstat and vmstat have in common: named columns of a subject, summed up over the samples.

kB of sysstat are 1024 bytes, sectors 512 bytes. The first report of iostat, mpstat and vmstat is the mean since boot.
"""

import re
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from probes.imports.dates import iso
from probes.imports.model import Contradiction, Measure, Point, Refused, Result, Trouble, noted
from probes.imports.numbers import KIB, MIB, number

_HEADER = re.compile(r"^(\S+) (\S+) \((.+?)\)\s+(\S+)\s+_(\S+?)_\s+\((\d{1,9}) CPU\)")
_MOST_SUBJECTS = 5000
_MOST_POINTS = 4000
_SCALES: dict[str, tuple[str, float, str]] = {
    # column as printed, without %, /s → metric, factor, unit
    "r": ("read IOPS", 1, "IOPS"), "w": ("write IOPS", 1, "IOPS"), "tps": ("IOPS", 1, "IOPS"),
    "rkB": ("read rate", KIB, "B/s"), "wkB": ("write rate", KIB, "B/s"),
    "rMB": ("read rate", MIB, "B/s"), "wMB": ("write rate", MIB, "B/s"),
    "kB_read/s": ("read rate", KIB, "B/s"), "kB_wrtn/s": ("write rate", KIB, "B/s"),  # without /s: of the interval
    "rd_sec": ("read rate", 512, "B/s"), "wr_sec": ("write rate", 512, "B/s"),
    "r_await": ("read latency", 1e-3, "s"), "w_await": ("write latency", 1e-3, "s"), "await": ("latency", 1e-3, "s"),
    "util": ("utilisation", 0.01, ""), "kB": ("rate", KIB, "B/s"), "MB": ("rate", MIB, "B/s"),  # iostat -s
    "f_await": ("flush latency", 1e-3, "s"), "d_await": ("discard latency", 1e-3, "s"),
    "f": ("flushes", 1, "1/s"), "d": ("discards", 1, "1/s"),
    "dkB": ("discard rate", KIB, "B/s"), "dMB": ("discard rate", MIB, "B/s"),
    "aqu-sz": ("queue length", 1, ""), "avgqu-sz": ("queue length", 1, ""), "aqusz": ("queue length", 1, ""),
    "rareq-sz": ("read size", KIB, "B"), "wareq-sz": ("write size", KIB, "B"), "areq-sz": ("request size", KIB, "B"),
    "avgrq-sz": ("request size", 512, "B"), "rareqsz": ("read size", KIB, "B"),
    "rxkB": ("receive rate", KIB, "B/s"), "txkB": ("send rate", KIB, "B/s"),
}  # fmt: skip
_CPU = {"usr": "user", "user": "user", "us": "user", "sys": "system", "system": "system", "sy": "system",
        "iowait": "iowait", "wa": "iowait", "steal": "steal", "st": "steal", "idle": "idle", "id": "idle"}  # fmt: skip


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
                    metric = _CPU[_bare(name)]
                    self.points.append(Point(series=f"CPU {metric}", at_s=at_s, value=value / 100, unit=""))
                else:
                    self.left_out += 1


def _drawn(column: str) -> bool:
    return _CPU.get(_bare(column)) in ("user", "system", "iowait", "steal")


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
    """Means over the samples, of the CPUs together and of every disk and interface that did something."""
    made: list[Measure] = []
    for subjects in tables.values():
        for subject, columns in subjects.items():
            if subject in ("all", "-1", "cpu"):
                made += _of_cpu(columns)
            elif ":" in subject and any(s.mean or s.last for s in columns.values()) and len(made) < 2000:
                made += _of_device(subject, columns)
    return made


def _of_cpu(columns: Mapping[str, Stat]) -> Iterable[Measure]:
    for column, stat in columns.items():
        metric = _CPU.get(_bare(column))
        if metric is not None:
            yield Measure(
                workload="CPU", metric=f"{metric} share", value=stat.mean / 100, unit="", judged=False,
                better="less",
            )  # fmt: skip


def _of_device(subject: str, columns: Mapping[str, Stat]) -> Iterable[Measure]:
    for column, stat in columns.items():
        named = _SCALES.get(column) or _SCALES.get(_bare(column))
        if named is not None:
            metric, factor, unit = named
            less = unit in ("s", "")
            yield Measure(
                workload=subject, metric=metric, value=stat.mean * factor, unit=unit, judged=False,
                better="less" if less else "more",
            )  # fmt: skip


def averages(tables: Mapping[str, Mapping[str, Mapping[str, Stat]]]) -> list[Contradiction]:
    """A printed average outside what the rows range over: rows are missing."""
    found = []
    for activity, subjects in tables.items():
        for subject, columns in subjects.items():
            for column, stat in columns.items():
                if stat.average is None or stat.count < 2 or not _CPU.get(_bare(column)):
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
