"""IOR's `-O summaryFormat=json` (`Results` nested in 3.3.0, flat in 3.4.0) and `summaryFormat=CSV`."""

import csv

from hostdx.probes.imports import json_text
from hostdx.probes.imports.command_options import neutral_fields
from hostdx.probes.imports.json_text import as_mapping, text
from hostdx.probes.imports.model import ImportRefusedError, ImportResult
from hostdx.probes.imports.numbers import parse_integer, parse_number
from hostdx.probes.imports.source import ImportSource
from hostdx.probes.imports.storage.ior import OPERATIONS, TEXT_COLUMNS, IorRun, make_result, make_row
from hostdx.probes.types import Json

_MAX_ROWS = 10_000
_CSV_NAMES = TEXT_COLUMNS | {"latency_s": "Latency"}
_JSON_NAMES = {
    "mib_s": "bwMiB", "iops": "iops", "latency_s": "latency", "open_s": "openTime", "io_s": "wrRdTime",
    "close_s": "closeTime", "total_s": "totalTime",
}  # fmt: skip


def parse(source: ImportSource) -> ImportResult:
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
        parameters, options = as_mapping(test.get("Parameters")), as_mapping(test.get("Options"))
        run = IorRun(
            version=str(document.get("Version", ""))[:40],
            began=text(document.get("Began")),
            command=text(document.get("Command line"), 2000),
            machine=text(document.get("Machine")),
            api=text(parameters.get("api")),
            access=text(options.get("access")),
            tasks=parse_integer(options.get("tasks")),
            tasks_per_node=parse_integer(parameters.get("tasksPerNode")),
            nodes=parse_integer(parameters.get("nodes")),
            transfer_bytes=parse_integer(parameters.get("transferSize")),
            block_bytes=parse_integer(parameters.get("blockSize")),
            segments=parse_integer(parameters.get("segmentCount")),
            repetitions=parse_integer(parameters.get("repetitions")),
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
        _add_summary(run, document.get("summary"), test.get("TestID"))
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


def _add_summary(run: IorRun, summary: Json, test: Json) -> None:
    for item in summary[:_MAX_ROWS] if isinstance(summary, list) else []:
        if not isinstance(item, dict) or item.get("TestID") != test:
            continue
        op = item.get("operation")
        for into, name in ((run.max, "bwMaxMIB"), (run.max_ops, "OPsMax")):
            value = parse_number(item.get(name))
            if isinstance(op, str) and op in OPERATIONS and value is not None:
                into[op] = value
        run.tasks = run.tasks if run.tasks is not None else parse_integer(item.get("numTasks"))


def parse_csv(source: ImportSource) -> ImportResult:
    """No unit beyond the header; `numTasks` may be missing from it or from the rows."""
    run = IorRun(version="")
    header: list[str] = []
    try:
        for fields in csv.reader(source.read_lines()):
            names = [field.strip() for field in fields]
            if names[:1] == ["access"]:
                header = names
            elif header and names[:1] in (["write"], ["read"]) and len(run.rows) < _MAX_ROWS:
                shorter = [n for n in header if n != "numTasks"] if len(names) == len(header) - 1 else header
                values: dict[str, Json] = dict(zip(shorter, names, strict=False))
                if row := make_row(values, _CSV_NAMES):
                    run.rows.append(row)
                    tasks = parse_integer(values.get("numTasks"))
                    run.tasks = tasks if tasks is not None else run.tasks
    except csv.Error as error:
        raise ImportRefusedError(f"IOR: CSV cannot be read: {error}", "check the file") from None
    return make_result([run], "ior-csv")
