"""Contradictions and troubles as findings: one an id, with both figures of every subject as evidence."""

from collections.abc import Iterable, Sequence

from hostdx.probes import units
from hostdx.probes.imports.accounting import load_field_accounts
from hostdx.probes.imports.model import Contradiction, ImportedMeasure, ImportTrouble
from hostdx.probes.imports.numbers import imported_text
from hostdx.probes.imports.storage.io500_table import Io500Table
from hostdx.scenarios.analysis.compare.snapshot import ParsedImportFile
from hostdx.scenarios.analysis.incidents.findings import incident_or_quiet_findings
from hostdx.scenarios.contract.finding import Evidence, Finding
from hostdx.scenarios.triage.rules.texts import finding_texts

SAYS = finding_texts("analysis/imported")

_MAX_EVIDENCE_LINES = 20
NOT_IMPORTED, RECOGNISED = "import.not-imported", "import.recognised"
_MAX_NAMED = 12  # groups of fields in one line
_HEADLINE = 3  # measures named in the summary
_MIN_WORKLOADS_FOR_RANGE = 8


def file_findings(file: ParsedImportFile) -> list[Finding]:
    """Of one file; the last is its summary, with severity `ok`."""
    result = file.result
    contradiction_findings = [
        _import_finding(id_, [_problem_text(contradiction) for contradiction in same_id_items], file)
        for items in (result.contradictions, result.troubles)
        for id_, same_id_items in _group_by_id(items).items()
    ]
    incidents = incident_or_quiet_findings(file.timeline, file.name) if file.timeline is not None else []
    return [*incidents, *contradiction_findings, *_left_out_findings(file), summary_finding(file)]


def _left_out_findings(file: ParsedImportFile) -> list[Finding]:
    """Return what of the file is not imported; of free text, whose fields nobody lists, what was recognised in it."""
    result = file.result
    if result.left_out:
        left_out_names = [
            group.name if group.fields == 1 else f"{group.name} ({units.count_noun(group.fields, 'field')})"
            for group in result.left_out
        ]
        evidence = [
            Evidence(f"{name}: {group.reason}", file.name)
            for name, group in zip(left_out_names[:_MAX_EVIDENCE_LINES], result.left_out, strict=False)
        ]
        return [
            SAYS.finding(
                "not-imported", id=NOT_IMPORTED, subject=file.name, what=units.join_names(left_out_names, _MAX_NAMED),
                evidence=evidence,
            )
        ]  # fmt: skip
    if result.kind in load_field_accounts() or not result.measures:
        return []
    metrics = list(dict.fromkeys(m.metric for m in result.measures))
    return [
        SAYS.finding(
            "recognised", id=RECOGNISED, subject=file.name, what=units.join_names(metrics, _MAX_NAMED)
        )
    ]


def note_finding(identifier: str, text: str, *, count: str = "") -> Finding:
    return SAYS.finding(identifier, id=identifier, evidence=(Evidence(text),) if text else (), count=count)


def _group_by_id(
    items: Iterable[Contradiction | ImportTrouble],
) -> dict[str, list[Contradiction | ImportTrouble]]:
    groups: dict[str, list[Contradiction | ImportTrouble]] = {}
    for item in items:
        groups.setdefault(item.id, []).append(item)
    return groups


def _import_finding(identifier: str, evidence: Sequence[str], file: ParsedImportFile) -> Finding:
    shown = [Evidence(line, file.name) for line in evidence[:_MAX_EVIDENCE_LINES] if line]
    if len(evidence) > _MAX_EVIDENCE_LINES:
        shown.append(Evidence(f"and {len(evidence) - _MAX_EVIDENCE_LINES} more", file.name))
    is_known_id = ("finding", identifier) in SAYS.all_entries
    return SAYS.finding(
        identifier if is_known_id else "unknown", id=f"import.{identifier}", subject=file.name, evidence=shown
    )


def _problem_text(item: Contradiction | ImportTrouble) -> str:
    """`TOTAL: the file says 36.07, its parts give 6.006 (square root of …)`."""
    if isinstance(item, ImportTrouble):
        return ": ".join(part for part in (item.subject, item.said) if part)
    rule = f" ({item.rule})" if item.rule else ""
    claimed, gives = imported_text(item.claimed, item.unit), imported_text(item.recomputed, item.unit)
    return f"{item.subject}: the file says {claimed}, its parts give {gives}{rule}"


_OF_RUNS = {"mean": "mean", "median": "median", "max": "greatest"}


def measure_text(measure: ImportedMeasure) -> str:
    """Return `job read: 9160 IOPS (median of 5 runs)`: a unit that the metric's name holds is named once."""
    count = f" ({_OF_RUNS[measure.of]} of {len(measure.runs)} runs)" if len(measure.runs) > 1 else ""
    if measure.metric.endswith(f" {measure.unit}"):
        return f"{measure.workload}: {measure.metric} {imported_text(measure.value, '')}{count}"
    name = "" if measure.metric == measure.unit else f"{measure.metric} "
    return f"{measure.workload}: {name}{imported_text(measure.value, measure.unit)}{count}"


def summary_finding(file: ParsedImportFile) -> Finding:
    """Return what was imported, in one line; the headline where nothing is wrong with it."""
    result = file.result
    if isinstance(result.detail, Io500Table) and len(result.detail.runs) > 1:
        table = result.detail
        title = f"{result.tool}: {len(table.runs)} runs, {len(table.units)} values each"
        return SAYS.finding("summary", subject=file.name, what=title)
    leading = headline_text(result.measures)
    tool_name = f"{result.tool} {result.version}" if result.version else result.tool
    count, thing = (len(result.measures), "value") if result.measures else (len(result.facts), "fact")
    counted_title = f"{tool_name}, {units.count_noun(count, thing)}"
    title = f"{counted_title}: {leading}" if leading else counted_title
    recomputed = ", ".join(result.recomputed)
    evidence = [SAYS.evidence("recomputed", values=recomputed, file=file.name)] if recomputed else []
    return SAYS.finding("summary", subject=file.name, what=title, evidence=evidence)


def headline_text(measures: Sequence[ImportedMeasure]) -> str:
    """A score where there is one, else the first judged values of different workloads.

    Of one metric of many workloads, as in a table by message size: from the least value to the greatest.
    """
    scores = [m for m in measures if m.metric in ("score", "index")][:1]
    if scores:
        return measure_text(scores[0])
    first_measures: dict[tuple[str, bool], ImportedMeasure] = {}
    for m in measures:
        if m.judged:  # what the caller waited for, besides how much was done
            first_measures.setdefault((m.workload, m.metric == "mean sync latency"), m)
    leading = list(first_measures.values())
    if len(leading) < _MIN_WORKLOADS_FOR_RANGE or len({(m.metric, m.unit) for m in leading}) > 1:
        return "; ".join(map(measure_text, leading[:_HEADLINE]))
    ends = [imported_text(end(m.value for m in leading), leading[0].unit) for end in (min, max)]
    return f"{leading[0].metric} from {ends[0]} to {ends[1]} in {units.count_noun(len(leading), 'load')}"
