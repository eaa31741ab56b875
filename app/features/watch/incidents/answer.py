"""What the incident book says: the incidents as findings, with the user, the control group and who waited."""

from datetime import datetime, timedelta
from pathlib import Path

import msgspec

from app.features.watch.incidents.book import Book
from scenarios.analysis.incidents.findings import SAYS, incident_findings
from scenarios.analysis.incidents.incidents import Incident, Timeline
from scenarios.analysis.incidents.looks import count_victims, find_process, judge_looks
from scenarios.contract.finding import Evidence, Finding

MIN_VICTIM_SHARE = 0.2  # of the close looks: who waited in fewer is not named


class BookAnswer(msgspec.Struct, frozen=True):
    """`timeline` is None where the book has too few looks to know a quiet level."""

    folder: str
    looks: int
    unreadable: int
    timeline: Timeline | None
    findings: tuple[Finding, ...]


def answer_of(book: Book, folder: Path) -> BookAnswer:
    timeline = judge_looks(book.looks)
    findings = incident_findings(timeline, str(folder)) if timeline is not None else []
    if timeline is not None and timeline.incidents:
        findings = [
            msgspec.structs.replace(
                finding, evidence=(*finding.evidence, *_detail_evidence(book, incident, str(folder)))
            )
            for finding, incident in zip(findings, timeline.incidents, strict=False)
        ]
    return BookAnswer(str(folder), len(book.looks), book.unreadable, timeline, tuple(findings))


def _detail_evidence(book: Book, incident: Incident, source: str) -> list[Evidence]:
    evidence: list[Evidence] = []
    process = find_process(book.looks, incident)
    if process is not None:
        evidence.append(
            SAYS.evidence(
                "process",
                pid=process.pid,
                user=process.user or "–",
                group=process.group or "–",
                file=source,
            )
        )
    looks, victims = count_victims(book.looks, book.close_looks, incident)
    evidence += [
        SAYS.evidence("victim", process=name, function=function or "–", count=count, looks=looks, file=source)
        for name, function, count in victims
        if count >= MIN_VICTIM_SHARE * looks
    ]
    return evidence


def choose_incidents(
    answer: BookAnswer, *, at: str | None = None, since_s: float | None = None, worst: bool = False
) -> list[tuple[Incident, Finding]]:
    """Return the incidents with their findings, the worst first.

    `at`: HH:MM of the host's clock, those that covered that minute, the newest day first; `since_s`: those that ended
    within so many seconds before the newest look.
    """
    timeline = answer.timeline
    if timeline is None:
        return []
    chosen = list(zip(timeline.incidents, answer.findings, strict=False))
    if since_s is not None:
        chosen = [pair for pair in chosen if pair[0].ended_s >= timeline.seconds - since_s]
    if at is not None:
        chosen = [pair for pair in chosen if _covers_minute(pair[0], timeline, at)]
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
