"""The odd ones out of a pile of results as a document: each set of runs that lies apart, and by how much."""

from collections.abc import Sequence
from pathlib import Path

from probes.units import counted, listed
from scenarios.compare.odd import FAMILY_ERROR, LEAST_EFFECT, LEAST_RUNS, OddRuns
from scenarios.imported.cross_run import odd_findings
from scenarios.results.document import Bullets, ReportDocument, ReportSection, paragraph_of
from scenarios.rules.texts import Texts

SAYS = Texts(Path(__file__).with_name("texts.toml"))
_MOST_NAMED = 12


def odd_document(found: OddRuns, twins: Sequence[tuple[str, str]]) -> ReportDocument:
    findings = odd_findings(found)
    runs = counted(len(found.runs), "result")
    loads = counted(found.loads, "load")
    none = f"None of {runs} lies apart from the others in any of {loads}."
    sections = [
        ReportSection(f.title, (Bullets(tuple((line.text,) for line in f.evidence)),)) for f in findings
    ]
    names = listed(found.runs, _MOST_NAMED)
    pile = SAYS.text("odd-pile", runs=runs, names=names, least=LEAST_RUNS, loads=found.loads)
    method = [
        paragraph_of(pile),
        paragraph_of(SAYS.text("odd-method", effect=LEAST_EFFECT, error=FAMILY_ERROR)),
    ]
    if twins:
        method.append(
            paragraph_of(
                f"{counted(len(twins), 'result')} with the figures of another counted once: "
                f"{listed([f'{one} = {other}' for one, other in twins], _MOST_NAMED)}."
            )
        )
    lead = findings[0].title if findings else none
    sections.append(ReportSection("How it was looked at", tuple(method)))
    return ReportDocument(f"{runs}: which is odd?", (lead,), tuple(sections))
