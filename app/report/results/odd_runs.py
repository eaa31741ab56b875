"""The odd ones out of a pile of results as a document: each set of runs that lies apart, and by how much."""

from __future__ import annotations

from collections.abc import Sequence

from probes.units import counted, listed, percent
from scenarios.compare.odd import FAMILY_ERROR, LEAST_EFFECT, LEAST_RUNS, OddRuns
from scenarios.imported.cross_run import odd_findings
from scenarios.results.document import Bullets, Document, Section, say

_MOST_NAMED = 12


def odd_document(found: OddRuns, twins: Sequence[tuple[str, str]]) -> Document:
    findings = odd_findings(found)
    runs = counted(len(found.runs), "result")
    loads = counted(found.loads, "load")
    none = f"None of {runs} lies apart from the others in any of {loads}."
    sections = [Section(f.title, (Bullets(tuple((line.text,) for line in f.evidence)),)) for f in findings]
    method = [
        say(
            f"{runs}: {listed(found.runs, _MOST_NAMED)}. Looked at were the loads that {LEAST_RUNS} and more of them "
            f"have under the same conditions: {found.loads}."
        ),
        say(
            "For each load the centre and the spread are those of the runs that lie closest together; a run lies apart "
            f"where it differs by more than {percent(LEAST_EFFECT)} and by more than chance gives: all loads of the "
            f"pile together name a run wrongly in at most {percent(FAMILY_ERROR)} of such piles. The intervals hold "
            "for the whole pile too."
        ),
    ]
    if twins:
        method.append(
            say(
                f"{counted(len(twins), 'result')} with the figures of another counted once: "
                f"{listed([f'{one} = {other}' for one, other in twins], _MOST_NAMED)}."
            )
        )
    lead = findings[0].title if findings else none
    sections.append(Section("How it was looked at", tuple(method)))
    return Document(f"{runs}: which is odd?", (lead,), tuple(sections))
