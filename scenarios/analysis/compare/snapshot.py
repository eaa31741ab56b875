"""One measurement at one time, whatever file it stood in: a table of thirteen runs is thirteen snapshots."""

import math
from collections.abc import Iterator, Sequence

import msgspec

from hostdx.probes.imports.model import ImportedMeasure, ImportResult, Noted
from hostdx.probes.imports.storage.io500_table import Io500Table, run_measures
from hostdx.scenarios.analysis.compare.conditions import differing_conditions_by_load, name_with_conditions
from hostdx.scenarios.analysis.compare.run_summary import FigureKey, LoadFigure, PlannedLoad, RunSummary
from hostdx.scenarios.analysis.incidents.incidents import Timeline
from hostdx.scenarios.contract.plan import Metric


class RunSnapshot(msgspec.Struct, frozen=True, kw_only=True):
    """`name` is what a person calls it: the file, or the run's name in its table. `began`: as in the result.

    `series`: what it belongs to by the file's own word, a host and place or a table of runs; "" where nothing says so.
    """

    name: str
    kind: str
    began: str | None
    host: str | None
    measures: tuple[ImportedMeasure, ...]
    series: str = ""
    facts: tuple[Noted, ...] = ()

    @property
    def process_count(self) -> int | None:
        """Return how many processes measured, where the file says it."""
        count = next((f.value for f in self.facts if f.name == "processes" and not f.subject), None)
        return count if isinstance(count, int) else None

    def value(self, workload: str) -> float | None:
        """The leading value of a workload."""
        return next((m.value for m in self.measures if m.workload == workload), None)


class ParsedImportFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file and what was read from it. `name` tells it from the others beside it, `modified` is UTC, ISO 8601.

    `result` comes without its samples; `timeline` is what they say, where there are enough of them.
    """

    name: str
    path: str
    sha256: str
    bytes: int
    modified: str
    result: ImportResult
    timeline: Timeline | None = None


MAX_WORKLOADS = 1000  # of one result: a plan that names more does not fit a recording's line


def limit_workloads(measures: tuple[ImportedMeasure, ...]) -> tuple[ImportedMeasure, ...]:
    """Those of the first thousand workloads."""
    workloads = set(list(dict.fromkeys(m.workload for m in measures))[:MAX_WORKLOADS])
    return (
        measures if len(measures) <= MAX_WORKLOADS else tuple(m for m in measures if m.workload in workloads)
    )


def snapshots_of(files: Sequence[ParsedImportFile]) -> list[RunSnapshot]:
    """In the order of time where every one has a date, else in the order given."""
    snapshots: list[RunSnapshot] = []
    tables = sum(isinstance(file.result.detail, Io500Table) for file in files)
    for file in files:
        result = file.result
        if isinstance(result.detail, Io500Table):
            snapshots += _snapshots_of_table(
                file, result.detail, f"{file.name.partition('.')[0]} " if tables > 1 else ""
            )
        else:
            snapshots.append(
                RunSnapshot(
                    name=file.name,
                    kind=result.kind,
                    began=result.began,
                    host=result.host,
                    measures=limit_workloads(result.measures),
                    series=_host_and_places(result),
                    facts=result.facts,
                )
            )
    if len(snapshots) > 1 and all(s.began for s in snapshots):
        snapshots.sort(key=lambda s: s.began or "")
    return snapshots


def _host_and_places(result: ImportResult) -> str:
    """The host, and the file, device or directory that it says it measured: seven disks of a host are no series."""
    places = sorted({str(fact.value) for fact in result.facts if fact.name == "place"})
    return " ".join((result.host, *places)) if result.host else ""


def rename_snapshot_loads(unnamed_snapshots: Sequence[RunSnapshot]) -> list[RunSnapshot]:
    """Loads of one name that were measured under several conditions get these into their names."""
    names = differing_conditions_by_load(
        (m.workload, m.conditions) for s in unnamed_snapshots for m in s.measures
    )
    return [
        msgspec.structs.replace(
            s,
            measures=tuple(
                msgspec.structs.replace(
                    m, workload=name_with_conditions(m.workload, m.conditions, names[m.workload])
                )
                for m in s.measures
            ),
        )
        for s in unnamed_snapshots
    ]


def _snapshots_of_table(file: ParsedImportFile, table: Io500Table, prefix: str) -> Iterator[RunSnapshot]:
    for run in table.runs:
        if measures := tuple(run_measures(table, run)):
            yield RunSnapshot(
                name=f"{prefix}{run.name}", kind="io500", began=None, host=file.result.host, measures=measures,
                series=file.path if table.series else "",
            )  # fmt: skip


def summarise_import(result: ImportResult, name: str) -> RunSummary:
    """`name` is what is shown and tells results apart: each counts as a boot of its own, nothing tells otherwise."""
    figures: dict[FigureKey, LoadFigure] = {}
    loads: dict[FigureKey, PlannedLoad] = {}
    for measure in result.measures:
        if not measure.judged or not measure.value > 0:
            continue
        key = FigureKey(measure.workload, measure.metric)
        figures[key] = _figure_of_measure(measure)
        metric = Metric(measure.metric, measure.unit, measure.better, of=measure.of)
        loads[key] = PlannedLoad(measure.workload, metric, conditions=measure.conditions)
    return RunSummary(
        name=name,
        host=result.host or name,
        boot="",
        wall=result.began or "",
        scenario=result.tool,
        version=result.version or "",
        status="failed" if result.is_fatal else "done",
        facts={(noted.subject or "run", noted.name): noted.value for noted in result.facts},
        absent=frozenset(),
        figures=figures,
        loads=loads,
        invalid={FigureKey(m.workload, m.metric): m.invalid for m in result.measures if m.invalid},
    )


def _figure_of_measure(measure: ImportedMeasure) -> LoadFigure:
    """The value as the tool gives it; the spread of its repetitions, where it kept them."""
    sign = 1.0 if measure.better == "more" else -1.0
    log = sign * math.log(measure.value)
    runs = [run for run in measure.runs if run > 0 and math.isfinite(run)]
    if len(runs) < 2:
        return LoadFigure(log, measure.value, max(1, len(runs)))
    mean = math.fsum(runs) / len(runs)
    variance = math.fsum((run / mean - 1) ** 2 for run in runs) / (len(runs) - 1) / len(runs)
    return LoadFigure(log, measure.value, len(runs), variance, len(runs))
