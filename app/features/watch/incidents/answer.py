"""What the incident book says: the incidents as findings, with the user, the control group and who waited."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path

import msgspec
from msgspec import structs

from hostdx.app.features.watch.incidents.book import IncidentBook
from hostdx.app.features.watch.incidents.summaries import FILE_NAME
from hostdx.probes import units
from hostdx.scenarios.analysis.incidents.findings import SAYS, incident_or_quiet_findings
from hostdx.scenarios.analysis.incidents.hours import MIN_DAYS, HourSummary, UsualHour, find_usual_hour
from hostdx.scenarios.analysis.incidents.incidents import Incident, Timeline
from hostdx.scenarios.analysis.incidents.looks import count_close_looks_and_waits, culprit_use, judge_looks
from hostdx.scenarios.contract.finding import Evidence, Finding

MIN_VICTIM_SHARE = 0.2  # of the close looks: who waited in fewer is not named
MIN_ONLY_USER_SHARE = 0.95  # of what all processes of a name did: what others did then is not worth a word


class BookAnswer(msgspec.Struct, frozen=True):
    """`timeline` is None where the book has too few looks to know a quiet level. `first_s`: of the epoch."""

    folder: str
    looks: int
    unreadable: int
    timeline: Timeline | None
    findings: tuple[Finding, ...]
    first_s: float = 0.0


def judge_book(book: IncidentBook, folder: Path, hours: Sequence[HourSummary] = ()) -> BookAnswer:
    """`hours`: the summaries of the weeks before; what is usual at its hour is told, and is no warning."""
    timeline = judge_looks(book.looks)
    if timeline is None:
        return BookAnswer(str(folder), len(book.looks), book.unreadable, None, ())
    incidents = timeline.incidents
    first_s = book.looks[0].wall_s
    usual = {incident: find_usual_hour(incident, first_s, hours) for incident in incidents}
    # the worst stays first, behind it what happens at that hour anyway
    ordered = tuple(sorted(incidents, key=lambda incident: usual[incident].is_usual))
    timeline = structs.replace(timeline, incidents=ordered)
    findings = incident_or_quiet_findings(timeline, str(folder))
    if ordered:
        findings = [
            structs.replace(
                finding,
                severity="ok" if usual[incident].is_usual else finding.severity,
                evidence=(
                    *finding.evidence,
                    *_culprit_and_victim_evidence(book, incident, str(folder)),
                    *_usual_hour_evidence(usual[incident], folder),
                ),
            )
            for finding, incident in zip(findings, ordered, strict=False)
        ]
    return BookAnswer(str(folder), len(book.looks), book.unreadable, timeline, tuple(findings), first_s)


def _usual_hour_evidence(usual: UsualHour, folder: Path) -> list[Evidence]:
    """Of fewer days than make an hour usual nothing is said."""
    if usual.days < MIN_DAYS:
        return []
    return [
        SAYS.evidence(
            "usual" if usual.is_usual else "unusual",
            count=usual.high_days,
            days=units.count_noun(usual.days, "weekend day" if usual.weekend else "working day"),
            file=str(folder / FILE_NAME),
        )
    ]


def _culprit_and_victim_evidence(book: IncidentBook, incident: Incident, source: str) -> list[Evidence]:
    evidence: list[Evidence] = []
    if (found := culprit_use(book.looks, incident)) is not None:
        process, share = found
        evidence.append(
            SAYS.evidence(
                "process" if share > MIN_ONLY_USER_SHARE else "one-of-several-users",
                pid=process.pid,
                user=process.user or "–",
                group=process.group or "–",
                share=units.format_percent(share),
                file=source,
            )
        )
    looks, victims = count_close_looks_and_waits(book.looks, book.close_looks, incident)
    evidence += [
        SAYS.evidence("victim", process=name, function=function or "–", count=count, looks=looks, file=source)
        for name, function, count in victims
        if count >= MIN_VICTIM_SHARE * looks
    ]
    return evidence


def choose_incidents(
    answer: BookAnswer, *, minute: str | None = None, since_s: float | None = None, worst: bool = False
) -> list[tuple[Incident, Finding]]:
    """Return the incidents with their findings, the worst first.

    `minute`: HH:MM of the host's clock, those that covered it, the newest day first; `since_s`: those that ended
    within so many seconds before the newest look.
    """
    timeline = answer.timeline
    if timeline is None:
        return []
    chosen = list(zip(timeline.incidents, answer.findings, strict=False))
    if since_s is not None:
        chosen = [pair for pair in chosen if pair[0].ended_s >= timeline.seconds - since_s]
    if minute is not None:
        chosen = [pair for pair in chosen if _covers_minute(pair[0], timeline, minute)]
        chosen.sort(key=lambda pair: -pair[0].began_s)
    return chosen[:1] if worst else chosen


def _covers_minute(incident: Incident, timeline: Timeline, at: str) -> bool:
    first = datetime.fromisoformat(timeline.times.first)
    began, ended = (first + timedelta(seconds=at_s) for at_s in (incident.began_s, incident.ended_s))
    minute = datetime.combine(began.date(), datetime.strptime(at, "%H:%M").time())
    return any(
        minute + timedelta(days=day) <= ended and minute + timedelta(days=day, minutes=1) > began
        for day in (0, 1)
    )
