"""Contradictions and troubles as findings: one an id, with both figures of every subject as evidence."""

from collections.abc import Iterable, Sequence

from probes import units
from probes.imports.accounting import load_accounts
from probes.imports.model import Contradiction, Measure, Trouble
from probes.imports.storage.io500_table import Io500Table
from scenarios.compare.snapshot import Imported
from scenarios.finding import Evidence, Finding
from scenarios.rules.texts import texts

SAYS = texts("imported")

_MOST_EVIDENCE = 20
NOT_IMPORTED, RECOGNISED = "import.not-imported", "import.recognised"
_MAX_NAMED = 12  # groups of fields in one line
_HEADLINE = 3  # measures named in the summary


def findings(file: Imported) -> list[Finding]:
    """Of one file; the last is its summary, with severity `ok`."""
    result = file.result
    made = [
        _finding(id_, [_told(one) for one in found], file)
        for items in (result.contradictions, result.troubles)
        for id_, found in _grouped(items).items()
    ]
    return [*made, *_accounted(file), summary(file)]


def _accounted(file: Imported) -> list[Finding]:
    """What of the file is not imported; of free text, whose fields nobody can list, what was recognised in it."""
    result = file.result
    if result.left_out:
        named = [
            one.name if one.fields == 1 else f"{one.name} ({units.counted(one.fields, 'field')})"
            for one in result.left_out
        ]
        evidence = [
            Evidence(f"{name}: {one.reason}", file.name)
            for name, one in zip(named[:_MOST_EVIDENCE], result.left_out, strict=False)
        ]
        return [
            SAYS.finding(
                "not-imported", id=NOT_IMPORTED, subject=file.name, what=units.listed(named, _MAX_NAMED),
                evidence=evidence,
            )
        ]  # fmt: skip
    if result.kind in load_accounts() or not result.measures:
        return []
    metrics = list(dict.fromkeys(m.metric for m in result.measures))
    return [
        SAYS.finding("recognised", id=RECOGNISED, subject=file.name, what=units.listed(metrics, _MAX_NAMED))
    ]


def note(identifier: str, text: str, *, count: str = "") -> Finding:
    return SAYS.finding(identifier, id=identifier, evidence=(Evidence(text),) if text else (), count=count)


def _grouped(items: Iterable[Contradiction | Trouble]) -> dict[str, list[Contradiction | Trouble]]:
    groups: dict[str, list[Contradiction | Trouble]] = {}
    for item in items:
        groups.setdefault(item.id, []).append(item)
    return groups


def _finding(identifier: str, evidence: Sequence[str], file: Imported) -> Finding:
    shown = [Evidence(line, file.name) for line in evidence[:_MOST_EVIDENCE] if line]
    if len(evidence) > _MOST_EVIDENCE:
        shown.append(Evidence(f"and {len(evidence) - _MOST_EVIDENCE} more", file.name))
    known = ("finding", identifier) in SAYS.entries
    return SAYS.finding(
        identifier if known else "unknown", id=f"import.{identifier}", subject=file.name, evidence=shown
    )


def _told(item: Contradiction | Trouble) -> str:
    """`TOTAL: the file says 36.07, its parts give 6.006 (square root of …)`."""
    if isinstance(item, Trouble):
        return ": ".join(part for part in (item.subject, item.said) if part)
    rule = f" ({item.rule})" if item.rule else ""
    claimed, gives = said(item.claimed, item.unit), said(item.recomputed, item.unit)
    return f"{item.subject}: the file says {claimed}, its parts give {gives}{rule}"


def said(value: float | str, unit: str) -> str:
    """A value as a person reads it; text of the file stays as it is."""
    if isinstance(value, str):
        return f"{value} {unit}".rstrip()
    match unit:
        case "B/s":
            return units.rate(value)
        case "B":
            return units.size(value)
        case "s":
            return units.elapsed(value * 1e9) if abs(value) < 10 else units.duration(value)
        case "%":
            return f"{units.number(value, 4)} %"
    return f"{units.number(value, 4)} {unit}".rstrip()


def measured(measure: Measure) -> str:
    name = "" if measure.metric == measure.unit else f"{measure.metric} "
    return f"{measure.workload}: {name}{said(measure.value, measure.unit)}"


def summary(file: Imported) -> Finding:
    """What was imported, in one line; the headline where nothing is wrong with it."""
    result = file.result
    if isinstance(result.detail, Io500Table) and len(result.detail.runs) > 1:
        table = result.detail
        title = f"{result.tool}: {len(table.runs)} runs, {len(table.units)} values each"
        return SAYS.finding("summary", subject=file.name, what=title)
    leading = headline(result.measures)
    what = f"{result.tool} {result.version}" if result.version else result.tool
    count, thing = (len(result.measures), "value") if result.measures else (len(result.facts), "fact")
    named = f"{what}, {units.counted(count, thing)}"
    title = f"{named}: {'; '.join(map(measured, leading))}" if leading else named
    recomputed = ", ".join(result.recomputed)
    evidence = [SAYS.evidence("recomputed", values=recomputed, file=file.name)] if recomputed else []
    return SAYS.finding("summary", subject=file.name, what=title, evidence=evidence)


def headline(measures: Sequence[Measure]) -> list[Measure]:
    """Scores where there are some, else the first judged values of different workloads."""
    scores = [m for m in measures if m.metric in ("score", "index")][:1]
    if scores:
        return scores
    seen: dict[tuple[str, bool], Measure] = {}
    for m in measures:
        if m.judged:  # what the caller waited for, besides how much was done
            seen.setdefault((m.workload, m.metric == "mean sync latency"), m)
    return list(seen.values())[:_HEADLINE]
