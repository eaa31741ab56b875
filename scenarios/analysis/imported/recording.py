"""Imported files as the events of a recording: values as blocks, so that compare, report and screen work on them.

One file gives its repetitions as blocks of a workload; several files give one block each, in the order of time, and
their box and trends. Nothing is judged that the files do not hold: there are no verdicts.
"""

from collections.abc import Iterator, Sequence
from itertools import islice

import msgspec

from hostdx.probes.imports.model import ImportedMeasure, Noted
from hostdx.scenarios.analysis.compare.snapshot import MAX_WORKLOADS, ParsedImportFile, RunSnapshot
from hostdx.scenarios.analysis.imported import CARD
from hostdx.scenarios.analysis.imported.cross_run import series_verdicts
from hostdx.scenarios.analysis.imported.findings import file_findings, note_finding
from hostdx.scenarios.analysis.imported.pile import ResultSet
from hostdx.scenarios.analysis.imported.results import (
    Boxes,
    Contradicted,
    Contradictions,
    FileTimeline,
    Histories,
    HistoriesResult,
    ImportedFile,
    ImportedFiles,
    TimelineResult,
    WorkloadHistory,
)
from hostdx.scenarios.analysis.incidents.findings import QUIET
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.finding import Finding
from hostdx.scenarios.contract.plan import Metric, Plan, Variant, Workload

VARIANT = "imported"
TICK_S = 0.01
_SUMMARIES = ("import.summary", "trend.overview", QUIET)
_MAX_TABLE_ROWS = 500


def recording_events(results: ResultSet, began: ev.Began) -> list[ev.AnyEvent]:
    """`began` is the first. Times only order the events, hundredths of a second apart: a replay shows them at once."""
    files, order = results.files, results.order
    blocks = list(_result_blocks(order))
    body: list[ev.AnyEvent] = []
    if len(files) == 1:
        body += [_fact_event(noted, files[0].name) for noted in files[0].result.facts]
        body += [
            ev.AbsentFact(t=0.0, subject="run", name=m.name, reason=m.reason, kind="captured")
            for m in files[0].result.missing
        ]
        body += list(_sample_events(files[0]))
    body += blocks
    body += [msgspec.structs.replace(s, t=0.0) for s in series_verdicts(results.courses)]
    end = max([0.0, *(e.t for e in body)])
    last: list[ev.AnyEvent] = [ImportedFiles(t=end, value=_imported_files(files))]
    if len(files) == 1 and files[0].timeline is not None:
        value = FileTimeline(files[0].name, files[0].timeline)
        last.append(TimelineResult(t=end, value=value))
    contradictions = _contradicted_values(files)
    if contradictions:
        last.append(Contradictions(t=end, value=contradictions))
    if results.boxes:
        last.append(Boxes(t=end, value=results.boxes))
    if results.courses:
        last.append(HistoriesResult(t=end, value=_histories_result(results.courses, order)))
    last += [ev.Found(t=end, finding=f) for f in _findings_with_answer(results)]
    fatal = next((f for f in files if f.result.is_fatal), None) if len(files) == 1 else None
    reason = "the file holds no measurement" if fatal is not None else None
    last.append(ev.RunEnded(t=end, status="done", reason=reason))
    plan = ev.Planned(t=0.0, plan=_import_plan(files, order))
    return [began, plan, *sorted(body, key=lambda e: e.t), *last]


def _import_plan(files: Sequence[ParsedImportFile], order: Sequence[RunSnapshot]) -> Plan:
    workloads: dict[str, dict[str, Metric]] = {}
    conditions: dict[str, dict[str, str]] = {}
    single = len(order) == 1
    for snapshot in order:
        for m in _measures_to_record(snapshot, single=single):
            metrics = workloads.setdefault(m.workload, {})
            metrics.setdefault(
                m.metric, Metric(m.metric, m.unit, m.better, m.judged, m.of if single else "mean", m.invalid)
            )
            conditions.setdefault(m.workload, m.conditions)
    kinds = ", ".join(dict.fromkeys(f.result.tool for f in files))
    return Plan(
        scenario=CARD.id,
        title=f"imported: {kinds}",
        question=f"What do the imported {kinds} results say, and do they contradict themselves?",
        variants=(Variant(id=VARIANT, label="imported result" + ("s" if len(order) > 1 else "")),),
        workloads=tuple(
            Workload(
                id=name,
                title=name,
                metrics=tuple(metrics.values()),
                min_groups=1,
                conditions=conditions[name],
            )
            for name, metrics in workloads.items()
        ),
    )


def _measures_to_record(snapshot: RunSnapshot, *, single: bool) -> Sequence[ImportedMeasure]:
    """The measures of a result. An invalid one is shown alone, and is no value of a series."""
    return [m for m in snapshot.measures if single or not m.invalid]


def _result_blocks(order: Sequence[RunSnapshot]) -> Iterator[ev.Block]:
    """A block a result; of a single result a block a repetition, so that its own spread is known."""
    single = len(order) == 1
    for index, snapshot in enumerate(order):
        for name, measures in _measures_by_workload(_measures_to_record(snapshot, single=single)).items():
            seconds = max(m.seconds for m in measures)
            repeated = [m for m in measures if len(m.runs) > 1] if single else []
            times = len(repeated[0].runs) if repeated else 1
            for turn in range(times):
                part = seconds / times
                values = {
                    m.metric: m.runs[turn] if times > 1 else m.value
                    for m in measures
                    if times == 1 or len(m.runs) == times
                }
                yield ev.Block(
                    t=TICK_S * (turn if single else index), workload=name, variant=VARIANT, values=values,
                    group=turn if single else index, index=turn if single else index, seconds=part,
                )  # fmt: skip


def _measures_by_workload(measures: Sequence[ImportedMeasure]) -> dict[str, list[ImportedMeasure]]:
    measures_by_workload: dict[str, list[ImportedMeasure]] = {}
    for m in measures:
        measures_by_workload.setdefault(m.workload, []).append(m)
    return measures_by_workload


def _fact_event(noted: Noted, source: str) -> ev.FactRead:
    subject = noted.subject or "run"
    return ev.FactRead(
        t=0.0, subject=subject, name=noted.name, value=noted.value, source=source, unit=noted.unit
    )


def _sample_events(file: ParsedImportFile) -> Iterator[ev.SampleTaken]:
    for p in file.result.points:
        yield ev.SampleTaken(
            t=0.0,
            series=p.series,
            variant=VARIANT,
            block=0,
            value=p.value,
            unit=p.unit,
            at_s=p.at_s,
        )


def _imported_files(files: Sequence[ParsedImportFile]) -> tuple[ImportedFile, ...]:
    """Return which files, of which tool, with their digests: at most 500."""
    return tuple(
        ImportedFile(
            file=f.name,
            kind=f.result.kind,
            tool=f.result.tool,
            version=f.result.version,
            host=f.result.host,
            measured=f.result.began,
            bytes=f.bytes,
            sha256=f.sha256,
            recomputed=", ".join(f.result.recomputed) or None,
        )
        for f in files[:_MAX_TABLE_ROWS]
    )


def _contradicted_values(files: Sequence[ParsedImportFile]) -> tuple[Contradicted, ...]:
    contradictions_by_file = ((f.name, c) for f in files for c in f.result.contradictions)
    return tuple(
        Contradicted(
            file=name,
            rule=c.id,
            subject=c.subject,
            claimed=c.claimed,
            recomputed=c.recomputed,
            unit=c.unit,
            by=c.rule,
        )
        for name, c in islice(contradictions_by_file, _MAX_TABLE_ROWS)
    )


def _histories_result(all_histories: Sequence[WorkloadHistory], order: Sequence[RunSnapshot]) -> Histories:
    """Return what the trend's picture is drawn from."""
    return Histories(
        results=tuple(s.name for s in order[:_MAX_TABLE_ROWS]),
        dates=tuple(s.began for s in order[:_MAX_TABLE_ROWS]),
        workloads=tuple(all_histories[:_MAX_TABLE_ROWS]),
    )


def _findings_with_answer(pile: ResultSet) -> list[Finding]:
    files, collected = pile.files, list(pile.findings)
    longest = max((len({m.workload for m in f.result.measures}) for f in files), default=0)
    if longest > MAX_WORKLOADS:
        collected.append(note_finding("import.left-out", f"{longest} in the file, {MAX_WORKLOADS} imported"))
    for file in files:
        own = file_findings(file)
        collected += own if len(files) == 1 else own[:-1]
    return _mark_answer(collected)


def _mark_answer(findings: Sequence[Finding]) -> list[Finding]:
    """Where nothing is wrong the last summary answers, not the first remark."""
    if any(f.severity in ("critical", "warning") for f in findings):
        return list(findings)
    summaries = [f for f in findings if f.severity == "ok" and f.id in _SUMMARIES]
    last = max(reversed(summaries), key=lambda f: f.id == QUIET, default=None)
    answered = (
        msgspec.structs.replace(f, answers=True, confidence="measured") if f is last else f for f in findings
    )
    return list(answered)
