"""NVIDIA's nccl-tests: a table by message size. The bus bandwidth of each size is judged apart."""

import re

import msgspec

from hostdx.probes.imports.model import ImportedMeasure, ImportRefusedError, ImportResult, ImportTrouble
from hostdx.probes.imports.numbers import parse_integer, parse_number
from hostdx.probes.imports.source import ImportSource
from hostdx.probes.units import format_size as sized

_NCCL_HEAD = re.compile(
    r"^#\s+nThread (\d{1,9}) nGpus (\d{1,9}) minBytes (\d{1,18}) maxBytes (\d{1,18})(?: step: (\S{1,30}))?",
    re.ASCII,
)
_NCCL_COLLECTIVE = re.compile(r"^# Collective test starting: (\S{1,60})")
_NCCL_RANK = re.compile(r"^#\s+Rank\s+\d", re.ASCII)
_NCCL_COLUMNS = re.compile(r"^#\s+(size\s+count\s+type\s.{0,300})$")
_NCCL_NAMED = {"type": "type", "redop": "operation", "root": "root"}
_NCCL_AVERAGE = re.compile(r"^# Avg bus bandwidth\s*:\s*(\S+)")
_NCCL_WRONG = re.compile(r"^# Out of bounds values : (\d{1,12}) (\w+)")
_MAX_ROWS = 1000


def parse(source: ImportSource) -> ImportResult:
    """Out of place, then in place; older tables have no root, or no operation. GB/s are 10^9 bytes."""
    measures: list[ImportedMeasure] = []
    troubles: list[ImportTrouble] = []
    collective: dict[str, str] = {}
    run: dict[str, str] = {}
    row: dict[str, str] = {}
    sizes: dict[str, str] = {}
    columns: list[str] = []
    ranks = 0
    for line in source.read_lines():
        fields = line.split()
        if match := _NCCL_COLLECTIVE.match(line):
            collective = {"collective": match[1]}
        elif match := _NCCL_HEAD.match(line):
            run, row, ranks, columns = {"threads": match[1], "GPUs a thread": match[2]}, {}, 0, []
            sizes = {"sizes": f"{sized(int(match[3]), 6)} to {sized(int(match[4]), 6)}"}
            sizes |= {"step": match[5]} if match[5] else {}
        elif _NCCL_RANK.match(line):
            ranks += 1
        elif match := _NCCL_COLUMNS.match(line):
            columns = match[1].split()
            run |= collective | ({"ranks": str(ranks)} if ranks else {})
        elif match := _NCCL_AVERAGE.match(line):
            if (average := parse_number(match[1])) and len(measures) < 2 * _MAX_ROWS:
                measures.append(_nccl_measure("nccl average", average, run | row | sizes))
        elif (match := _NCCL_WRONG.match(line)) and match[2] != "OK":
            troubles.append(ImportTrouble(id="nccl.wrong", said=match[1]))
        elif (
            "busbw" in columns
            and len(fields) >= len(columns)
            and (size := parse_integer(fields[0])) is not None
        ):
            texts = {name: fields[columns.index(c)] for c, name in _NCCL_NAMED.items() if c in columns}
            row = {name: value for name, value in texts.items() if value not in ("none", "-1")}
            rate = parse_number(fields[columns.index("busbw")])
            if rate and len(measures) < _MAX_ROWS:
                measures.append(_nccl_measure(f"nccl {sized(size, 6)}", rate, run | row))
    if not measures:
        raise ImportRefusedError("nccl-tests: no row in it", "import the test's whole output")
    wrong = f"{troubles[0].said} values out of bounds" if troubles else ""
    return ImportResult(
        kind="nccl", tool="nccl-tests", troubles=tuple(troubles),
        measures=tuple(msgspec.structs.replace(m, invalid=wrong) for m in measures),
    )  # fmt: skip


def _nccl_measure(workload: str, gb_s: float, conditions: dict[str, str]) -> ImportedMeasure:
    return ImportedMeasure(
        workload=workload, metric="bus bandwidth", value=gb_s * 1e9, unit="B/s", conditions=conditions
    )
