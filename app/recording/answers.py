"""The ranked answer of a checkup, and the findings that stand besides it: one list for every view."""

from app.recording.session import Session
from scenarios.finding import Finding
from scenarios.results.result import Item, RankedAnswer


def items(session: Session) -> tuple[Item, ...]:
    """Empty where the recording is none of a checkup, or nothing was ranked yet."""
    found = session.result(RankedAnswer)
    return found.value if found is not None else ()


def beside(session: Session) -> list[Finding]:
    """The findings of a run; of a checkup without its answer and without those that its list names."""
    found = items(session)
    named = {key for one in found for key in one.about}
    return [f for f in session.worst_first if not (found and f.answers) and f.key not in named]
