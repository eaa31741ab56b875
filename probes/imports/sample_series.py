"""Samples with their times: which metric of which subject had which value when, and the clock that a file prints; what
each command did over the samples, and what all of them did together.
"""

import math
import re
from array import array
from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Literal

import msgspec

from hostdx.probes.imports.dates import date_to_iso, epoch_to_iso
from hostdx.probes.imports.numbers import parse_number

MAX_SERIES = 1000
MAX_VALUES = 8_000_000  # of all series together; a value and its time take 16 bytes
_DAY_S = 86400
_TIME = re.compile(
    r"^(?:(\S{6,10}(?: [a-z]{3} \d{4})?)[ T])?(\d\d):(\d\d):(\d\d)(?:[.,]\d+)?(?: ?([AP]M))?(?:[+-]\d{4}|Z)?$"
)


class SampleTimes(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the times of a file's samples mean.

    `first` is the clock time of the first sample in ISO 8601, without a date where the file has none, "" where it has
    no clock; `unit` then says that times count samples. `zone`: the time zone as the file names it, "" the host's.
    """

    first: str = ""
    zone: str = ""
    unit: Literal["s", "samples"] = "s"


class SampleSeries(msgspec.Struct, frozen=True, kw_only=True):
    """One metric of one subject. `values[n]` stands for the interval that ends at `at_s[n]`.

    `at_s` counts from the first sample of the file, in `SampleTimes.unit`.
    """

    subject: str
    metric: str
    unit: str
    at_s: "array[float]"
    values: "array[float]"


class BoundedSeries:
    """The series of a file as they are read; their number and length are bounded."""

    def __init__(self) -> None:
        self._series: dict[tuple[str, str], SampleSeries] = {}
        self._values = 0
        self.left_out = 0

    def add(
        self, subject: str, metric: str, unit: str, at_s: Sequence[float], values: Sequence[float]
    ) -> None:
        series = self._series.get((subject, metric))
        if series is not None and at_s and series.at_s[-1:] == array("d", at_s[-1:]):
            return  # a second column of the same meaning (`rd_sec` beside `rkB`)
        if series is None and len(self._series) < MAX_SERIES:
            series = SampleSeries(
                subject=subject, metric=metric, unit=unit, at_s=array("d"), values=array("d")
            )
            self._series[subject, metric] = series
        if series is None or self._values + len(values) > MAX_VALUES:
            self.left_out += len(values)
            return
        self._values += len(values)
        series.at_s.extend(at_s)
        series.values.extend(values)

    def add_value(self, subject: str, metric: str, unit: str, at_s: float, value: float) -> None:
        """As `add`, of one sample."""
        series = self._series.get((subject, metric))
        if series is None or self._values >= MAX_VALUES:
            self.add(subject, metric, unit, (at_s,), (value,))
        elif series.at_s[-1] != at_s:
            self._values += 1
            series.at_s.append(at_s)
            series.values.append(value)

    def clear(self) -> None:
        self._series.clear()
        self._values = 0

    def as_tuple(self) -> tuple[SampleSeries, ...]:
        return tuple(self._series.values())


class SampleClock:
    """Clock times as a file prints them, as seconds since the first one.

    A time of day without a date passes midnight where it goes back within its table. `date` is that of the first
    sample, where the file gives it once.
    """

    def __init__(self, date: str | None = None) -> None:
        self.date = date
        self.first: datetime | None = None
        self.zone = ""
        self._epoch_s = 0.0
        self._has_date = False
        self._last_s: dict[str, float] = {}
        self._days: dict[str, datetime | None] = {}

    def read(self, text: str, table: str = "") -> float | None:
        """`12:00:01`, `12:00:01 AM`, `03/14/19 00:42:24`, `2015-02-19 19:24:20`; None where it is no time."""
        match = _TIME.match(text.strip())
        if match is None:
            return None
        hours = int(match[2]) % 12 + (12 if match[5] == "PM" else 0) if match[5] else int(match[2])
        day = self._date_of_text(match[1] or self.date or "")
        if day is None:
            return None
        when = day + timedelta(hours=hours, minutes=int(match[3]), seconds=int(match[4]))
        if self.first is None:
            self.first = when
        at_s = (when - self.first).total_seconds()
        if match[1] is None:
            at_s += _DAY_S * max(0, math.ceil((self._last_s.get(table, 0.0) - at_s) / _DAY_S))
        self._last_s[table] = at_s
        return at_s

    def read_epoch(self, epoch_s: float) -> float | None:
        """Seconds since 1970, in UTC; None where they are no time of a computer's."""
        first = epoch_to_iso(epoch_s)
        if first is None:
            return None
        if self.first is None:
            self.first, self.zone, self._has_date = (
                datetime.fromisoformat(first.removesuffix("Z")),
                "UTC",
                True,
            )
            self._epoch_s = epoch_s
        return max(0.0, epoch_s - self._epoch_s)

    def _date_of_text(self, text: str) -> datetime | None:
        """Any day where the file names none; None where the text is no date that we know."""
        if text not in self._days:
            day = date_to_iso(text)
            self._has_date = self._has_date or day is not None
            self._days[text] = (
                datetime.fromisoformat(day[:10]) if day else None if text else datetime(2000, 1, 1)
            )
        return self._days[text]

    def read_all(self, texts: Sequence[str], table: str = "") -> list[float] | None:
        """Many in order; one text is the same time wherever it stands next to itself. None where one is no time."""
        all_times: list[float] = []
        last_text, last = "", 0.0
        for text in texts:
            if text != last_text:
                at_s = self.read(text, table)
                if at_s is None:
                    return None
                last_text, last = text, at_s
            all_times.append(last)
        return all_times

    def times(self, zone: str = "") -> SampleTimes:
        """`zone`: as the file names it."""
        if self.first is None:
            return SampleTimes(unit="samples")
        first = self.first.isoformat() if self._has_date else f"{self.first:%H:%M:%S}"
        return SampleTimes(first=first, zone=(zone or self.zone)[:20])


def thin_series(series: SampleSeries, max_points: int) -> list[tuple[float, float]]:
    """Return (time, value) of at most so many stretches of the series: each the mean of its values, at its end."""
    count = len(series.values)
    if count <= max_points:
        return list(zip(series.at_s, series.values, strict=True))
    cuts = [number * count // max_points for number in range(max_points + 1)]
    return [
        (series.at_s[end - 1], sum(series.values[begin:end]) / (end - begin)) for begin, end in pairwise(cuts)
    ]


ALL_PROCESSES, PROCESS_PREFIX = "processes", "process:"
KERNEL_WORKER = "kworker/"
_MAX_COMMANDS = 40  # of a metric: those that did most


class CommandSeriesSums:
    """The processes of one command are summed up; a sample that does not list a command is one of zero."""

    def __init__(self) -> None:
        self.clock = SampleClock()
        self._at_s: list[float] = []
        self._values: dict[tuple[str, str], defaultdict[str, defaultdict[int, float]]] = {}
        self._measuring_and_other_time = ""

    def begin_sample(self, time_text: str) -> float:
        """Return its time; lines of the same text are one sample. A number is of seconds since 1970."""
        if time_text != self._measuring_and_other_time or not self._at_s:
            self._measuring_and_other_time = time_text
            epoch_s = parse_number(time_text)
            at_s = self.clock.read(time_text) if epoch_s is None else self.clock.read_epoch(epoch_s)
            self._at_s.append(float(len(self._at_s)) if at_s is None else at_s)
        return self._at_s[-1]

    def add(self, command: str, metric: str, unit: str, value: float) -> None:
        """Bytes that a worker of the kernel moves (of a loop device, say) count for the process that asked for it."""
        if unit == "B/s" and command.startswith(KERNEL_WORKER):
            return
        values = self._values.setdefault((metric, unit), defaultdict(lambda: defaultdict(float)))
        values[command][len(self._at_s) - 1] += value

    def series(self) -> tuple[SampleSeries, ...]:
        """Those of the commands that did most, and that of all together."""
        table = BoundedSeries()
        for (metric, unit), values_by_command in self._values.items():
            total = array("d", [0.0]) * len(self._at_s)
            sums = {command: sum(values.values()) for command, values in values_by_command.items()}
            for rank, command in enumerate(sorted(sums, key=lambda command: (-sums[command], command))):
                values = array("d", [0.0]) * len(self._at_s)
                for sample, value in values_by_command[command].items():
                    values[sample] = value
                    total[sample] += value
                if rank < _MAX_COMMANDS and any(values):
                    table.add(f"{PROCESS_PREFIX}{command}", metric, unit, self._at_s, values)
            table.add(ALL_PROCESSES, metric, unit, self._at_s, total)
        return table.as_tuple()
