"""Outliers of a result set as a document: each set of runs that differs, and by how much."""

from collections.abc import Sequence
from pathlib import Path

from probes.units import count_noun, join_names
from scenarios.analysis.compare.odd import FAMILY_ERROR, MIN_EFFECT, MIN_RUNS, OddRuns
from scenarios.analysis.imported.cross_run import odd_findings
from scenarios.contract.results.document import Bullets, ReportDocument, ReportSection, paragraph_of
from scenarios.triage.rules.texts import FindingTexts

SAYS = FindingTexts(Path(__file__).with_name("texts.toml"))
_MAX_NAMED = 12


def outlier_document(outliers: OddRuns, twins: Sequence[tuple[str, str]]) -> ReportDocument:
    findings = odd_findings(outliers)
    runs = count_noun(len(outliers.runs), "result")
    loads = count_noun(outliers.loads, "load")
    none = f"None of {runs} lies apart from the others in any of {loads}."
    sections = [
        ReportSection(f.title, (Bullets(tuple((line.text,) for line in f.evidence)),)) for f in findings
    ]
    names = join_names(outliers.runs, _MAX_NAMED)
    pile = SAYS.text("odd-pile", runs=runs, names=names, least=MIN_RUNS, loads=outliers.loads)
    method = [
        paragraph_of(pile),
        paragraph_of(SAYS.text("odd-method", effect=MIN_EFFECT, error=FAMILY_ERROR)),
    ]
    if twins:
        method.append(
            paragraph_of(
                f"{count_noun(len(twins), 'result')} with the figures of another counted once: "
                f"{join_names([f'{twin} = {other}' for twin, other in twins], _MAX_NAMED)}."
            )
        )
    lead = findings[0].title if findings else none
    sections.append(ReportSection("How it was looked at", tuple(method)))
    return ReportDocument(lead, (f"Which of {runs} differs from the others?",), tuple(sections))
