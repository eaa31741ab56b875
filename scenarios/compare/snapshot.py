"""One measurement at one time, whatever file it stood in: a table of thirteen runs is thirteen snapshots."""

import math
from collections.abc import Sequence

import msgspec

from probes.imports.model import Measure, Noted, Result
from probes.imports.numbers import GIB
from probes.imports.storage.io500_table import Io500Table
from scenarios.compare.conditions import FEWEST_FIGURES, conditioned, differing
from scenarios.compare.run_summary import FigureKey, Load, LoadFigure, Take
from scenarios.plan import Metric


class Snapshot(msgspec.Struct, frozen=True, kw_only=True):
    """`name` is what a person calls it: the file, or the run's name in its table. `began`: as in the result.

    `series`: what it belongs to by the file's own word, a host and place or a table of runs; "" where nothing says so.
    """

    name: str
    kind: str
    began: str | None
    host: str | None
    measures: tuple[Measure, ...]
    series: str = ""
    facts: tuple[Noted, ...] = ()

    @property
    def processes(self) -> int | None:
        """How many processes measured, where the file says it."""
        found = next(
            (fact.value for fact in self.facts if fact.name == "processes" and not fact.subject), None
        )
        return found if isinstance(found, int) else None

    def value(self, workload: str) -> float | None:
        """The leading value of a workload."""
        return next((m.value for m in self.measures if m.workload == workload), None)


class Imported(msgspec.Struct, frozen=True, kw_only=True):
    """A file and what was read from it. `name` tells it from the others beside it, `modified` is UTC, ISO 8601."""

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
                    series=_series(result),
                    facts=result.facts,
                )
            )
    if len(found) > 1 and all(s.began for s in found):
        found.sort(key=lambda s: s.began or "")
    return found


def _series(result: Result) -> str:
    """The host, and the file, device or directory that it says it measured: seven disks of a host are no series."""
    places = sorted({str(fact.value) for fact in result.facts if fact.name == "place"})
    return " ".join((result.host, *places)) if result.host else ""


def distinct(files: Sequence[Imported]) -> tuple[list[Imported], list[tuple[str, str]]]:
    """Each result once; and the names of files that hold the figures of another, each with that one's."""
    kept: list[Imported] = []
    twins: list[tuple[str, str]] = []
    seen: dict[tuple[tuple[str, str, float], ...], str] = {}
    for file in files:
        figures = tuple((m.workload, m.metric, m.value) for m in file.result.measures)
        if len(figures) >= FEWEST_FIGURES:
            if figures in seen:
                twins.append((file.name, seen[figures]))
                continue
            seen[figures] = file.name
        kept.append(file)
    return kept, twins


def by_conditions(found: Sequence[Snapshot]) -> list[Snapshot]:
    """Loads of one name that were measured under several conditions get these into their names."""
    known: dict[str, list[dict[str, str]]] = {}
    for snapshot in found:
        for m in snapshot.measures:
            known.setdefault(m.workload, []).append(m.conditions)
    names = {workload: differing(given) for workload, given in known.items()}
    return [
        msgspec.structs.replace(
            s,
            measures=tuple(
                msgspec.structs.replace(m, workload=conditioned(m.workload, m.conditions, names[m.workload]))
                for m in s.measures
            ),
        )
        for s in found
    ]


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
                    series=file.path if table.series else "",
                )
            )
    return out


def imported(result: Result, name: str) -> Take:
    """`name` is what is shown and tells results apart: each counts as a boot of its own, nothing tells otherwise."""
    figures: dict[FigureKey, LoadFigure] = {}
    loads: dict[FigureKey, Load] = {}
    for measure in result.measures:
        if not measure.judged or not measure.value > 0:
            continue
        key = FigureKey(measure.workload, measure.metric)
        figures[key] = _figure(measure)
        metric = Metric(measure.metric, measure.unit, measure.better, of=measure.of)
        loads[key] = Load(measure.workload, metric, conditions=measure.conditions)
    return Take(
        name=name,
        host=result.host or name,
        boot="",
        wall=result.began or "",
        scenario=result.tool,
        version=result.version or "",
        status="failed" if result.fatal else "done",
        facts={(noted.subject or "run", noted.name): noted.value for noted in result.facts},
        absent=frozenset(),
        figures=figures,
        loads=loads,
        invalid={FigureKey(m.workload, m.metric): m.invalid for m in result.measures if m.invalid},
    )


def _figure(measure: Measure) -> LoadFigure:
    """The value as the tool gives it; the spread of its repetitions, where it kept them."""
    sign = 1.0 if measure.better == "more" else -1.0
    log = sign * math.log(measure.value)
    runs = [run for run in measure.runs if run > 0 and math.isfinite(run)]
    if len(runs) < 2:
        return LoadFigure(log, measure.value, max(1, len(runs)))
    mean = math.fsum(runs) / len(runs)
    variance = math.fsum((run / mean - 1) ** 2 for run in runs) / (len(runs) - 1) / len(runs)
    return LoadFigure(log, measure.value, len(runs), variance, len(runs))
