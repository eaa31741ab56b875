"""`iostat` as text, with or without -x. The first report is the mean since boot; columns are read by name.

Columns changed from sysstat 10 to 12 and follow the options (kB/s, MB/s, blocks), "Device:" became "Device".
"""

from collections.abc import Sequence

from hostdx.probes.imports.model import ImportRefusedError, ImportResult
from hostdx.probes.imports.numbers import parse_number
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

_KB = {"B": 1 / 1024, "k": 1.0, "M": 1024.0, "G": 1024.0**2, "T": 1024.0**3}


def is_iostat_output(source: ImportSource) -> bool:
    """With the header line, or a device table alone: such output is often cut out of a longer one."""
    lines = source.head.split(b"\n")
    tables = [
        line for line in lines if line.startswith((b"Device:", b"Device ")) or line.endswith(b" Device")
    ]
    return any(b"r/s" in line or b"tps" in line for line in tables)


def _parse_with_suffix(column: str, text: str) -> float | None:
    """`5.3k` of a column in kB are 5.3 kB, `1.2M` 1228.8; of another column the number as it is."""
    word = text.removesuffix("%")
    scale = _KB.get(word[-1:]) if "kB" in column or column.endswith("-sz") else None
    value = parse_number(word[:-1] if scale is not None else word)
    return value * (scale or 1.0) if value is not None else None


def _kind_of_table_begun(fields: Sequence[str]) -> str:
    """Return what table begins with this line: "cpu", or the disks' by its first column; "" where none begins."""
    if fields[0] == "avg-cpu:":
        return "cpu"
    if fields[0] in ("Device:", "Device"):
        return "disk"
    return fields[0] if fields[-1] == "Device" and len(fields) > 2 else ""


def parse_iostat(source: ImportSource) -> ImportResult:
    head: SysstatHeader | None = None
    tables = SysstatTables()
    columns: list[str] = []
    cpu_columns: list[str] = []
    table, blocks, cpu_blocks = "", 0, 0
    parts: list[str] = []
    clock, at_s = SampleClock(), None
    # of a later call of iostat in the same file: the tables seen of its first report, which is left out
    since_boot_again: set[str] | None = None
    for line in source.read_lines():
        fields = line.split()
        if since_boot_again is not None and fields and fields[0] != "Linux":
            kind = _kind_of_table_begun(fields)
            if kind not in since_boot_again:
                since_boot_again |= {kind} - {""}
                continue
            since_boot_again = None
        if not fields:
            table = ""
        elif fields[0] == "Linux" and (header := parse_header(line)) is not None:
            since_boot_again = set() if head is not None else None
            head, table = head or header, ""
        elif line[:1].isdecimal() and (stamp := clock.read(line)) is not None:
            at_s, table = stamp, ""
        elif fields[0] == "avg-cpu:":
            cpu_columns, table = fields[1:200], "cpu"
            if cpu_blocks == 1 and blocks <= 1:
                tables.forget_since_boot()
            cpu_blocks += 1
        elif fields[0] in ("Device:", "Device"):
            if blocks == 1 and cpu_blocks == 0:
                tables.forget_since_boot()
            columns, table, blocks = fields[:200], "disk", blocks + 1
        elif table == "cpu":
            values = float_fields(dict(zip(cpu_columns, (f.removesuffix("%") for f in fields), strict=False)))
            tables.add("avg-cpu", "all", values, float(cpu_blocks) if at_s is None else at_s)
            table = ""
        elif fields[-1] == "Device" and len(fields) > 2:  # -h: names last, a table for reads, for writes, …
            columns = fields[:200]
            if fields[0] in ("r/s", "tps", *parts[:1]):
                if blocks == 1 and cpu_blocks == 0:
                    tables.forget_since_boot()
                blocks, parts = blocks + 1, []
            parts.append(fields[0])
            table = "human"
        elif table and len(fields) == len(columns):
            if table == "human":
                device, names, texts = fields[-1], columns[:-1], fields[:-1]
                pairs = zip(names, texts, strict=True)
                values = {c: value for c, text in pairs if (value := _parse_with_suffix(c, text)) is not None}
            else:
                device, values = fields[0], float_fields(dict(zip(columns[1:], fields[1:], strict=True)))
            tables.add("disk", f"disk:{device[:120]}", values, float(blocks) if at_s is None else at_s)
    if not blocks or not tables.tables.get("disk"):
        raise ImportRefusedError(
            "iostat: no device table with values", "import the output from its first line on"
        )
    header = head or SysstatHeader()
    detail = SysstatFile(tool="iostat-text", header=header, samples=blocks, tables=tables.tables)
    return make_result(detail, tables, clock.times(), since_boot=blocks == 1)
