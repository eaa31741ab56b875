"""elbencho's `--jsonfile` (a document a phase, all values texts), `--csvfile` (a row a phase) and printed table.

`first`: when the fastest thread was done; `last`: the slowest, which is the figure of a whole phase (docs/csv-docs.md
and source/Statistics.cpp of the tool). Phases of the same load that were appended to one file are its repetitions. A
mixed phase has its reads apart.
"""

import csv
import re
from collections.abc import Iterator, Sequence
from statistics import fmean
from typing import NamedTuple

from msgspec import structs

from hostdx.probes.imports import json_text
from hostdx.probes.imports.command_options import neutral_fields, significant_options
from hostdx.probes.imports.dates import date_to_iso
from hostdx.probes.imports.json_text import mapping_or_empty, text_or_number
from hostdx.probes.imports.model import (
    Better,
    Contradiction,
    ImportedMeasure,
    ImportRefusedError,
    ImportResult,
    ImportTrouble,
    SeriesPoint,
    compare_claim,
    make_facts,
    make_measures,
    make_troubles,
)
from hostdx.probes.imports.numbers import MIB, parse_number
from hostdx.probes.imports.source import ImportSource
from hostdx.probes.types import Json

_MAX_PHASES = 10_000  # phases
_ROW = re.compile(r"^([A-Z][A-Z0-9]*)?\s+([A-Z][\w/ ]*?)\s*:\s+(\S+)\s+(\S+)\s*$")
_ELAPSED = re.compile(r"(\d+(?:\.\d+)?)(ms|us|h|m|s)")
_SECONDS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6}
_PRINTED = {"Throughput MiB/s": ("bandwidth", MIB), "IOPS": ("IOPS", 1), "Files/s": ("entries", 1),
            "Dirs/s": ("entries", 1)}  # fmt: skip
_KINDS: dict[str, tuple[str, Better]] = {
    "IOPS": ("IOPS", "more"), "bandwidth": ("B/s", "more"), "entries": ("1/s", "more"), "latency": ("s", "less"),
    "entry latency": ("s", "less"),
}  # fmt: skip
_OF_JSON = {"direct_io": "direct IO", "io_depth": "IO depth", "random_offsets": "random"}
_TIME_LIMIT = re.compile(r"[\"\s]--timelimit[\"\s=]+(\d{1,9})")


class ElbenchoPhase(NamedTuple):
    """`values` by metric, in hostdx's units; `moved`: bytes of the whole phase, where the file tells them."""

    name: str
    conditions: tuple[tuple[str, str], ...]
    values: dict[str, float]
    seconds: float
    moved: float | None
    began: str | None
    version: str | None


def parse_elbencho(source: ImportSource) -> ImportResult:
    phases = (
        phase
        for _, _, each in json_text.iterate_documents(source.data, dict, "elbencho")
        for phase in _read_json_phases(each)
    )
    return _make_result("elbencho", phases, 1)


def parse_elbencho_csv(source: ImportSource) -> ImportResult:
    return _make_result("elbencho-csv", _read_csv_phases(source), MIB)


def parse_elbencho_table(source: ImportSource) -> ImportResult:
    lines = list(source.read_lines())
    result = _make_result("elbencho-table", _read_table_phases(lines), MIB)
    errors = sum(line.startswith("ERROR") for line in lines)
    return structs.replace(result, troubles=tuple(make_troubles(("elbencho.errors", errors))))


def parse_elbencho_live(source: ImportSource) -> ImportResult:
    """`--livecsv`: what was done until then. A phase's figures are those of its last line, over its whole time."""
    rows = [row for row in csv.DictReader(source.read_lines()) if row.get("Rank") == "Total"]
    last: dict[str, tuple[float, float]] = {}
    points: list[SeriesPoint] = []
    for row in rows[:_MAX_PHASES]:
        at, moved, rate = (parse_number(row.get(name)) for name in ("RuntimeMS", "DoneBytes", "MiB/s"))
        phase = (row.get("Phase") or "?")[:40].lower()
        if at and moved is not None:
            last[phase] = (at / 1000, moved)
        if at and rate is not None:
            points.append(
                SeriesPoint(series=f"elbencho {phase}", at_s=at / 1000, value=rate * MIB, unit="B/s")
            )
    measures = [
        measure
        for phase, (seconds, moved) in last.items()
        for measure in make_measures(
            f"elbencho {phase}", ("bandwidth", moved / seconds if moved else None, "B/s"), seconds=seconds
        )
    ]
    if not measures:
        raise ImportRefusedError(
            "elbencho: no value in its live statistics", "run elbencho with --csvfile FILE"
        )
    return ImportResult(
        kind="elbencho-live", tool="elbencho", measures=tuple(measures), points=tuple(points),
        troubles=(ImportTrouble(id="elbencho.live"),),
    )  # fmt: skip


def _read_table_phases(lines: Sequence[str]) -> Iterator[ElbenchoPhase]:
    """A row a figure; a new operation in the first column begins a phase. 1.x has its times in milliseconds."""
    name, elapsed_s, options = "", 0.0, dict[str, Json]()
    for line in lines[:_MAX_PHASES]:
        if line.startswith("COMMAND LINE:"):
            command = line.partition(":")[2]
            options = {**_time_limit_condition(command), "options": significant_options(command, "elbencho")}
            break
    read: dict[str, float | None] = {}
    for row in filter(None, map(_ROW.match, lines)):
        if row[1]:
            if name:
                yield _make_phase(name, "", options, read, 1e3 * elapsed_s, None, None, None)
            name, elapsed_s, read = row[1], 0.0, {}
        label, value = row[2], parse_number(row[4])
        if label.startswith("Elapsed"):
            of_parts = sum(float(count) * _SECONDS[unit] for count, unit in _ELAPSED.findall(row[4]))
            elapsed_s = value / 1e3 if label.endswith("ms") and value is not None else of_parts
        elif label in _PRINTED and value is not None:
            metric, unit_size = _PRINTED[label]
            read[metric] = value * unit_size
    if name:
        yield _make_phase(name, "", options, read, 1e3 * elapsed_s, None, None, None)


def _read_json_phases(each: dict[str, Json]) -> Iterator[ElbenchoPhase]:
    config, last = mapping_or_empty(each.get("config")), mapping_or_empty(each.get("last_done"))
    options = {
        _OF_JSON.get(key, key.replace("_", " ")): value
        for key, value in config.items()
        if key not in neutral_fields("elbencho-json")
    } | _time_limit_condition(config.get("command"))
    latency = mapping_or_empty(last.get("latency"))
    for mixed in ("", "rwmix_read"):
        part, io, entries = (
            mapping_or_empty(section.get(mixed)) if mixed else section
            for section in (
                last,
                mapping_or_empty(latency.get("IO")),
                mapping_or_empty(latency.get("entries")),
            )
        )
        read = {
            "IOPS": parse_number(part.get("iops")), "bandwidth": parse_number(part.get("bytes/s")),
            "entries": parse_number(part.get("entries/s")), "latency": _microseconds_to_s(io.get("avg_us")),
            "entry latency": _microseconds_to_s(entries.get("avg_us")),
        }  # fmt: skip
        yield _make_phase(
            each.get("phase_type"), mixed, options, read, parse_number(last.get("elapsed_time_ms")),
            parse_number(part.get("bytes")), each.get("iso_start_date"), config.get("version"),
        )  # fmt: skip


def _read_csv_phases(source: ImportSource) -> Iterator[ElbenchoPhase]:
    neutral = neutral_fields("elbencho-csv")
    columns: list[str] = []
    for fields in source.read_rows("elbencho"):
        if fields[:1] == ["ISO date"]:
            columns = fields
            continue
        row: dict[str, str] = dict(zip(columns, fields, strict=False))
        asked = columns[: columns.index("operation")] if "operation" in columns else []
        options: dict[str, Json] = {name: row.get(name) for name in asked if name not in neutral}
        options |= _time_limit_condition(row.get("command"))
        for mixed in ("", "rwmix read "):
            rate, mib = (
                parse_number(row.get(f"{mixed}MiB/s [last]")),
                parse_number(row.get(f"{mixed}MiB [last]")),
            )
            read = {
                "IOPS": parse_number(row.get(f"{mixed}IOPS [last]")), "bandwidth": rate and rate * MIB,
                "entries": parse_number(row.get(f"{mixed}entries/s [last]")),
                "latency": _microseconds_to_s(row.get(f"{mixed}IO lat us [avg]")),
                "entry latency": _microseconds_to_s(row.get(f"{mixed}Ent lat us [avg]")),
            }  # fmt: skip
            yield _make_phase(
                row.get("operation"), mixed, options, read,
                parse_number(row.get("time ms [last]")), mib and mib * MIB, row.get("ISO date"), row.get("version"),
            )  # fmt: skip


def _time_limit_condition(command: Json) -> dict[str, Json]:
    match = _TIME_LIMIT.search(command) if isinstance(command, str) else None
    return {"time limit": f"{match[1]} s"} if match else {}


def _microseconds_to_s(value: Json) -> float | None:
    microseconds = parse_number(value)
    return microseconds / 1e6 if microseconds is not None else None


def _make_phase(
    name: Json, mixed: str, options: dict[str, Json], read: dict[str, float | None],
    elapsed_ms: float | None, moved: float | None, began: Json, version: Json,
) -> ElbenchoPhase:  # fmt: skip
    words = {"true": "1", "false": "0"}
    conditions = [
        (key, words.get(v, v)) for key, option in options.items() if (v := text_or_number(option, 60))
    ]
    return ElbenchoPhase(
        name=f"{(text_or_number(name, 40) or '?').lower()}{' reads' if mixed else ''}", conditions=tuple(conditions),
        values={metric: value for metric, value in read.items() if value is not None and value > 0},
        seconds=(elapsed_ms or 0.0) / 1000, moved=moved, began=text_or_number(began, 60),
        version=text_or_number(version, 40),
    )  # fmt: skip


def _make_result(kind: str, all_phases: Iterator[ElbenchoPhase], digit: float) -> ImportResult:
    """`digit`: the last digit of a printed rate, in B/s."""
    alike: dict[tuple[str, tuple[tuple[str, str], ...]], list[ElbenchoPhase]] = {}
    phases: list[ElbenchoPhase] = []
    for phase in all_phases:
        if phase.values and len(phases) < _MAX_PHASES:
            phases.append(phase)
            alike.setdefault((phase.name, phase.conditions), []).append(phase)
    if not phases:
        raise ImportRefusedError(
            "elbencho: no finished phase in it", "the run did not end: import a finished one"
        )
    names = [name for name, _ in alike]
    measures: list[ImportedMeasure] = []
    contradicted: list[Contradiction] = []
    for order, ((name, conditions), runs) in enumerate(alike.items(), 1):
        prefix = f"run {order}: " if names.count(name) > 1 else ""
        for metric, (unit, better) in _KINDS.items():
            values = [run.values[metric] for run in runs if metric in run.values]
            measures += make_measures(
                f"{prefix}elbencho {name}", (metric, fmean(values) if values else None, unit), better=better,
                seconds=sum(run.seconds for run in runs), conditions=dict(conditions),
                runs=tuple(values[:1000]) if len(values) > 1 else (),
            )  # fmt: skip
        for run in runs[:100]:
            if run.moved and run.seconds >= 0.1 and (rate := run.values.get("bandwidth")):
                slack = digit / rate + digit / run.moved + 0.001 / run.seconds + 1e-3
                contradicted += compare_claim(
                    "elbencho.rate", f"{prefix}{name}", rate, run.moved / run.seconds, "bytes ÷ time", slack,
                    unit="B/s",
                )  # fmt: skip
    return ImportResult(
        kind=kind, tool="elbencho", version=phases[0].version, began=date_to_iso(_local_time_of(phases[0].began)),
        measures=tuple(measures[:_MAX_PHASES]), facts=tuple(make_facts(("phases", len(phases)))),
        contradictions=tuple(contradicted[:100]), recomputed=("rate from bytes and time",),
    )  # fmt: skip


def _local_time_of(began: str | None) -> str | None:
    """`2026-05-22T14:03:11.123+0200` without its zone: it stays local, as the file has it."""
    return began[:19] if began else None
