"""prmon: the time series (tab-separated text) and the JSON summary of a job's memory, I/O and CPU.

Memory in kB of the kernel (1024 bytes), I/O and network in bytes and cumulative, times in whole seconds and
cumulative. The JSON averages of 3.2.0 for I/O and network are a hundred times the true rate (138 of 138 summaries
looked at), so rates are recomputed: last value ÷ wall time.
"""

from array import array
from collections.abc import Iterable, Iterator
from itertools import islice, pairwise
from operator import gt
from statistics import median

import msgspec

from hostdx.probes.imports import json_text
from hostdx.probes.imports.dates import epoch_to_iso
from hostdx.probes.imports.json_text import mapping_or_empty, numeric_members
from hostdx.probes.imports.model import (
    Contradiction,
    ImportedMeasure,
    ImportRefusedError,
    ImportResult,
    ImportTrouble,
    MissingValue,
    compare_claim,
    make_facts,
    make_measures,
    make_troubles,
    points_to_draw,
)
from hostdx.probes.imports.numbers import KIB, is_claim_close, parse_column, parse_number, parse_truncated
from hostdx.probes.imports.sample_series import SampleClock, SampleSeries
from hostdx.probes.imports.source import ImportSource

CUMULATIVE = ("utime", "stime", "rchar", "read_bytes", "wchar", "write_bytes", "rx_bytes", "tx_bytes")
CURRENT = ("pss", "rss", "swap", "vmem", "nprocs", "nthreads", "gpufbmem", "ngpus")
_MEMORY = ("pss", "rss", "swap", "vmem")
_IO = CUMULATIVE[2:]
_MAX_ROWS = 10_000_000
_POINTS = 600  # rows kept for the drawing
_MAX_COLUMNS = 200
_MAX_SAMPLES = 1_000_000  # of a longer file no series are kept
_SAMPLED = ("Time", "utime", "stime", "rchar", "wchar", "pss")
_DRAWN = {
    ("job", "CPUs used"): "CPU", ("job", "memory used"): "PSS", ("job", "read calls"): "read calls",
    ("job", "write calls"): "write calls",
}  # fmt: skip


class PrmonColumn(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Of a current value `max` and `avg` (over the samples, as prmon does); of a cumulative one `last`, `per_s`."""

    max: float = 0.0
    avg: float = 0.0
    last: float = 0.0
    per_s: float | None = None
    decreases: int = 0


class PrmonText(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    wall_s: float = 0.0
    values: dict[str, PrmonColumn] = {}


class PrmonJson(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`max` as printed."""

    wall_s: float
    max: dict[str, float] = {}


def parse_prmon_text(source: ImportSource) -> ImportResult:
    lines = source.read_lines()
    columns = tuple(name.strip() for name in next(lines).split("\t"))[:_MAX_COLUMNS]
    if "Time" not in columns or "wtime" not in columns:
        raise ImportRefusedError(
            "prmon: its first line names no Time and wtime", "import the series from its first line on"
        )
    table = _PrmonTable(columns)
    while table.rows < _MAX_ROWS and (batch := list(islice(lines, 10_000))):
        if not table.add_all(batch):
            for line in filter(str.strip, batch):
                table.add(line)
    if not table.rows:
        raise ImportRefusedError(
            "prmon: a header and no sample", "the job ended before the first sample: import another run"
        )
    detail, all_series = table.make_detail(), tuple(table.make_series())
    wall = detail.wall_s
    troubles = make_troubles(
        ("prmon.malformed", table.malformed), ("prmon.time-goes-back", not table.is_in_order)
    )
    troubles += [
        ImportTrouble(id="prmon.counter-decreases", subject=name, said=str(v.decreases))
        for name, v in detail.values.items()
        if v.decreases
    ]
    troubles += make_troubles(("prmon.no-duration", wall <= 0 and table.rows))
    measures = _job_measures(
        {n: v.max for n, v in detail.values.items()}, {n: v.avg for n, v in detail.values.items()},
        {n: v.per_s for n, v in detail.values.items() if v.per_s is not None}, wall,
    )  # fmt: skip
    missing = tuple(
        MissingValue(name=n, reason="no such column in this version of prmon")
        for n in ("nprocs", "nthreads")
        if n not in columns
    )
    return ImportResult(
        kind="prmon-text", tool="prmon", began=epoch_to_iso(table.first_time - wall if wall else table.first_time),
        seconds=wall, measures=tuple(measures), missing=missing, troubles=tuple(troubles),
        points=tuple(points_to_draw(all_series, _DRAWN, _POINTS)), series=all_series, times=table.clock.times(),
        recomputed=("rates from the last value and the wall time",), detail=detail,
    )  # fmt: skip


class _PrmonTable:
    """The running sums of the columns, and the samples of those that are judged over time or drawn."""

    def __init__(self, columns: tuple[str, ...]) -> None:
        self.columns = columns
        self.index = {name: i for i, name in enumerate(columns)}
        self.rows = self.malformed = 0
        self._known_columns = [n for n in (*CURRENT, *CUMULATIVE) if n in self.index]
        self._values: dict[str, PrmonColumn] = {}  # `avg` is a sum until `make_detail`
        self.first_time = self._wall = 0.0
        self.is_in_order = True
        self._sampled: dict[str, array[float]] = {n: array("d") for n in _SAMPLED if n in self.index}
        self.clock = SampleClock()

    def add(self, line: str) -> None:
        fields = line.split("\t")[: len(self.columns)]
        if not all(parse_number(field) is not None for field in fields) or not self.add_all(
            ["\t".join(fields)]
        ):
            self.malformed += 1

    def add_all(self, lines: list[str]) -> bool:
        """Many samples at once; False where one of them is not as the others."""
        try:
            columns = list(zip(*(line.split("\t") for line in lines), strict=True))
            by_name = dict(zip(self.columns, map(parse_column, columns), strict=True))
        except ValueError:
            return False
        wall = by_name["wtime"]
        if not self.rows:
            self.first_time = by_name["Time"][0]
        self.is_in_order = self.is_in_order and wall[0] >= self._wall and not any(map(gt, wall, wall[1:]))
        self._wall = max(self._wall, max(wall))
        for name in self._known_columns:
            values = by_name[name]
            column = self._values.setdefault(name, PrmonColumn(max=values[0], last=values[0]))
            if name in CUMULATIVE:
                column.decreases += sum(map(gt, values, values[1:])) + (values[0] < column.last)
            column.last = values[-1]
            column.max = max(column.max, max(values))
            column.avg += sum(values)
        if self.rows + len(lines) <= _MAX_SAMPLES:
            for name, kept in self._sampled.items():
                kept.extend(by_name[name])
        self.rows += len(lines)
        return True

    def make_series(self) -> Iterator[SampleSeries]:
        """Yield what the job did between two rows, with the rows' clock times; a row that is no later is left out.

        `unused CPU share`: of the CPU time that the job uses at other times, its median.
        """
        rows: list[int] = []
        for row, time_s in enumerate(self._sampled["Time"]):
            if not rows or time_s > self._sampled["Time"][rows[-1]]:
                rows.append(row)
        rising_values = {name: [values[row] for row in rows] for name, values in self._sampled.items()}
        steps_s = [after - before for before, after in pairwise(rising_values["Time"])]
        at_s = array("d", (self.clock.read_epoch(time_s) or 0.0 for time_s in rising_values["Time"]))[1:]
        if self.rows > _MAX_SAMPLES or not steps_s:
            return

        def make(metric: str, unit: str, values: Iterable[float]) -> SampleSeries:
            return SampleSeries(subject="job", metric=metric, unit=unit, at_s=at_s, values=array("d", values))

        rates = {
            name: [max(0.0, b - a) / s for (a, b), s in zip(pairwise(values), steps_s, strict=True)]
            for name, values in rising_values.items()
        }
        if "utime" in rising_values and "stime" in rising_values:
            cores = list(map(sum, zip(rates["utime"], rates["stime"], strict=True)))
            yield make("CPUs used", "cores", cores)
            if (usual := median(cores)) > 0:
                yield make("unused CPU share", "", (max(0.0, 1 - used / usual) for used in cores))
        for name, metric in (("rchar", "read calls"), ("wchar", "write calls")):
            if name in rising_values:
                yield make(metric, "B/s", rates[name])
        if "pss" in rising_values:
            yield make("memory used", "B", (value * KIB for value in rising_values["pss"][1:]))

    def make_detail(self) -> PrmonText:
        wall = self._wall
        for name, column in self._values.items():
            column.avg /= self.rows
            column.per_s = column.last / wall if wall > 0 and name in CUMULATIVE else None
        return PrmonText(wall_s=wall, values=self._values)


def parse_prmon_json(source: ImportSource) -> ImportResult:
    document = json_text.decode_untyped(source.data, "prmon")
    top = mapping_or_empty(document)
    most, mean = numeric_members(top.get("Max")), numeric_members(top.get("Avg"))
    if "wtime" not in most or not mean:
        raise ImportRefusedError(
            'prmon: no "Max" with "wtime" and "Avg" in it', "import prmon's JSON summary"
        )
    wall = most["wtime"]
    rates = {n: most[n] / wall for n in _IO if n in most and wall > 0}
    over = {n: mean[n] / rates[n] for n in rates if n in mean and rates[n] > 0}
    cpu = mapping_or_empty(mapping_or_empty(top.get("HW")).get("cpu"))
    tool = mapping_or_empty(top.get("prmon"))
    version = str(tool["Version"])[:40] if "Version" in tool else None
    model = str(cpu["ModelName"])[:200] if cpu.get("ModelName") else None
    contradictions = [
        Contradiction(
            id="prmon.hundredfold" if is_claim_close(ratio, 100, 0.01) else "prmon.average", subject=name,
            claimed=mean[name], recomputed=rates[name], unit="B/s", rule="Max ÷ wall time",
        )
        for name, ratio in over.items()
        # the average is of whole bytes and wtime of whole seconds
        if not is_claim_close(mean[name], rates[name], 1.0 / max(wall, 1.0) + 0.01, 1.0)
    ]  # fmt: skip
    facts = make_facts(
        ("model", model),
        ("threads", parse_truncated(cpu.get("CPUs"))),
        ("sockets", parse_truncated(cpu.get("Sockets"))),
        ("threads per core", parse_truncated(cpu.get("ThreadsPerCore"))),
        subject="cpu",
    )
    return ImportResult(
        kind="prmon-json",
        tool="prmon",
        version=version,
        seconds=wall,
        facts=tuple(facts),
        measures=tuple(_job_measures(most, mean, rates, wall)),
        contradictions=tuple(contradictions),
        troubles=tuple(make_troubles(("prmon.no-duration", wall <= 0))),
        recomputed=("I/O rates from the maximum and the wall time",),
        detail=PrmonJson(wall_s=wall, max=most),
    )


def compare_text_with_summary(text: PrmonText, summary: PrmonJson) -> list[Contradiction]:
    """A .json beside a .txt of the same name can be of another run: wall time and maxima tell."""
    claims = [("wall time", summary.wall_s, text.wall_s, "s", 1.5, 0.02)]
    for name in ("pss", "rss"):
        if name in summary.max and name in text.values:
            claims.append((name, summary.max[name] * KIB, text.values[name].max * KIB, "B", 4096.0, 0.02))
    for name in ("rchar", "wchar"):
        if name in summary.max and name in text.values:
            claims.append((name, summary.max[name], text.values[name].last, "B", 65536.0, 0.1))
    return [
        contradiction
        for name, claimed, gives, unit, absolute, relative in claims
        for contradiction in compare_claim(
            "prmon.other-run", name, claimed, gives, "the text series", relative, absolute, unit=unit
        )
    ]


def _job_measures(
    maximum: dict[str, float], mean: dict[str, float], rates: dict[str, float], wall: float
) -> list[ImportedMeasure]:
    cpu = maximum.get("utime", 0.0) + maximum.get("stime", 0.0) if "utime" in maximum else None
    measures = make_measures(
        "job", ("wall time", wall, "s"), ("CPU time", cpu, "s"), better="less", seconds=wall
    )
    for name in _MEMORY:
        both = (("max", maximum.get(name)), ("mean", mean.get(name)))
        sizes = ((f"{statistic} {name}", kib and kib * KIB, "B") for statistic, kib in both)
        measures += make_measures("job", *sizes, better="less", seconds=wall, judged=name == "pss")
    rate_entries = ((f"{name} rate", rates.get(name), "B/s") for name in _IO)
    measures += make_measures("job", *rate_entries, seconds=wall, judged=False)
    return measures
