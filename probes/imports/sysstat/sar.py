"""sar and mpstat as text: activities follow one another, headings repeat, averages at the end.

12- or 24-hour clock, decimal point or comma, date by locale: columns are read by the name in their heading. "all"
also stands in front of MHz (sar -m): the heading decides.
"""

import re

from hostdx.probes.imports.model import ImportRefusedError, ImportResult
from hostdx.probes.imports.numbers import parse_column
from hostdx.probes.imports.sample_series import SampleClock
from hostdx.probes.imports.source import ImportSource
from hostdx.probes.imports.sysstat.sysstat_table import (
    SysstatFile,
    SysstatHeader,
    SysstatTables,
    float_fields,
    make_result,
    parse_header,
)

_TIME = re.compile(r"^(?:(\d\d:\d\d:\d\d(?: [AP]M)?)|[^\W\d]\w*[.\s\u00a0]{0,2}:)\s+(.*)$")
_KEYS = {
    "CPU": "", "DEV": "disk:", "IFACE": "net:", "INTR": "irq:", "TTY": "tty:", "FAN": "fan:", "TEMP": "temp:",
    "IN": "in:", "BUS": "usb:",
}  # fmt: skip
_MAX_WAITING_ROWS = 10_000  # rows


def is_sar_output(source: ImportSource) -> bool:
    lines = source.head.split(b"\n", 40)
    begins = any(b" CPU)" in line and b"(" in line for line in lines[:3])
    return begins and any(_TIME.match(line.decode("latin-1")) for line in lines[1:])


def parse_sar(source: ImportSource) -> ImportResult:
    reader = _SarReader()
    for line in source.read_lines():
        reader.read(line)
    reader.read_waiting()
    head = reader.header
    if head is None:
        raise ImportRefusedError(
            "sar: no header line with the host and its CPUs", "import the output from its first line on"
        )
    cpu = reader.tables.tables.get("CPU", {}).get("all", {})
    samples = max((s.count for s in cpu.values()), default=0)
    detail = SysstatFile(
        tool="sar", header=head, samples=samples or max(reader.rows.values(), default=0),
        restarts=reader.restarts, tables=reader.tables.tables,
    )  # fmt: skip
    return make_result(detail, reader.tables, reader.clock.times())


class _SarReader:
    def __init__(self) -> None:
        self.header: SysstatHeader | None = None
        self.tables = SysstatTables()
        self.rows: dict[str, int] = {}
        self.restarts = 0
        self._columns: list[str] = []
        self._activity = ""
        self._prefix: str | None = None
        self._waiting: list[str] = []
        self._fresh = True  # the next line with a time is a heading
        self.clock = SampleClock()

    def read(self, line: str) -> None:
        """Rows under a heading wait for what follows them, and are read at once."""
        if line[2:3] == ":" and not self._fresh and len(self._waiting) < _MAX_WAITING_ROWS:
            self._waiting.append(line)
            return
        self.read_waiting()
        self._read_line(line)

    def read_waiting(self) -> None:
        waiting, self._waiting = self._waiting, []
        if waiting and not self._read_alike_lines(waiting):
            for line in waiting:
                self._read_line(line)

    def _read_alike_lines(self, lines: list[str]) -> bool:
        """False where they are not all alike."""
        has_subject = self._prefix is not None
        try:
            columns = list(zip(*map(str.split, lines), strict=True))
            has_half = columns[1][0] in ("AM", "PM")
            texts = [" ".join(pair) for pair in zip(*columns[:2], strict=True)] if has_half else columns[0]
            body = columns[2 if has_half else 1 :]
            subjects = body[0] if has_subject else ("",) * len(lines)
            values = {
                n: parse_column(c)
                for n, c in zip(self._columns[has_subject:], body[has_subject:], strict=True)
            }
        except (ValueError, IndexError):
            return False
        if len(body) != len(self._columns) or (times := self.clock.read_all(texts, self._activity)) is None:
            return False
        places: dict[str, list[int]] = {}
        for place, subject in enumerate(subjects):
            places.setdefault(subject, []).append(place)
        for subject, own in places.items():
            name = subject if subject in ("", "all") else f"{self._prefix or 'cpu:'}{subject[:120]}"
            each = {n: [v[place] for place in own] for n, v in values.items()} if len(places) > 1 else values
            self.tables.add_columns(self._activity, name, each, [times[place] for place in own])
        host_rows = len(places.get("all" if has_subject else "", ()))
        self.rows[self._activity] = self.rows.get(self._activity, 0) + host_rows
        return True

    def _read_line(self, line: str) -> None:
        if not line.strip():
            self._fresh = True
            return
        if self.header is None:
            self.header = parse_header(line)
            self.clock.date = self.header.date if self.header is not None else None
            return
        match = _TIME.match(line)
        if match is None:
            return
        rest = match[2]
        if not rest.split():
            return
        if "LINUX RESTART" in rest:
            self.restarts += 1
            self._fresh = True
        elif self._fresh or (self._columns and rest.split() == self._columns):
            self._read_heading(rest)
            self._fresh = False
        else:
            self._add_row(rest, match)

    def _read_heading(self, rest: str) -> None:
        self._columns = rest.split()[:200]
        first = self._columns[0]
        self._prefix = _KEYS.get(first)
        second = self._columns[1] if len(self._columns) > 1 else ""
        self._activity = first
        if first == "CPU" and not second.startswith("%"):
            self._activity = f"CPU {second}"  # MHz, interrupts: "all" is no utilisation there
        elif first in ("IFACE", "TTY") or self._prefix is None:
            self._activity = f"{first} {second}".strip()

    def _add_row(self, rest: str, match: re.Match[str]) -> None:
        fields = rest.split()
        subject, columns, values = "", self._columns, fields
        if self._prefix is not None and fields:
            subject = "all" if fields[0] == "all" else f"{self._prefix or 'cpu:'}{fields[0][:120]}"
            columns, values = columns[1:], fields[1:]
        elif columns and columns[-1] == "FILESYSTEM" and len(fields) == len(columns):
            subject, columns, values = f"fs:{fields[-1][:200]}", columns[:-1], fields[:-1]
        if len(values) < len(columns):
            return
        read = float_fields(dict(zip(columns, values, strict=False)))
        if match[1] is None:
            self.tables.add_averages(self._activity, subject, read)
            return
        self.tables.add(self._activity, subject, read, self.clock.read(match[1], self._activity))
        self.rows[self._activity] = self.rows.get(self._activity, 0) + (subject in ("", "all"))
