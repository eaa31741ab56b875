"""`vmstat N`, narrow or wide, with or without time stamps. The first row is the mean since boot."""

from __future__ import annotations

from probes.imports.model import Refused, Result
from probes.imports.source import Source
from probes.imports.sysstat_table import Sysstat, Tables, floats, result

_COLUMNS = ("r", "b", "si", "so", "us", "sy", "id")


def recognised(source: Source) -> bool:
    lines = source.head.split(b"\n", 4)[:4]
    return any(_is_heading(line.decode("latin-1").split()) for line in lines)


def _is_heading(fields: list[str]) -> bool:
    return fields[:2] == ["r", "b"] and all(name in fields for name in _COLUMNS)


def parse(source: Source) -> Result:
    tables = Tables()
    columns: list[str] = []
    rows = 0
    for line in source.lines():
        fields = line.split()
        if _is_heading(fields):
            columns = [f for f in fields if f.islower()][:60]  # without the time zone that -t puts there
        elif columns and len(fields) >= len(columns) and fields[0].isdecimal():
            values = floats(dict(zip(columns, fields, strict=False)))
            if len(values) < len(columns):
                continue
            if rows == 1:
                tables.forget()
            tables.add("vmstat", "cpu", values)
            if rows:
                tables.point(float(rows - 1), values)
            rows += 1
    if not rows:
        raise Refused("vmstat: a heading and no row", "import a longer recording")
    detail = Sysstat(
        tool="vmstat", samples=rows, keys=("vmstat",), columns=tuple(columns), tables=tables.tables
    )
    return result(detail, tables, since_boot=rows == 1)
