"""The report: a session as a document that another admin believes. The answer first, the doubts included."""

from __future__ import annotations

from app import wording
from app.answer import answer
from app.document import Bullets, Code, Document, Heading, Mono, Part, Section, Strong, Table, Words, say
from app.plain import duration
from app.report_extra import extra_part, value_text
from app.report_method import method
from app.report_numbers import numbers
from app.session import Session
from scenarios import events as ev
from scenarios.finding import Finding, Remedy


def report(session: Session, recording: str) -> Document:
    """`recording` is the file's name, so that the one who doubts can replay it."""
    sections = [
        Section("Verdict", tuple(_verdicts(session))),
        Section("Findings", tuple(_findings(session))),
        Section("Numbers", tuple(numbers(session))),
        *(
            Section(extra.name.replace("_", " ").capitalize(), extra_part(session, extra.name, extra.value))
            for extra in session.extras.values()
        ),
        Section("What was left out, and what disturbed", tuple(_doubts(session))),
        Section("This host", tuple(_facts(session))),
        Section("What could not be read", tuple(_absent(session))),
        Section("How it was measured", tuple(method(session, recording))),
    ]
    return Document(_title(session), (answer(session).sentence,), tuple(s for s in sections if s.parts))


def _title(session: Session) -> str:
    question = session.plan.question if session.plan is not None else ""
    host = session.began.host if session.began is not None else "unknown host"
    return (
        f"{host}: {question}"
        if question
        else f"{host}: {session.began.scenario if session.began else 'hostdx'}"
    )


def _verdicts(session: Session) -> list[Part]:
    parts: list[Part] = []
    compared = [v for v in session.verdicts.values() if not v.control]
    variants = session.plan.variants if session.plan is not None else ()
    items: list[Words] = [(_explained(session, v),) for v in compared if wording.measured(v)]
    items += [(line,) for line in wording.unmeasured(session, compared)]
    items += [
        (wording.series_sentence(session, s) + ("." if not s.explain else f". {s.explain}"),)
        for s in session.series
    ]
    if items:
        parts.append(Bullets(tuple(items)))
    if variants and compared:
        parts.append(say("Compared were:"))
        shown = ((Strong(v.id), v.label + (f", {v.detail}" if v.detail else "")) for v in variants)
        parts.append(Bullets(tuple(shown)))
    controls = [v for v in session.verdicts.values() if v.control]
    if controls:
        parts.append(say("Negative control, which must not move:"))
        parts.append(Bullets(tuple((_explained(session, v),) for v in controls)))
    if session.plan is not None and session.plan.differs:
        parts.append(
            say("The variants also differ in the following, so the verdict is about the whole stack:")
        )
        parts.append(Bullets(tuple((text,) for text in session.plan.differs)))
    ended = session.ended
    if ended is None:
        parts.append(say(Strong("This recording has no end: its runner still runs, or was killed.")))
    elif ended.status != "done":
        parts.append(say(Strong(f"{ended.status.capitalize()}:"), ended.reason or "no reason given"))
    return parts


def _explained(session: Session, verdict: ev.Verdict) -> str:
    sentence = wording.verdict_sentence(
        session, verdict, short=True, explained="could have shown" in verdict.explain
    )
    if not verdict.explain or verdict.explain in sentence:
        return f"{sentence}."
    return f"{sentence}. {verdict.explain}"


def _findings(session: Session) -> list[Part]:
    parts: list[Part] = []
    for found in session.worst_first:
        parts.append(Heading(f"{wording.SIGNS[found.severity]} {found.severity}: {found.title}"))
        parts += _finding(found)
    return parts


def _finding(found: Finding) -> list[Part]:
    how = {"measured": "measured in this run", "rule": "read from the host", "hint": "a hint, not proved"}
    parts: list[Part] = [say(f"{how[found.confidence].capitalize()}.", Mono(found.id))]
    if found.evidence:
        parts.append(
            Bullets(tuple((e.text, *((Mono(e.source),) if e.source else ())) for e in found.evidence))
        )
    for remedy in found.remedy:
        parts += _remedy(remedy)
    if found.prove:
        command = " ".join(("hostdx run", found.prove, *found.prove_options))
        parts.append(say("A measurement that would prove it:", Mono(command)))
    if found.references:
        parts.append(say("References:"))
        parts.append(Bullets(tuple((Mono(reference),) for reference in found.references)))
    return parts


def _remedy(remedy: Remedy) -> list[Part]:
    parts: list[Part] = [say(Strong(f"What to do: {remedy.title}"))]
    if remedy.warning:
        parts.append(say(Strong("Beware:"), remedy.warning))
    named = (
        ("", remedy.commands),
        ("To make it last:", remedy.persistent),
        ("To verify:", remedy.verify),
        ("To undo:", remedy.undo),
    )
    for title, commands in named:
        if commands:
            if title:
                parts.append(say(title))
            parts.append(Code(tuple(commands), "sh"))
    return parts


def _doubts(session: Session) -> list[Part]:
    left_out = session.plan.left_out if session.plan is not None else ()
    items: list[Words] = [(text,) for text in left_out]
    unfinished = [step for step in session.steps.values() if step.state in ("skipped", "failed")]
    items += [(f"{step.title}: {step.reason or step.state}",) for step in unfinished]
    said = {words[0] for words in items}
    for guard in session.guards:
        where = wording.workload_title(session, guard.workload) if guard.workload else ""
        group = f", group {guard.group}" if guard.group is not None else ""
        words: Words = (
            f"{duration(guard.t)}: {where}{group}: {guard.text}"
            if where
            else f"{duration(guard.t)}: {guard.text}",
        )
        items.append((*words, Mono(guard.culprit)) if guard.culprit else words)
    items += [(f"{duration(note.t)}: {note.text}",) for note in session.notes if note.text not in said]
    shown = items[:60]
    if len(items) > len(shown):
        shown.append((f"and {len(items) - 60} more; the recording has them all",))
    return [Bullets(tuple(shown))] if shown else []


def _facts(session: Session) -> list[Part]:
    if not session.facts:
        return []
    rows = tuple(
        (fact.name, Mono(value_text(fact.value, fact.unit)), Mono(fact.source))
        for fact in session.facts.values()
    )
    return [Table(("fact", "value", "source"), rows)]


def _absent(session: Session) -> list[Part]:
    unread = [check for check in session.checks.values() if check.state == "unreadable"]
    if not session.absent and not unread:
        return []
    rows = [(absent.name, absent.reason) for absent in session.absent.values()]
    rows += [(check.rule, check.reason) for check in unread]
    return [Table(("what", "why"), tuple(rows))]
