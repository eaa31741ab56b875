"""Tables of IO500 results, tab-separated: a run a line (the box's four corners), or a run a column (phases), as talks
and papers print them.

`ior_hard_GiBps  ior_easy_GiBps  mdtest_hard_kIOPS  mdtest_easy_kIOPS`, or `phase` and a column a run; in the second
form IOR is GiB/s, everything else kIOPS. Lines that begin with # are comments.
"""

import re

import msgspec

from hostdx.probes.imports.model import ImportedMeasure, ImportRefusedError, ImportResult
from hostdx.probes.imports.numbers import parse_number
from hostdx.probes.imports.source import ImportSource
from hostdx.probes.imports.storage.io500_score import BW, MD, phase_measure

_COLUMN = re.compile(r"^([a-z][\w-]*?)_(GiBps|kIOPS)$")
_MAX_RUNS = 10_000
_MAX_COLUMNS = 100


class Io500Run(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`values`: phase or corner → GiB/s or kIOPS, as in the table."""

    name: str
    values: dict[str, float] = {}


class Io500Table(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`series`: runs of one configuration, one after the other; columns are systems or states of one."""

    series: bool = False
    units: dict[str, str] = {}
    runs: tuple[Io500Run, ...] = ()


def _first_row_of_tabs(source: ImportSource) -> list[str]:
    for line in source.head.split(b"\n", 50)[:50]:
        if line.strip() and not line.startswith(b"#"):
            return line.decode("utf-8", "backslashreplace").rstrip("\r").split("\t")
    return []


def is_io500_table(source: ImportSource) -> bool:
    head = _first_row_of_tabs(source)
    corners = [c for c in head if _COLUMN.match(c)]
    if any("ior" in c for c in corners) and any("mdtest" in c for c in corners):
        return True
    return head[:1] == ["phase"] and len(head) > 1 and b"ior-easy-write" in source.head


def parse_io500_table(source: ImportSource) -> ImportResult:
    rows = [line.split("\t") for line in source.read_lines() if line.strip() and not line.startswith("#")][
        : _MAX_RUNS + 1
    ]
    head = [name.strip() for name in rows[0]] if rows else [""]
    detail = _read_run_a_column(head, rows[1:]) if head[0] == "phase" else _read_run_a_line(head, rows[1:])
    if not any(run.values for run in detail.runs):
        raise ImportRefusedError("IO500 table: no value in it", "give one run a line under the header")
    several = len(detail.runs) > 1
    measures = [
        measure
        for run in detail.runs
        for measure in run_measures(detail, run, f"{run.name}: " if several else "")
    ]
    return ImportResult(kind="io500-table", tool="IO500", measures=tuple(measures), detail=detail)


def run_measures(table: Io500Table, run: Io500Run, prefix: str = "") -> list[ImportedMeasure]:
    return [
        phase_measure(f"{prefix}{phase}", value, bandwidth=table.units[phase] == "GiB/s")
        for phase, value in run.values.items()
    ]


def read_column_results(source: ImportSource) -> dict[str, ImportResult]:
    """A table of phases, each column a result. Raises ImportRefusedError where a line does not fit the head."""
    rows = [line.split("\t") for line in source.read_lines() if line.strip() and not line.startswith("#")]
    if not rows or rows[0][0] != "phase":
        raise ImportRefusedError(
            "is no table of phases", "its first line must be `phase`, a tab, and the columns' names"
        )
    names = [name.strip() for name in rows[0][1:]]
    if not names or len(names) > _MAX_COLUMNS or len(set(names)) < len(names):
        raise ImportRefusedError(
            "the columns have no names of their own", f"one name a column, {_MAX_COLUMNS} at most"
        )
    measures_by_column: dict[str, list[ImportedMeasure]] = {name: [] for name in names}
    for row in rows[1:]:
        if len(row) != len(names) + 1:
            raise ImportRefusedError(
                f"the line of {row[0][:40]} has {len(row) - 1} values", f"{len(names)} are needed"
            )
        for name, text in zip(names, row[1:], strict=True):
            value = parse_number(text)
            if value is not None and value > 0:  # a phase that failed is not measured
                phase = row[0].strip()
                measures_by_column[name].append(
                    phase_measure(phase, value, bandwidth=phase.startswith("ior"))
                )
    return {
        name: ImportResult(kind="table", tool="table", host=name, measures=tuple(measures))
        for name, measures in measures_by_column.items()
    }


def _read_run_a_line(head: list[str], rows: list[list[str]]) -> Io500Table:
    phases_by_column: dict[int, tuple[str, str]] = {}
    for i, column in enumerate(head[:200]):
        if match := _COLUMN.match(column):
            phases_by_column[i] = (match[1].replace("_", "-"), "GiB/s" if match[2] == "GiBps" else "kIOPS")
    runs = []
    for index, row in enumerate(rows):
        values = {
            n: v
            for i, (n, _) in phases_by_column.items()
            if i < len(row) and (v := parse_number(row[i])) is not None
        }
        runs.append(Io500Run(name=f"run {index + 1}", values={n: v for n, v in values.items() if v > 0}))
    return Io500Table(series=True, units=dict(phases_by_column.values()), runs=tuple(runs))


def _read_run_a_column(head: list[str], rows: list[list[str]]) -> Io500Table:
    columns: list[dict[str, float]] = [{} for _ in head[1:_MAX_RUNS]]
    units: dict[str, str] = {}
    for row in rows[:200]:
        phase = row[0].strip().replace("_", "-")
        if phase not in BW and phase not in MD:
            continue
        units[phase] = "GiB/s" if phase in BW else "kIOPS"
        for values, text in zip(columns, row[1:], strict=False):
            value = parse_number(text)
            if value is not None and value > 0:
                values[phase] = value
    runs = [Io500Run(name=name[:80], values=values) for name, values in zip(head[1:], columns, strict=False)]
    return Io500Table(units=units, runs=tuple(runs))
