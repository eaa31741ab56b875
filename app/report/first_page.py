"""The report's first page: who and when, both sides' numbers, whether to trust them, and what to do."""

from app.recording.imported import UNKNOWN_HOST
from app.recording.session import Session
from app.report import wording
from app.report.figures import latency
from app.report.figures.verdict_table import aside, beside, effects
from app.report.headline import alone, remarks
from app.report.next_steps import to_do
from app.report.numbers import measured_alone
from app.report.results import checkup
from app.report.validity import MARKS, TONES, trust
from probes.units import duration
from scenarios import events as ev
from scenarios.finding import Finding
from scenarios.results.document import (
    Bullets,
    Code,
    Mono,
    Part,
    ReportSection,
    Strong,
    Table,
    Toned,
    Words,
    paragraph_of,
)

MOST_FOUND = 6


def first_page(session: Session, recording: str, *, narrow: bool = False) -> tuple[ReportSection, ...]:
    """`narrow`: for few cells, see verdict_table. Who and when comes before it, in a report."""
    return (
        ReportSection("Result", tuple(_result(session, narrow=narrow))),
        ReportSection("Can it be trusted?", tuple(_trust(session))),
        ReportSection("What to do", tuple(_to_do(session, recording))),
        ReportSection("What was found", tuple(_found(session))),
    )


def who(session: Session, recording: str, label: str = "") -> list[Part]:
    began = session.began
    if began is None:
        return _ended(session)
    what = f"{began.scenario}, hostdx {began.version}" if began.scenario else f"hostdx {began.version}"
    took = "" if session.card.role == "import" else f", took {duration(session.time)}"
    host = "unknown" if began.host in ("", UNKNOWN_HOST) else began.host
    called = [Strong(f"“{label}”:")] if label else []
    return [
        paragraph_of(*called, f"Host {host}, {began.wall}{took}; {what}; recording", Mono(recording)),
        *_ended(session),
    ]


def _ended(session: Session) -> list[Part]:
    ended = session.ended
    if ended is None:
        return [paragraph_of(Strong("This recording has no end: its runner still runs, or was killed."))]
    if ended.status != "done":
        return [paragraph_of(Strong(f"{ended.status.capitalize()}:"), ended.reason or "no reason given")]
    return []


def _result(session: Session, *, narrow: bool) -> list[Part]:
    parts = checkup.parts(session)
    compared = [v for v in session.verdicts.values() if not v.control]
    sections = [top for result in session.results.values() if (top := result.on_top(session.time))]
    tables = [part for section in sections for part in section.parts if isinstance(part, Table)]
    if not tables and (texts := alone(session)):
        parts.append(Bullets(tuple((text,) for text in texts)))
    parts += tables
    if (alone_table := measured_alone(session)) is not None:
        parts.append(alone_table)
    found = effects(session, narrow=narrow)
    if found is not None:
        parts += [found, *([paragraph_of(*values)] if (values := beside(session)) else ())]
    if (times := latency.table(session)) is not None:
        parts += [times, paragraph_of(latency.MEANING)]
    if compared:
        parts += described(session)
    lines: list[Words] = [(line,) for line in wording.unmeasured(session, compared)]
    lines += [(_trend(session, series),) for series in session.series]
    if lines:
        parts.append(Bullets(tuple(lines)))
    if session.plan is not None and session.plan.differs:
        parts.append(
            paragraph_of(
                "The variants also differ in the following, so the verdict is about the whole stack:"
            )
        )
        parts.append(Bullets(tuple((text,) for text in session.plan.differs)))
    return parts


def described(session: Session, *, appendix: bool = False) -> list[Part]:
    """The sides whose names do not tell all; `appendix`: of the loads that stand there, the others' else."""
    apart, front = set[str](), set[str]()
    for verdict in session.verdicts.values():
        (apart if aside(session, verdict) else front).update((verdict.baseline, verdict.variant))
    told = {
        v.id: wording.described(v)
        for v in session.variants
        if (v.id in apart if appendix else v.id not in apart - front)
    }
    shown = tuple((Strong(f"{id}:"), words) for id, words in told.items() if words)
    return [Bullets(shown)] if shown else []


def _trend(session: Session, series: ev.SeriesVerdict) -> str:
    return wording.series_sentence(session, series) + (f". {series.explain}" if series.explain else ".")


def _trust(session: Session) -> list[Part]:
    items: list[Words] = [(Toned(f"{MARKS[s.state]} {s.text}", TONES[s.state]),) for s in trust(session)]
    if more := wording.beyond_bounds(session):
        items.append((Toned(more, "warning"),))
    return [Bullets(tuple(items))] if items else []


def _to_do(session: Session, recording: str) -> list[Part]:
    parts: list[Part] = []
    for remedy in to_do(session, recording):
        parts.append(paragraph_of(Strong(f"{remedy.title}.")))
        if remedy.warning:
            parts.append(paragraph_of(Strong("Beware:"), remedy.warning))
        if remedy.commands:
            parts.append(Code(remedy.commands, "sh"))
    return parts


def _found(session: Session) -> list[Part]:
    """What speaks against the host, the headline's own finding not once more."""
    loud = remarks(session)
    items: list[Words] = [_line(found) for found in loud[:MOST_FOUND]]
    if len(loud) > MOST_FOUND:
        items.append((f"{len(loud) - MOST_FOUND} more are listed in the appendix.",))
    return [Bullets(tuple(items))] if items else []


def _line(found: Finding) -> Words:
    sign = Strong(f"{wording.SIGNS[found.severity]} {found.severity}:")
    return (sign, "a hint:", found.title) if found.confidence == "hint" else (sign, found.title)
