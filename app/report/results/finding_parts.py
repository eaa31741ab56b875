"""A finding in a document: what it stands on, what to do with each step's commands, and what would prove it."""

from app.recording.session import Session
from app.report import confirmation, wording
from app.report.numbers import imported
from scenarios.finding import Finding, Remedy
from scenarios.results.document import Bullets, Code, Mono, Part, Strong, paragraph_of


def finding_title(found: Finding) -> str:
    return f"{wording.SIGNS[found.severity]} {found.severity}: {found.title}"


def finding_parts(found: Finding, session: Session) -> list[Part]:
    how = {"measured": "measured in this run", "rule": "read from the host", "hint": "a hint, not proved"}
    if imported(session):
        how |= dict.fromkeys(("measured", "rule"), "read from the imported files")
    parts: list[Part] = [paragraph_of(f"{how[found.confidence].capitalize()}.", Mono(found.id))]
    if found.evidence:
        parts.append(
            Bullets(tuple((e.text, *((Mono(e.source),) if e.source else ())) for e in found.evidence))
        )
    for remedy in found.remedy:
        parts += _remedy(remedy)
    if found.prove:
        where = " on that host" if session.captured else ""
        parts.append(
            paragraph_of(
                f"A measurement that would prove it{where}:", Mono(confirmation.command(found, session))
            )
        )
    if found.references:
        parts.append(paragraph_of("References:"))
        parts.append(Bullets(tuple((Mono(reference),) for reference in found.references)))
    return parts


def _remedy(remedy: Remedy) -> list[Part]:
    parts: list[Part] = [paragraph_of(Strong(f"What to do: {remedy.title}"))]
    if remedy.no_command and not remedy.commands:
        parts.append(paragraph_of(f"No command does it: {remedy.no_command}."))
    if remedy.warning:
        parts.append(paragraph_of(Strong("Beware:"), remedy.warning))
    named = (
        ("", remedy.commands),
        ("To make it last:", remedy.persistent),
        ("To verify:", remedy.verify),
        ("To undo:", remedy.undo),
    )
    for title, commands in named:
        if commands:
            if title:
                parts.append(paragraph_of(title))
            parts.append(Code(tuple(commands), "sh"))
    return parts
