"""One measurement at one time, whatever file it stood in: a table of thirteen runs is thirteen snapshots."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from probes.imports.model import Measure, Result
from probes.imports.numbers import GIB
from probes.imports.storage.io500_table import Io500Table


class Snapshot(msgspec.Struct, frozen=True, kw_only=True):
    """`name` is what a person calls it: the file, or the run's name in its table. `began`: as in the result."""

    name: str
    kind: str
    began: str | None
    host: str | None
    measures: tuple[Measure, ...]

    def value(self, workload: str) -> float | None:
        """The leading value of a workload."""
        return next((m.value for m in self.measures if m.workload == workload), None)


class Imported(msgspec.Struct, frozen=True, kw_only=True):
    """A file and what was read from it. `name` is its last path component, `modified` UTC, ISO 8601."""

    name: str
    path: str
    sha256: str
    bytes: int
    modified: str
    result: Result


MOST_WORKLOADS = 1000  # of one result: a plan that names more does not fit a recording's line


def bounded(measures: tuple[Measure, ...]) -> tuple[Measure, ...]:
    """Those of the first thousand workloads."""
    kept = set(list(dict.fromkeys(m.workload for m in measures))[:MOST_WORKLOADS])
    return measures if len(measures) <= MOST_WORKLOADS else tuple(m for m in measures if m.workload in kept)


def snapshots(files: Sequence[Imported]) -> list[Snapshot]:
    """In the order of time where every one has a date, else in the order given."""
    found: list[Snapshot] = []
    tables = sum(isinstance(file.result.detail, Io500Table) for file in files)
    for file in files:
        result = file.result
        if isinstance(result.detail, Io500Table):
            found += _rows(file, result.detail, f"{file.name.partition('.')[0]} " if tables > 1 else "")
        else:
            found.append(
                Snapshot(
                    name=file.name,
                    kind=result.kind,
                    began=result.began,
                    host=result.host,
                    measures=bounded(result.measures),
                )
            )
    if len(found) > 1 and all(s.began for s in found):
        found.sort(key=lambda s: s.began or "")
    return found


def dated(found: Sequence[Snapshot]) -> bool:
    return all(s.began for s in found)


def _rows(file: Imported, table: Io500Table, prefix: str) -> list[Snapshot]:
    out = []
    for run in table.runs:
        measures = tuple(
            Measure(
                workload=phase,
                metric="bandwidth" if table.units[phase] == "GiB/s" else "IOPS",
                value=value * (GIB if table.units[phase] == "GiB/s" else 1000),
                unit="B/s" if table.units[phase] == "GiB/s" else "IOPS",
            )
            for phase, value in run.values.items()
        )
        if measures:
            out.append(
                Snapshot(
                    name=f"{prefix}{run.name}",
                    kind="io500",
                    began=None,
                    host=file.result.host,
                    measures=measures,
                )
            )
    return out
