"""A finding in a document: what it stands on, what to do with each step's commands, and what would prove it."""

from collections.abc import Iterator

from hostdx.app.recordings.answers import ranked_items
from hostdx.app.recordings.session import RunSession
from hostdx.app.report import confirmation, wording
from hostdx.app.report.numbers import is_imported
from hostdx.app.report.wording import SIGNS
from hostdx.probes.units import format_duration
from hostdx.scenarios.contract.finding import Finding, Remedy
from hostdx.scenarios.contract.results import document as doc
from hostdx.scenarios.contract.results.document import (
    Bullets,
    Code,
    Mono,
    Part,
    Strong,
    Toned,
    paragraph_of,
    split_code,
)
from hostdx.scenarios.contract.results.result import Item


def finding_title(finding: Finding) -> str:
    return f"{wording.SIGNS[finding.severity]} {finding.severity}: {finding.title}"


def finding_parts(finding: Finding, session: RunSession) -> list[Part]:
    origin = {"measured": "measured in this run", "rule": "read from the host", "hint": "a hint, not proved"}
    if is_imported(session):
        origin |= dict.fromkeys(("measured", "rule"), "read from the imported files")
    parts: list[Part] = [paragraph_of(f"Source: {origin[finding.confidence]}. Finding:", Mono(finding.id))]
    if finding.evidence:
        parts.append(
            Bullets(
                tuple(
                    (*split_code(e.text), *((Mono(f"[{e.source}]"),) if e.source else ()))
                    for e in finding.evidence
                )
            )
        )
    for remedy in finding.remedy:
        parts += _remedy_with_commands(remedy)
    if not session.is_captured and any(remedy.settings for remedy in finding.remedy):
        parts.append(
            paragraph_of(
                "To try it on this host, and have it put back:", Mono(confirmation.trial_command(finding))
            )
        )
    if finding.prove:
        place = " on that host" if session.is_captured else ""
        parts.append(
            paragraph_of(
                f"To measure what this costs or changes{place}:",
                Mono(confirmation.confirmation_command(finding, session)),
            )
        )
    if finding.references:
        parts.append(paragraph_of("References:"))
        parts.append(Bullets(tuple((Mono(reference),) for reference in finding.references)))
    return parts


def _remedy_with_commands(remedy: Remedy) -> list[Part]:
    parts: list[Part] = [paragraph_of(*split_code(f"What to do: {remedy.title}", strong=True))]
    if remedy.no_command and not remedy.commands:
        parts.append(paragraph_of(f"No command does it: {remedy.no_command}."))
    if remedy.warning:
        parts.append(paragraph_of(Strong("Beware:"), *split_code(remedy.warning)))
    command_groups = (
        ("", remedy.commands),
        ("To make it last:", remedy.persistent),
        ("To verify:", remedy.verify),
        ("To undo:", remedy.undo),
    )
    for title, commands in command_groups:
        if commands:
            if title:
                parts.append(paragraph_of(title))
            parts.append(Code(tuple(commands), "sh"))
    return parts


def incident_parts(finding: Finding) -> Iterator[doc.Part]:
    if finding.evidence:
        yield doc.Bullets(tuple(split_code(row.text) for row in finding.evidence))
    for remedy in finding.remedy:
        yield doc.paragraph_of(*split_code(f"What to do: {remedy.title}"))
    if finding.prove:
        yield doc.paragraph_of("To measure it now: ", doc.Mono(f"hostdx run {finding.prove}"))


def item_sign(item: Item) -> str:
    return "?" if item.severity == "unknown" else SIGNS[item.severity]


def checkup_parts(session: RunSession, title: str) -> list[Part]:
    """The ranked list of a checkup. What `title` says already is not said again."""
    out: list[Part] = []
    for item in ranked_items(session):
        took = f"({format_duration(item.seconds)})" if item.seconds else ""
        line = f"{item.rank}. as the title says" if item.words == title else item.ranked_line
        out.append(paragraph_of(Toned(item_sign(item), item.severity), *split_code(line), took))
        for step in item.following[:1]:
            out += [paragraph_of(f"What next: {step.title_with_price}"), Code(step.all_commands, "sh")]
    return out
