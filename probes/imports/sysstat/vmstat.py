"""`vmstat N`, narrow or wide, with or without time stamps. The first row is the mean since boot."""

from hostdx.probes.imports.model import ImportRefusedError, ImportResult
from hostdx.probes.imports.numbers import parse_column
from hostdx.probes.imports.sample_series import SampleClock
from hostdx.probes.imports.source import ImportSource
from hostdx.probes.imports.sysstat.sysstat_table import SysstatFile, SysstatTables, float_fields, make_result

_COLUMNS = ("r", "b", "si", "so", "us", "sy", "id")


def is_vmstat_output(source: ImportSource) -> bool:
    lines = source.head.split(b"\n", 4)[:4]
    return any(_is_heading(line.decode("latin-1").split()) for line in lines)


def _is_heading(fields: list[str]) -> bool:
    return fields[:2] == ["r", "b"] and all(name in fields for name in _COLUMNS)


def parse_vmstat(source: ImportSource) -> ImportResult:
    reader = _VmstatReader()
    for batch in source.read_batches():
        if reader.rows < 2 or not reader.read_all(batch):
            for line in batch:
                reader.read(line)
    if not reader.rows:
        raise ImportRefusedError("vmstat: a heading and no row", "import a longer recording")
    detail = SysstatFile(tool="vmstat", samples=reader.rows, tables=reader.tables.tables)
    return make_result(detail, reader.tables, reader.clock.times(reader.zone), since_boot=reader.rows == 1)


class _VmstatReader:
    def __init__(self) -> None:
        self.tables = SysstatTables()
        self.columns: list[str] = []
        self.rows = 0
        self.clock = SampleClock()
        self.zone = ""
        self._other: set[str] = set()  # lines that are no rows: the headings come again and again

    def read(self, line: str) -> None:
        fields = line.split()
        if _is_heading(fields):
            columns = [f for f in fields if f.islower()][:60]  # without the time zone that -t puts there
            self._other = self._other | {line} if columns == self.columns else {line}
            self.columns = columns
            self.zone = fields[-1] if fields[-1].isupper() else ""
        elif self.columns and len(fields) >= len(self.columns) and fields[0].isdecimal():
            values = float_fields(dict(zip(self.columns, fields, strict=False)))
            if len(values) < len(self.columns):
                return
            if self.rows == 1:
                self.tables.forget_since_boot()
            at_s = self.clock.read(" ".join(fields[len(self.columns) :]))
            self.tables.add("vmstat", "cpu", values, float(self.rows) if at_s is None else at_s)
            self.rows += 1
        elif line.startswith("procs ") and len(self._other) < 100:
            self._other.add(line)

    def read_all(self, lines: list[str]) -> bool:
        """Rows and headings as before, at once; False where anything else is among them."""
        rows = [line.split() for line in lines if line not in self._other]
        try:
            all_columns = list(zip(*rows, strict=True))
            columns, stamps = all_columns[: len(self.columns)], all_columns[len(self.columns) :]
            values = dict(zip(self.columns, map(parse_column, columns), strict=True))
        except ValueError:
            return False
        times = (
            self.clock.read_all([" ".join(words) for words in zip(*stamps, strict=True)]) if stamps else None
        )
        numbers = [float(self.rows + place) for place in range(len(rows))]
        self.tables.add_columns("vmstat", "cpu", values, times or numbers)
        self.rows += len(rows)
        return True
