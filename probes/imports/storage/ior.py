"""IOR: text of 3.0 to 4.x (three table layouts, several runs in one log), its JSON (`-O summaryFormat=json`: `Results`
are nested in 3.3.0, flat in 3.4.0) and its CSV (`summaryFormat=CSV`).

Rates in MiB/s (2^20) in `detail`, sizes in bytes, times in seconds. A run started by the io500 program ends after
the table: that is complete, not cut off.
"""

import re
from collections.abc import Mapping

import msgspec

from hostdx.probes import units
from hostdx.probes.imports import json_text
from hostdx.probes.imports.command_options import neutral_fields, significant_options
from hostdx.probes.imports.dates import date_to_iso
from hostdx.probes.imports.json_text import mapping_or_empty, text_or_number
from hostdx.probes.imports.model import (
    Contradiction,
    ImportedMeasure,
    ImportRefusedError,
    ImportResult,
    Noted,
    compare_claim,
    join_repetitions_or_number_runs,
    make_facts,
    make_measures,
    make_troubles,
)
from hostdx.probes.imports.numbers import (
    MIB,
    parse_byte_size,
    parse_integer,
    parse_number,
    parse_truncated,
)
from hostdx.probes.imports.source import ImportSource
from hostdx.probes.types import Json

_BANNER = re.compile(r"^(?:.{0,40}\s)?IOR-(\S+?): MPI Coordinated")
_OPTION = re.compile(r"^\s*([A-Za-z][\w ./-]*?)\s*[=:]\s*(.*?)\s*$")
_CLIENTS = re.compile(r"^(\d+) \((\d+) per node\)")
_MAX = re.compile(r"^Max (Write|Read):\s+(\S+) MiB/sec")
_STONEWALL = re.compile(r"stonewalling pairs accessed min: (\d+) max: (\d+)")
_INCORRECT = re.compile(r"incorrect data on (?:write|read)", re.IGNORECASE)
OPERATIONS = ("write", "read")
_MAX_RUNS = 10_000
_MAX_ROWS = 10_000
# By field of a row its name in the text and in the CSV.
TEXT_COLUMNS = {"mib_s": "bw(MiB/s)", "iops": "IOPS", "total_s": "total(s)"}


class IorRow(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    op: str
    mib_s: float
    iops: float | None = None
    total_s: float | None = None


def make_row(values: Mapping[str, Json], names: Mapping[str, str]) -> IorRow | None:
    """`names`: of the values, by field. None where the row has no rate or is of another operation."""
    numbers = {field: parse_number(values.get(name)) for field, name in names.items()}
    operation, rate = values.get("access"), numbers.pop("mib_s")
    if rate is None or not isinstance(operation, str) or operation not in OPERATIONS:
        return None
    return IorRow(op=operation, mib_s=rate, **numbers)


class IorRun(msgspec.Struct, kw_only=True, omit_defaults=True):
    """One IOR run. None: not in the file. `aggregate_bytes` is what was planned, rounded as it is printed."""

    version: str
    began: str | None = None
    command: str | None = None
    machine: str | None = None
    api: str | None = None
    access: str | None = None
    tasks: int | None = None
    tasks_per_node: int | None = None
    nodes: int | None = None
    transfer_bytes: int | None = None
    block_bytes: int | None = None
    segments: int | None = None
    aggregate_bytes: int | None = None
    stonewall_s: float | None = None
    rows: list[IorRow] = []
    max: dict[str, float] = {}  # "write": MiB/s, with all its decimals
    max_ops: dict[str, float] = {}
    stonewall_pairs: tuple[int, int] | None = None
    options: dict[str, str] = {}  # what else was asked for, by the name that IOR gives it
    finished: bool = False
    errors: int = 0
    incorrect: bool = False  # its own check found other data than it had written


class IorRuns(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    runs: tuple[IorRun, ...] = ()


def parse_ior(source: ImportSource) -> ImportResult:
    runs: list[IorRun] = []
    reader: _IorReader | None = None
    for line in source.read_lines():
        if banner := _BANNER.match(line):
            if len(runs) >= _MAX_RUNS:
                break
            reader = _IorReader(IorRun(version=banner[1][:40]))
            runs.append(reader.run)
        elif reader is not None:
            reader.read(line)
    return make_result(runs, "ior")


class _IorReader:
    """Reads one run's lines: options, then the table by its header, then the summary."""

    def __init__(self, run: IorRun) -> None:
        self.run = run
        self._columns: list[str] = []
        self._summary: list[str] = []
        self._in_options = False

    def read(self, line: str) -> None:
        text = line.strip()
        run = self.run
        word = text.partition(" ")[0]
        if not run.finished:
            run.errors += "ERROR" in text  # of MPI or of IOR itself
            run.incorrect = run.incorrect or _INCORRECT.search(text) is not None
        if text.rstrip(": ") in ("Options", "Summary", "Results"):
            self._in_options = not text.startswith("Results")
        if word == "access" and "bw(MiB/s)" in text:
            self._columns, self._summary = text.split(), []
        elif word == "Operation" and "Max(MiB)" in text:
            self._summary, self._columns = text.split(), []
        elif word in OPERATIONS and self._columns:
            self._add_table_row(text)
        elif word in OPERATIONS and self._summary:
            self._read_summary_line(text)
        elif match := _MAX.match(text):
            value = parse_number(match[2])
            if value is not None:
                run.max[match[1].lower()] = value
        elif match := _STONEWALL.search(text):
            run.stonewall_pairs = (int(match[1][:18]), int(match[2][:18]))
        elif word == "Finished" or text.startswith("Finished"):
            run.finished = True
        elif not self._columns and (match := _OPTION.match(line)):
            self._read_option(match[1].strip(), match[2])

    def _add_table_row(self, text: str) -> None:
        row = make_row(dict(zip(self._columns, text.split(), strict=False)), TEXT_COLUMNS)
        if row is not None and len(self.run.rows) < _MAX_ROWS:
            self.run.rows.append(row)

    def _read_summary_line(self, text: str) -> None:
        fields = text.split()
        best = parse_number(fields[1]) if len(fields) > 1 else None
        if best is not None:
            self.run.max.setdefault(fields[0], best)
        if "Max(OPs)" in self._summary:
            place = self._summary.index("Max(OPs)")
            ops = parse_number(fields[place]) if place < len(fields) else None
            if ops is not None:
                self.run.max_ops.setdefault(fields[0], ops)

    def _read_option(self, name: str, value: str) -> None:
        run = self.run
        match name:
            case "Began":
                run.began = run.began or value[:60]
            case "Command line" | "Command line used":
                run.command = value[:2000]
            case "Machine":
                run.machine = value[:300]
            case "api":
                run.api = value.partition(" ")[0][:40] or None
            case "access":
                run.access = value[:60]
            case "clients" if clients := _CLIENTS.match(value):
                run.tasks, run.tasks_per_node = int(clients[1][:9]), int(clients[2][:9])
            case "tasks" | "nodes" | "segments":
                setattr(run, name, parse_truncated(value))
            case "clients per node":
                run.tasks_per_node = parse_truncated(value)
            case "xfersize":
                run.transfer_bytes = parse_byte_size(value)
            case "blocksize":
                run.block_bytes = parse_byte_size(value)
            case "aggregate filesize":
                run.aggregate_bytes = parse_byte_size(value)
            case "stonewallingTime" | "stonewallingtime":
                run.stonewall_s = parse_number(value)
            case _ if (
                self._in_options and value and name not in neutral_fields("ior") and len(run.options) < 100
            ):
                run.options[name[:60]] = value[:80]


def make_result(runs: list[IorRun], kind: str) -> ImportResult:
    """Return what all forms of IOR's output have in common."""
    measured = [run for run in runs if run.rows or run.max]
    if not measured:
        raise ImportRefusedError(
            "IOR: no result row in it", "the run ended before its table: import a finished one"
        )
    troubles = make_troubles(
        ("ior.runs-without-result", len(runs) - len(measured)),
        ("ior.errors", sum(run.errors for run in runs)),
    )
    claims: list[Contradiction] = []
    facts: list[Noted] = []
    for index, run in enumerate(measured):
        prefix = f"run {index + 1}: " if len(measured) > 1 else ""
        claims += find_contradictions(run, prefix)
        if index < 200:
            facts += _facts_of_run(run, f"run:{index + 1}" if len(measured) > 1 else "")
    first = measured[0]
    machine = (first.machine or "").split()
    if len(machine) > 2 and machine[0] == "Linux":
        facts += make_facts(("release", machine[2][:200]), subject="kernel")
    return ImportResult(
        kind=kind, tool="IOR", version=first.version or None, began=date_to_iso(first.began),
        host=machine[1][:120] if len(machine) > 1 else None,
        seconds=sum(r.total_s or 0.0 for run in measured for r in run.rows) or None,
        measures=tuple(join_repetitions_or_number_runs([_run_measures(run) for run in measured])), facts=tuple(facts),
        contradictions=tuple(claims[:200]),
        troubles=tuple(troubles), recomputed=("bytes from rate and time", "maximum from the rows"),
        detail=IorRuns(runs=tuple(runs)),
    )  # fmt: skip


def _run_measures(run: IorRun) -> list[ImportedMeasure]:
    measures: list[ImportedMeasure] = []
    conditions = _run_conditions(run)
    invalid = "IOR's check found incorrect data" if run.incorrect else ""
    for op in OPERATIONS:
        rows = [r for r in run.rows if r.op == op]
        rates = [r.mib_s for r in rows]
        if not rates and op not in run.max:
            continue
        seconds = sum(r.total_s or 0.0 for r in rows)
        best = run.max.get(op, max(rates, default=0.0))
        runs = tuple(r * MIB for r in rates) if len(rates) > 1 else ()
        measures += make_measures(
            f"ior {op}", ("bandwidth", best * MIB if best > 0 else None, "B/s"), seconds=seconds,
            runs=runs if max(runs, default=0.0) == best * MIB else (), of="max", conditions=conditions, invalid=invalid,
        )  # fmt: skip
        iops = [r.iops for r in rows if r.iops is not None]
        most = run.max_ops.get(op, max(iops)) if iops else None
        measures += make_measures(
            f"ior {op}",
            ("IOPS", most, "IOPS"),
            seconds=seconds,
            conditions=conditions,
            invalid=invalid,
        )
    return measures


def _run_conditions(run: IorRun) -> dict[str, str]:
    """Return what it did, as far as the file says."""
    settings = (
        ("API", run.api), ("access", run.access), ("ranks", run.tasks), ("segments", run.segments),
        ("transfer size", run.transfer_bytes and units.format_size(run.transfer_bytes)),
        ("block size", run.block_bytes and units.format_size(run.block_bytes, 6)),
    )  # fmt: skip
    options = significant_options(run.command, "ior")
    stonewall = {"stonewall": f"{run.stonewall_s:g} s"} if run.stonewall_s else {}
    return (
        {name: str(value) for name, value in settings if value}
        | run.options
        | stonewall
        | ({"options": options} if options else {})
    )


def find_contradictions(run: IorRun, prefix: str = "") -> list[Contradiction]:
    claims: list[Contradiction] = []
    for op in OPERATIONS:
        rows = [r for r in run.rows if r.op == op]
        if not rows:
            continue
        subject, best = f"{prefix}{op}", run.max.get(op)
        most = max(r.mib_s for r in rows)
        if best is not None:
            claims += compare_claim(
                "ior.max-not-in-rows",
                subject,
                best * MIB,
                most * MIB,
                "largest row",
                0.005,
                0.01 * MIB,
                unit="B/s",
            )
        planned = (run.tasks or 0) * (run.block_bytes or 0) * (run.segments or 1)
        for row in rows if planned and not _is_stonewalled(run) else []:
            if row.total_s is None or row.total_s < 0.01:
                continue
            gives = planned / row.total_s / MIB
            slack = 0.02 + 0.005 / row.total_s + 0.01 / max(row.mib_s, 0.01)
            if run.segments is None and run.aggregate_bytes:  # 3.0 and 3.1 do not print the segments
                gives = run.aggregate_bytes / row.total_s / MIB
            claims += compare_claim(
                "ior.bandwidth", subject, row.mib_s * MIB, gives * MIB, "bytes planned ÷ total time", slack,
                unit="B/s",
            )  # fmt: skip
        ops = [r.iops for r in rows if r.iops is not None]
        if ops and op in run.max_ops:
            most_ops = run.max_ops[op]
            claims += compare_claim(
                "ior.iops", subject, max(ops), most_ops, "maximum of the summary", 0.01, unit="IOPS"
            )
    return claims


def _is_stonewalled(run: IorRun) -> bool:
    """A stonewall, or the status file of an earlier one, changes how many bytes are moved."""
    has_stonewall = run.stonewall_s is not None or run.stonewall_pairs is not None
    return has_stonewall or "stoneWalling" in (run.command or "")


def _facts_of_run(run: IorRun, subject: str) -> list[Noted]:
    return make_facts(
        ("API", run.api), ("access", run.access), ("tasks", run.tasks), ("nodes", run.nodes),
        ("tasks per node", run.tasks_per_node), ("transfer size", run.transfer_bytes, "B"),
        ("block size", run.block_bytes, "B"), ("stonewall", run.stonewall_s, "s"), subject=subject,
    )  # fmt: skip


_MAX_ROWS = 10_000
_JSON_NAMES = {"mib_s": "bwMiB", "iops": "iops", "total_s": "totalTime"}


def parse_ior_json(source: ImportSource) -> ImportResult:
    document = json_text.decode_untyped(source.data, "IOR")
    tests = document.get("tests") if isinstance(document, dict) else None
    if not isinstance(document, dict) or not isinstance(tests, list):
        raise ImportRefusedError(
            'IOR: no "tests" in its JSON', "import the file that IOR's summaryFile names"
        )
    runs = []
    for test in tests[:_MAX_ROWS]:
        if not isinstance(test, dict):
            continue
        parameters, options = mapping_or_empty(test.get("Parameters")), mapping_or_empty(test.get("Options"))
        run = IorRun(
            version=str(document.get("Version", ""))[:40],
            began=text_or_number(document.get("Began")),
            command=text_or_number(document.get("Command line"), 2000),
            machine=text_or_number(document.get("Machine")),
            api=text_or_number(parameters.get("api")),
            access=text_or_number(options.get("access")),
            tasks=parse_integer(options.get("tasks")),
            tasks_per_node=parse_integer(parameters.get("tasksPerNode")),
            nodes=parse_integer(parameters.get("nodes")),
            transfer_bytes=parse_integer(parameters.get("transferSize")),
            block_bytes=parse_integer(parameters.get("blockSize")),
            segments=parse_integer(parameters.get("segmentCount")),
            stonewall_s=parse_number(parameters.get("deadlineForStonewall")) or None,
            finished="Finished" in document,
            options={
                str(name)[:60]: str(value)[:80]
                for name, value in list(parameters.items())[:200]
                if name not in neutral_fields("ior-json")
                and isinstance(value, str | int | float)
                and value not in (0, "", "0")
            },
        )
        run.rows = [
            row for item in _flatten_rows(test.get("Results")) if (row := make_row(item, _JSON_NAMES))
        ]
        _add_json_summary(run, document.get("summary"), test.get("TestID"))
        runs.append(run)
    return make_result(runs, "ior-json")


def _flatten_rows(results: Json) -> list[dict[str, Json]]:
    """Rows, whether in lists of their own or not."""
    if not isinstance(results, list):
        return []
    rows: list[Json] = []
    for item in results[:_MAX_ROWS]:
        rows += item[:_MAX_ROWS] if isinstance(item, list) else [item]
    return [row for row in rows if isinstance(row, dict)][:_MAX_ROWS]


def _add_json_summary(run: IorRun, summary: Json, test: Json) -> None:
    for item in summary[:_MAX_ROWS] if isinstance(summary, list) else []:
        if not isinstance(item, dict) or item.get("TestID") != test:
            continue
        op = item.get("operation")
        for into, name in ((run.max, "bwMaxMIB"), (run.max_ops, "OPsMax")):
            value = parse_number(item.get(name))
            if isinstance(op, str) and op in OPERATIONS and value is not None:
                into[op] = value
        run.tasks = run.tasks if run.tasks is not None else parse_integer(item.get("numTasks"))


def parse_ior_csv(source: ImportSource) -> ImportResult:
    """No unit beyond the header; `numTasks` may be missing from it or from the rows."""
    run = IorRun(version="")
    header: list[str] = []
    for fields in source.read_rows("IOR"):
        names = [field.strip() for field in fields]
        if names[:1] == ["access"]:
            header = names
        elif header and names[:1] in (["write"], ["read"]) and len(run.rows) < _MAX_ROWS:
            shorter = [n for n in header if n != "numTasks"] if len(names) == len(header) - 1 else header
            values: dict[str, Json] = dict(zip(shorter, names, strict=False))
            if row := make_row(values, TEXT_COLUMNS):
                run.rows.append(row)
                tasks = parse_integer(values.get("numTasks"))
                run.tasks = tasks if tasks is not None else run.tasks
    return make_result([run], "ior-csv")
