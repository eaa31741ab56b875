"""An incident's finding in a document: what shows it, what to do, and what measures it now."""

from collections.abc import Iterator

from scenarios.contract.finding import Finding
from scenarios.contract.results import document as doc


def incident_parts(finding: Finding) -> Iterator[doc.Part]:
    if finding.evidence:
        yield doc.Bullets(tuple((row.text,) for row in finding.evidence))
    for remedy in finding.remedy:
        yield doc.paragraph_of(f"What to do: {remedy.title}.")
    if finding.prove:
        yield doc.paragraph_of("To measure it now: ", doc.Mono(f"hostdx run {finding.prove}"))
