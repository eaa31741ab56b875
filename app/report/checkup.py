"""A checkup's answer, line by line, for every view: the ranked list, and what to do about each."""

from __future__ import annotations

from typing import NamedTuple

from app.recording.session import Session
from app.report.wording import SIGNS
from probes.units import duration
from scenarios.finding import Finding, NextStep
from scenarios.results.document import Mono, Table
from scenarios.results.result import Item, RankedAnswer


class Ranked(NamedTuple):
    sign: str
    role: str  # a severity, or "unknown"
    words: str
    following: NextStep | None


def items(session: Session) -> tuple[Item, ...]:
    """Empty where the recording is none of a checkup, or nothing was ranked yet."""
    found = session.result(RankedAnswer)
    return found.value if found is not None else ()


def ranked(session: Session) -> list[Ranked]:
    out = []
    for one in items(session):
        out.append(Ranked(sign_of(one), one.severity, one.line, next(iter(one.following), None)))
    return out


def sign_of(one: Item) -> str:
    return "?" if one.severity == "unknown" else SIGNS[one.severity]


def beside(session: Session) -> list[Finding]:
    """The findings of a run; of a checkup without its answer and without those that its list names."""
    found = items(session)
    named = {key for one in found for key in one.about}
    return [f for f in session.worst_first if not (found and f.answers) and f.key not in named]


def table(session: Session) -> Table | None:
    """For the report; None where there is nothing."""
    found = items(session)
    if not found:
        return None
    rows = tuple(
        (
            f"{sign_of(one)} {one.line}",
            duration(one.seconds) if one.seconds else "",
            one.following[0].title if one.following else "",
            Mono("; ".join(one.following[0].commands)) if one.following else "",
            Mono("/".join(one.recording.split("/")[-2:])) if one.recording else "",
        )
        for one in found
    )
    return Table(("answer", "took", "what next", "command", "recording"), rows).without_empty_columns()
