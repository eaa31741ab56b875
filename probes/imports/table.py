"""A table of IO500 phases as talks and papers print it: a line a phase, a column a run, separated by tabs.

```
phase	old	new
ior-hard-read	1.41	0.341
```
Values are in IO500's own units: GiB/s for the IOR phases, kIOPS for the others.
"""

from __future__ import annotations

import math

from probes.imports.model import Measure, Refused, Result
from probes.imports.source import Source

MOST_COLUMNS = 100
GIB = float(1 << 30)


def recognised(source: Source) -> bool:
    return any(line.startswith(b"phase\t") for line in source.head.splitlines()[:20])


def columns(source: Source) -> dict[str, Result]:
    """By column name. Raises Refused where a line does not fit the head."""
    lines = [line for line in source.data.decode("utf-8", "backslashreplace").splitlines() if line.strip()]
    rows = [line.split("\t") for line in lines if not line.startswith("#")]
    if not rows or rows[0][0] != "phase":
        raise Refused(
            "is no table of phases", "its first line must be `phase`, a tab, and the columns' names"
        )
    names = [name.strip() for name in rows[0][1:]]
    if not names or len(names) > MOST_COLUMNS or len(set(names)) < len(names):
        raise Refused("the columns have no names of their own", f"one name a column, {MOST_COLUMNS} at most")
    found: dict[str, list[Measure]] = {name: [] for name in names}
    for row in rows[1:]:
        if len(row) != len(names) + 1:
            raise Refused(f"the line of {row[0][:40]} has {len(row) - 1} values", f"{len(names)} are needed")
        for name, text in zip(names, row[1:], strict=True):
            if (measure := _measure(row[0].strip(), text)) is not None:
                found[name].append(measure)
    return {
        name: Result(kind="table", tool="table", host=name, measures=tuple(measures))
        for name, measures in found.items()
    }


def _measure(phase: str, text: str) -> Measure | None:
    """None for an empty cell, a dash, and what is no positive number: a phase that failed is not measured."""
    try:
        value = float(text)
    except ValueError:
        return None
    if not math.isfinite(value) or value <= 0:
        return None
    if phase.startswith("ior"):
        return Measure(workload=phase, metric="bandwidth", value=value * GIB, unit="B/s")
    return Measure(workload=phase, metric="IOPS", value=value * 1000, unit="IOPS")
