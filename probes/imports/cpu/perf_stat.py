"""`perf stat -j` (one JSON object a line) and `perf stat -x,`: counts summed over the intervals.

A counter can be "<not counted>" or "<not supported>"; other locales print a decimal comma; lines without a counter
hold a metric only; the measured command's own output may stand before them.
"""

import csv
import re

import msgspec

from probes.imports.model import Measure, Missing, Refused, Result, Trouble
from probes.imports.numbers import number
from probes.imports.source import Source
from probes.types import Json

_CSV = re.compile(r"^\s*(?:\d+[.,]\d+;|\d+\.\d+,)?\s*(?:[\d.,]+|<not (?:counted|supported)>)[,;]")
_MOST_EVENTS = 2000
_LONGEST = 200  # what a line begins with tells the kind
_TIMES_MS = ("task-clock", "cpu-clock")


class _Line(msgspec.Struct):
    interval: Json = None
    value: Json = msgspec.field(name="counter-value", default=None)
    event: Json = None
    unit: Json = None
    running: Json = msgspec.field(name="pcnt-running", default=None)


class PerfStat(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`totals` as printed (task-clock in ms); None: not supported or not counted in any interval."""

    lines: int = 0
    bad_lines: int = 0
    intervals: int = 0
    last_interval_s: float | None = None
    totals: dict[str, float | None] = {}
    not_counted: int = 0
    metric_only_lines: int = 0


def json_recognised(source: Source) -> bool:
    return source.has(b'"counter-value"', b'"event"')


def csv_recognised(source: Source) -> bool:
    lines = [line.decode("latin-1") for line in source.head.split(b"\n", 60)[:60]]
    hits = [line for line in lines if _CSV.match(line[:_LONGEST])]
    known = ("task-clock", "cycles", "instructions", "context-switches", "page-faults", "branches")
    return len(hits) >= 2 and any(name in line for line in hits for name in known)


class _Counts:
    def __init__(self) -> None:
        self.totals: dict[str, float | None] = {}
        self.running: dict[str, float] = {}
        self.intervals: set[float] = set()
        self.not_counted = 0

    def add(self, event: str, value: float | None, running: float | None) -> None:
        name = event[:120]
        if name not in self.totals and len(self.totals) >= _MOST_EVENTS:
            return
        before = self.totals.get(name)
        self.totals[name] = before if value is None else (before or 0.0) + value
        if value is None:
            self.not_counted += 1
        elif running is not None:
            self.running[name] = min(self.running.get(name, running), running)


def parse_json(source: Source) -> Result:
    decoder = msgspec.json.Decoder(_Line)
    counts = _Counts()
    lines = bad = metrics = 0
    for line in source.lines():
        text = line.strip().rstrip(",")
        if not text.startswith("{"):
            continue
        lines += 1
        try:
            item = decoder.decode(text.encode("utf-8", "backslashreplace"))
        except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
            bad += 1
            continue
        if not isinstance(item.event, str) or item.value is None:
            metrics += 1
            continue
        at = _decimal(item.interval)
        if at is not None and len(counts.intervals) < 1_000_000:
            counts.intervals.add(at)
        counts.add(item.event, _decimal(item.value), number(item.running))
    return _result("perf-json", counts, lines, bad, metrics)


def parse_csv(source: Source) -> Result:
    counts = _Counts()
    lines = 0
    for line in source.lines():
        if not _CSV.match(line):
            continue
        separator = ";" if ";" in line else ","
        try:
            fields = [f.strip() for f in next(csv.reader([line], delimiter=separator))]
        except (csv.Error, StopIteration):
            continue
        # -I puts the time first; then value, unit, event, run time, share of it
        if (
            len(fields) > 4
            and number(fields[0]) is not None
            and _is_value(fields[1])
            and not _is_value(fields[2])
        ):
            at = number(fields[0])
            if at is not None and len(counts.intervals) < 1_000_000 and fields[3]:
                counts.intervals.add(at)
            fields = fields[1:]
        if len(fields) < 3 or not fields[2]:
            continue
        lines += 1
        counts.add(fields[2], _decimal(fields[0]), _decimal(fields[4]) if len(fields) > 4 else None)
    return _result("perf-csv", counts, lines, 0, 0)


def _is_value(text: str) -> bool:
    return _decimal(text) is not None or text.startswith("<not ")


def _decimal(value: Json) -> float | None:
    return (
        number(value.replace(",", ".")) if isinstance(value, str) and value.count(",") == 1 else number(value)
    )


def _result(kind: str, counts: _Counts, lines: int, bad: int, metrics: int) -> Result:
    totals = counts.totals
    if not any(v is not None for v in totals.values()):
        raise Refused(
            "perf stat: no event was counted", "run it where the counters are available, or as root"
        )
    measures = []
    for event, value in totals.items():
        if value is None:
            continue
        time = event.partition(":")[0] in _TIMES_MS
        measures.append(
            Measure(
                workload="perf stat", metric=event, value=value / 1000 if time else value, unit="s" if time else "",
                better="less", judged=False,
            )
        )  # fmt: skip
    for name, above, below, better in (
        ("instructions per cycle", "instructions", "cycles", "more"),
        ("branch misses per branch", "branch-misses", "branches", "less"),
        ("cache misses per reference", "cache-misses", "cache-references", "less"),
    ):
        top, bottom = totals.get(above), totals.get(below)
        if top is not None and bottom:
            measures.append(
                Measure(
                    workload="perf stat", metric=name, value=top / bottom, unit="",
                    better="more" if better == "more" else "less",
                )
            )  # fmt: skip
    shared = {e: r for e, r in counts.running.items() if r < 99.5}
    troubles = [
        Trouble(id="perf.multiplexed", subject=e, said=f"{r:g}") for e, r in list(shared.items())[:20]
    ]
    if bad:
        troubles.append(Trouble(id="perf.bad-lines", said=str(bad)))
    last = max(counts.intervals, default=None)
    return Result(
        kind=kind, tool="perf stat", seconds=last, measures=tuple(measures), troubles=tuple(troubles),
        missing=tuple(Missing(name=e, reason="not supported or not counted") for e, v in totals.items() if v is None),
        recomputed=("totals over the intervals", "ratios from the counts"),
        detail=PerfStat(
            lines=lines, bad_lines=bad, intervals=len(counts.intervals), last_interval_s=last, totals=totals,
            not_counted=counts.not_counted, metric_only_lines=metrics,
        ),
    )  # fmt: skip
