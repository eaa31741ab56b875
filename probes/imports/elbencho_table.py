"""elbencho: its table of results (1.x in milliseconds, later in units). Of the two columns "last done" is the result.

Columns: docs/result-columns of its project. Rates of entries a second, MiB/s (2^20).
"""

from __future__ import annotations

import re

from probes.imports.model import Measure, Refused, Result, Trouble
from probes.imports.numbers import MIB, number
from probes.imports.source import Source

_HEADER = re.compile(r"^OPERATION\s+RESULT TYPE\s+FIRST DONE\s+LAST DONE")
_ROW = re.compile(r"^([A-Z][A-Z0-9]*)?\s+([A-Z][\w/ ]*?)\s*:\s+(\S+)\s+(\S+)\s*$")
_ELAPSED = re.compile(r"(\d+(?:\.\d+)?)(ms|us|h|m|s)")
_SECONDS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6}
_MOST = 10_000  # measures


def recognised(source: Source) -> bool:
    return any(_HEADER.match(line) for line in source.head.decode("utf-8", "replace").splitlines())


def parse(source: Source) -> Result:
    measures: list[Measure] = []
    operation, seconds, errors = "", 0.0, 0
    for line in source.lines():
        errors += line.startswith("ERROR")
        found = _ROW.match(line)
        if found is None:
            continue
        if found[1]:
            operation, seconds = found[1].lower(), 0.0
        name, value = found[2], number(found[4])
        if name.startswith("Elapsed"):
            seconds = value / 1e3 if name.endswith("ms") and value is not None else _elapsed(found[4])
        elif value is not None and operation and len(measures) < _MOST and value > 0:
            workload = f"elbencho {operation}"
            if name == "Throughput MiB/s":
                measures.append(
                    Measure(
                        workload=workload, metric="bandwidth", value=value * MIB, unit="B/s", seconds=seconds
                    )
                )
            elif name in ("IOPS", "Files/s", "Dirs/s"):
                metric = "IOPS" if name != "Dirs/s" else "directories"
                measures.append(
                    Measure(workload=f"{workload}{' files' if name == 'Files/s' else ''}", metric=metric,
                            value=value, unit="IOPS", seconds=seconds)
                )  # fmt: skip
    if not measures:
        raise Refused("elbencho: no result in its table", "the run ended before its first phase was done")
    troubles = (Trouble(id="elbencho.errors", said=str(errors)),) if errors else ()
    return Result(kind="elbencho-table", tool="elbencho", measures=tuple(measures), troubles=troubles)


def _elapsed(text: str) -> float:
    """`2m5.755s`, `310ms`."""
    return sum(float(count) * _SECONDS[unit] for count, unit in _ELAPSED.findall(text))
