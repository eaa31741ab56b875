"""The report's first page: who and when, both sides' numbers, whether to trust them, and what to do."""

from __future__ import annotations

from app.recording.session import Session
from app.report import checkup, wording
from app.report.document import Bullets, Code, Mono, Part, Picture, Section, Strong, Words, say
from app.report.effects_svg import effects_svg
from app.report.following import following
from app.report.trust import MARKS, trust
from app.report.verdict_table import beside, rows, table
from probes.units import duration
from scenarios import events as ev
from scenarios.imported import SCENARIO

FEW = 3  # findings whose remedies stand on the first page


def first_page(session: Session, recording: str) -> tuple[Section, ...]:
    sections = (
        Section("Result", (*_who(session, recording), *_ended(session), *_result(session))),
        Section("Can it be trusted?", tuple(_trust(session))),
        Section("What to do", tuple(_to_do(session, recording))),
    )
    return tuple(section for section in sections if section.parts)


def _who(session: Session, recording: str) -> list[Part]:
    began = session.began
    if began is None:
        return []
    what = f"{began.scenario}, hostdx {began.version}" if began.scenario else f"hostdx {began.version}"
    took = "" if began.scenario == SCENARIO else f", took {duration(session.time)}"
    return [say(f"Host {began.host or 'unknown'}, {began.wall}{took}; {what}; recording", Mono(recording))]


def _ended(session: Session) -> list[Part]:
    ended = session.ended
    if ended is None:
        return [say(Strong("This recording has no end: its runner still runs, or was killed."))]
    if ended.status != "done":
        return [say(Strong(f"{ended.status.capitalize()}:"), ended.reason or "no reason given")]
    return []


def _result(session: Session) -> list[Part]:
    parts: list[Part] = []
    compared = [v for v in session.verdicts.values() if not v.control]
    variants = session.plan.variants if session.plan is not None else ()
    if (answers := checkup.table(session)) is not None:
        parts.append(answers)
    found = table(session)
    if found is not None:
        picture = effects_svg(rows(session))
        parts += [found, *((Picture((), picture),) if picture else ())]
        parts += [say(values)] if (values := beside(session)) else []
    if variants and compared:
        shown = ((Strong(v.id), v.label + (f", {v.detail}" if v.detail else "")) for v in variants)
        parts.append(Bullets(tuple(shown)))
    lines: list[Words] = [(line,) for line in wording.unmeasured(session, compared)]
    lines += [(_trend(session, series),) for series in session.series]
    if lines:
        parts.append(Bullets(tuple(lines)))
    if session.plan is not None and session.plan.differs:
        parts.append(
            say("The variants also differ in the following, so the verdict is about the whole stack:")
        )
        parts.append(Bullets(tuple((text,) for text in session.plan.differs)))
    return parts


def _trend(session: Session, series: ev.SeriesVerdict) -> str:
    return wording.series_sentence(session, series) + (f". {series.explain}" if series.explain else ".")


def _trust(session: Session) -> list[Part]:
    signs = trust(session)
    return [Bullets(tuple((MARKS[sign.state], sign.text) for sign in signs))] if signs else []


def _to_do(session: Session, recording: str) -> list[Part]:
    listed = bool(checkup.items(session))
    loud = [f for f in session.worst_first if f.severity != "ok" and not (listed and f.answers)]
    if not session.verdicts:
        loud.sort(key=lambda f: not f.answers)  # the answer's own steps before what else is suspected
    parts: list[Part] = []
    for found in loud[:FEW]:
        parts.append(say(Strong(f"{wording.SIGNS[found.severity]} {found.severity}: {found.title}")))
        for remedy in found.remedy[:1]:
            parts.append(say(f"{remedy.title}."))
            if remedy.warning:
                parts.append(say(Strong("Beware:"), remedy.warning))
            if remedy.commands:
                parts.append(Code(remedy.commands, "sh"))
    if len(loud) > FEW:
        parts.append(say(f"{len(loud) - FEW} more are listed under Findings."))
    told = any(found.remedy for found in loud[:FEW])
    for step in () if told else following(session, recording):
        parts.append(say(Strong("Next:"), f"{step.title}."))
        if step.command:
            parts.append(Code((step.command,), "sh"))
    return parts
