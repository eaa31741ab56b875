"""A checkup's answer, line by line, for every view: the ranked list, and what to do about each."""

from app.recording.session import Session
from app.report.wording import SIGNS
from probes.units import duration
from scenarios.finding import Finding
from scenarios.results.document import Code, Mono, Part, Toned, say
from scenarios.results.result import Item, RankedAnswer


def items(session: Session) -> tuple[Item, ...]:
    """Empty where the recording is none of a checkup, or nothing was ranked yet."""
    found = session.result(RankedAnswer)
    return found.value if found is not None else ()


def sign_of(one: Item) -> str:
    return "?" if one.severity == "unknown" else SIGNS[one.severity]


def beside(session: Session) -> list[Finding]:
    """The findings of a run; of a checkup without its answer and without those that its list names."""
    found = items(session)
    named = {key for one in found for key in one.about}
    return [f for f in session.worst_first if not (found and f.answers) and f.key not in named]


def parts(session: Session) -> list[Part]:
    """For a document."""
    out: list[Part] = []
    for one in items(session):
        took = f"({duration(one.seconds)})" if one.seconds else ""
        recording = Mono("/".join(one.recording.split("/")[-2:])) if one.recording else ""
        out.append(say(Toned(sign_of(one), one.severity), one.line, took, recording))
        for step in one.following[:1]:
            out += [say(f"What next: {step.priced}"), Code(step.commands, "sh")]
    return out
