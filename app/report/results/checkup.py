"""A checkup's answer, line by line, for every view: the ranked list, and what to do about each."""

from app.recordings.answers import ranked_items
from app.recordings.session import RunSession
from app.report.wording import SIGNS
from probes.units import format_duration
from scenarios.contract.results.document import Code, Mono, Part, Toned, paragraph_of
from scenarios.contract.results.result import Item


def sign_of(item: Item) -> str:
    return "?" if item.severity == "unknown" else SIGNS[item.severity]


def checkup_parts(session: RunSession) -> list[Part]:
    """For a document."""
    out: list[Part] = []
    for item in ranked_items(session):
        took = f"({format_duration(item.seconds)})" if item.seconds else ""
        recording = Mono("/".join(item.recording.split("/")[-2:])) if item.recording else ""
        out.append(paragraph_of(Toned(sign_of(item), item.severity), item.ranked_line, took, recording))
        for step in item.following[:1]:
            out += [paragraph_of(f"What next: {step.title_with_price}"), Code(step.all_commands, "sh")]
    return out
