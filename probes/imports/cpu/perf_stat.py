"""`perf stat`: `-j` (one JSON object a line), `-x,` and the normal text: counts summed over the intervals.

A counter can be "<not counted>" or "<not supported>"; other locales print a decimal comma; lines without a counter
hold a metric only; the measured command's own output may stand before them. An ordinary user's events end in ":u", and
on a hybrid CPU each kind of core has events of its own: `cpu_core/cycles/`.
"""

import csv
import re
from collections.abc import Callable, Iterator
from typing import Literal, NamedTuple, TypeAlias

import msgspec

from hostdx.probes.imports.model import (
    ImportedMeasure,
    ImportRefusedError,
    ImportResult,
    ImportTrouble,
    MissingValue,
    join_repetitions_or_number_runs,
    make_measures,
    make_troubles,
)
from hostdx.probes.imports.numbers import parse_number
from hostdx.probes.imports.source import ImportSource
from hostdx.probes.types import Json

_CSV = re.compile(r"^\s*(?:\d+[.,]\d+;|\d+\.\d+,)?\s*(?:[\d.,]+|<not (?:counted|supported)>)[,;]")
_TEXT = re.compile(
    r"^\s+(\d[\d.,\s\u202f\u00a0']*|<not (?:counted|supported)>)\s+(?:(msec|Joules|ns|%|MiB|C)\s+)?"
    r"([A-Za-z][\w./:=,-]{0,100})(?=\s|$)(?:.*\(\s*([\d.,]+)%\))?"
)
_ELAPSED = re.compile(r"^\s+(\d[\d.,\s\u202f\u00a0]*)\s+seconds time elapsed")
_BEGINS = b"Performance counter stats for"
_EVENT = re.compile(r"^(?:([\w-]+)/)?([\w.-]+?)/?(?::[ukhGHpPSDIe]+)?$")
_KNOWN = ("task-clock", "cycles", "instructions", "context-switches", "page-faults", "branches")
_MAX_EVENTS = 2000
_MAX_LINE_START = 200  # what a line begins with tells the kind
_MAX_PLACES = 1_000_000  # of events without times
_MAX_RUNS = 1000
_UNITS = {"msec": ("s", 1e-3), "Joules": ("J", 1.0), "ns": ("s", 1e-9)}
_UNITS_OF = {"task-clock": "msec", "cpu-clock": "msec"}  # where the line does not say
_Better: TypeAlias = Literal["more", "less"]
_RATIOS: tuple[tuple[str, str, str, _Better], ...] = (
    ("instructions per cycle", "instructions", "cycles", "more"),
    ("branch misses per branch", "branch-misses", "branches", "less"),
    ("cache misses per reference", "cache-misses", "cache-references", "less"),
)


class _PerfLine(msgspec.Struct):
    interval: Json = None
    value: Json = msgspec.field(name="counter-value", default=None)
    event: Json = None
    unit: Json = None
    running: Json = msgspec.field(name="pcnt-running", default=None)
    # -A, --per-socket and their like: of each event a line for each of these
    cpu: Json = None
    core: Json = None
    die: Json = None
    socket: Json = None
    node: Json = None
    thread: Json = None

    @property
    def place(self) -> str:
        return str((self.cpu, self.core, self.die, self.socket, self.node, self.thread))


class _PerfCount(NamedTuple):
    event: str
    value: float | None
    unit: str = ""
    running: float | None = None
    at_s: float | None = None
    place: str = ""


class _PerfCounts:
    """The counts of one run, summed over its intervals, as printed (task-clock in ms).

    None in `totals`: not supported or not counted in any interval.
    """

    def __init__(self) -> None:
        self.totals: dict[str, float | None] = {}
        self.units: dict[str, str] = {}
        self.running: dict[str, float] = {}
        self.elapsed_s: float | None = None
        self.last_s = 0.0  # the end of the last interval; 0 without intervals
        self._without_time: set[tuple[str, str]] = set()

    def is_before(self, count: _PerfCount) -> bool:
        """Return whether the count is of a later run: its time begins anew, or without times it comes again."""
        if count.at_s is not None:
            return count.at_s < self.last_s
        return (count.event, count.place) in self._without_time

    def add(self, count: _PerfCount) -> None:
        name = count.event[:120]
        if count.at_s is not None:
            self.last_s = count.at_s
        elif len(self._without_time) < _MAX_PLACES:
            self._without_time.add((count.event, count.place))
        if name not in self.totals and len(self.totals) >= _MAX_EVENTS:
            return
        before = self.totals.get(name)
        self.totals[name] = before if count.value is None else (before or 0.0) + count.value
        self.units[name] = count.unit
        if count.value is not None and count.running is not None:
            self.running[name] = min(self.running.get(name, count.running), count.running)


class _PerfRuns:
    """The counts of each call of perf in one file (`--append`), and how many lines are damaged."""

    def __init__(self) -> None:
        self.runs = [_PerfCounts()]
        self.bad = 0

    def add(self, count: _PerfCount) -> None:
        if self.runs[-1].is_before(count) and len(self.runs) < _MAX_RUNS:
            self.runs.append(_PerfCounts())
        self.runs[-1].add(count)


def is_perf_csv(source: ImportSource) -> bool:
    lines = [line.decode("latin-1") for line in source.head.split(b"\n", 60)[:60]]
    hits = [line for line in lines if _CSV.match(line[:_MAX_LINE_START])]
    return len(hits) >= 2 and any(name in line for line in hits for name in _KNOWN)


def parse_perf_json(source: ImportSource) -> ImportResult:
    return _import_counts("perf-json", source, _json_counts)


def parse_perf_csv(source: ImportSource) -> ImportResult:
    return _import_counts("perf-csv", source, _csv_counts)


def parse_perf_text(source: ImportSource) -> ImportResult:
    return _import_counts("perf-text", source, _text_counts)


def _json_counts(source: ImportSource, calls: _PerfRuns) -> Iterator[_PerfCount]:
    """Yield the counts, and add to `calls` only how many lines are damaged."""
    decoder = msgspec.json.Decoder(_PerfLine)
    for line in source.read_lines():
        text = line.strip().rstrip(",")
        if not text.startswith("{"):
            continue
        try:
            item = decoder.decode(text.encode("utf-8", "backslashreplace"))
        except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
            calls.bad += 1
            continue
        if isinstance(item.event, str) and item.value is not None:
            unit = item.unit if isinstance(item.unit, str) else ""
            at_s = _parse_point_or_comma(item.interval)
            share = parse_number(item.running)
            yield _PerfCount(item.event, _parse_point_or_comma(item.value), unit, share, at_s, item.place)


def _csv_counts(source: ImportSource, _: _PerfRuns) -> Iterator[_PerfCount]:
    for line in source.read_lines():
        if not _CSV.match(line):
            continue
        separator = ";" if ";" in line else ","
        try:
            fields = [f.strip() for f in next(csv.reader([line], delimiter=separator))]
        except (csv.Error, StopIteration):
            continue
        # -I puts the time first; then value, unit, event, run time, share of it
        at_s = None
        timed = len(fields) > 4 and _is_value_or_missing(fields[1]) and not _is_value_or_missing(fields[2])
        if timed and parse_number(fields[0]) is not None:
            at_s, fields = parse_number(fields[0]) if fields[3] else None, fields[1:]
        if len(fields) > 2 and fields[2]:
            running = _parse_point_or_comma(fields[4]) if len(fields) > 4 else None
            yield _PerfCount(fields[2], _parse_point_or_comma(fields[0]), fields[1], running, at_s)


def _text_counts(source: ImportSource, calls: _PerfRuns) -> Iterator[_PerfCount]:
    begun = False
    for line in source.read_lines():
        begun = begun or _BEGINS.decode() in line
        if begun and (match := _ELAPSED.match(line)):
            calls.runs[-1].elapsed_s = _parse_grouped_digits(match[1])
        elif begun and (match := _TEXT.match(line)) and not line.rstrip().endswith((" user", " sys")):
            yield _PerfCount(
                match[3],
                _parse_grouped_digits(match[1], has_no_decimals=not match[2]),
                match[2] or "",
                _parse_point_or_comma(match[4]),
            )


def _parse_grouped_digits(text: str, *, has_no_decimals: bool = False) -> float | None:
    """`1,234,567`, `7 397,74`, `1.234.567` and `9,658.05`: a mark that comes twice, or before another, groups digits.

    A count has no decimals: its only mark groups digits, too.
    """
    digits = re.sub(r"[^\d.,]", "", text)
    marks = [mark for mark in digits if mark in ".,"]
    if len(set(marks)) == 1 and (len(marks) > 1 or has_no_decimals):
        return parse_number(digits.replace(marks[0], ""))
    integer_part, mark, decimals = digits.rpartition(marks[-1]) if marks else (digits, "", "")
    return parse_number(re.sub(r"[.,]", "", integer_part) + (f".{decimals}" if mark else ""))


def _is_value_or_missing(text: str) -> bool:
    return _parse_point_or_comma(text) is not None or text.startswith("<not ")


def _parse_point_or_comma(value: Json) -> float | None:
    is_comma = isinstance(value, str) and value.count(",") == 1
    return parse_number(value.replace(",", ".") if is_comma and isinstance(value, str) else value)


def _split_pmu_and_event(event: str) -> tuple[str, str]:
    """`cpu_core/cycles/` → ("cpu_core", "cycles"); `cycles:u` → ("", "cycles"); what has another form stays whole."""
    match = _EVENT.match(event)
    return (match[1] or "", match[2]) if match else ("", event)


def _import_counts(
    kind: str, source: ImportSource, read_counts: Callable[[ImportSource, _PerfRuns], Iterator[_PerfCount]]
) -> ImportResult:
    """`read_counts`: yields the counts of the file, and tells `_PerfRuns` of damaged lines."""
    every = _PerfRuns()
    for count in read_counts(source, every):
        every.add(count)
    runs, counts = every.runs, every.runs[-1]
    if not any(v is not None for run in runs for v in run.totals.values()):
        raise ImportRefusedError(
            "perf stat: no event was counted", "run it where the counters are available, or as root"
        )
    shared = {e: r for e, r in counts.running.items() if r < 99.5}
    troubles = [
        ImportTrouble(id="perf.multiplexed", subject=e, said=f"{r:g}") for e, r in list(shared.items())[:20]
    ]
    troubles += make_troubles(("perf.bad-lines", every.bad))
    return ImportResult(
        kind=kind, tool="perf stat", seconds=counts.last_s or counts.elapsed_s,
        measures=tuple(join_repetitions_or_number_runs([[*_count_and_power_measures(run),
        *_ratio_measures(run.totals)] for run in runs])),
        troubles=tuple(troubles),
        missing=tuple(
            MissingValue(name=e, reason="not supported or not counted") for e, v in counts.totals.items() if v is None
        ),
        recomputed=("totals over the intervals", "ratios from the counts"),
    )  # fmt: skip


def _count_and_power_measures(counts: _PerfCounts) -> Iterator[ImportedMeasure]:
    """Every count, and the mean power of every energy."""
    for event, value in counts.totals.items():
        if value is None:
            continue
        printed = counts.units[event] or _UNITS_OF.get(_split_pmu_and_event(event)[1], "")
        unit, factor = _UNITS.get(printed, ("", 1.0))
        power = value / counts.elapsed_s if unit == "J" and counts.elapsed_s else None
        yield from make_measures(
            "perf stat",
            (event, value * factor, unit),
            (f"{event} power", power, "W"),
            better="less",
            judged=False,
        )


def _ratio_measures(totals: dict[str, float | None]) -> Iterator[ImportedMeasure]:
    """For each kind of core; its name is told where there are several."""
    cores: dict[str, dict[str, float]] = {}
    for event, value in totals.items():
        core, name = _split_pmu_and_event(event)
        if value is not None:
            cores.setdefault(core, {}).setdefault(name, value)
    counted = {
        core: events
        for core, events in cores.items()
        if any(a in events and events.get(b) for _, a, b, _ in _RATIOS)
    }
    for core, events in counted.items():
        for name, above, below, better in _RATIOS:
            if above in events and events.get(below):
                metric = f"{name} ({core})" if len(counted) > 1 and core else name
                value = events[above] / events[below]
                yield ImportedMeasure(
                    workload="perf stat", metric=metric, value=value, unit="", better=better
                )
