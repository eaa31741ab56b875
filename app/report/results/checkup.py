"""A checkup's answer, line by line, for every view: the ranked list, and what to do about each."""

from app.recording.answers import items
from app.recording.session import Session
from app.report.wording import SIGNS
from probes.units import duration
from scenarios.results.document import Code, Mono, Part, Toned, paragraph_of
from scenarios.results.result import Item


def sign_of(one: Item) -> str:
    return "?" if one.severity == "unknown" else SIGNS[one.severity]


def parts(session: Session) -> list[Part]:
    """For a document."""
    out: list[Part] = []
    for one in items(session):
        took = f"({duration(one.seconds)})" if one.seconds else ""
        recording = Mono("/".join(one.recording.split("/")[-2:])) if one.recording else ""
        out.append(paragraph_of(Toned(sign_of(one), one.severity), one.ranked_line, took, recording))
        for step in one.following[:1]:
            out += [paragraph_of(f"What next: {step.title_with_price}"), Code(step.all_commands, "sh")]
    return out
