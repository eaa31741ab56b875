"""The report: a session as a document that another admin believes. The answer first, the doubts included."""

from __future__ import annotations

from app import wording
from app.document import Bullets, Code, Document, Heading, Mono, Part, Section, Strong, Table, Words, say
from app.plain import duration, size
from app.report_ledger import ledger
from app.report_method import method
from app.report_numbers import numbers
from app.session import Session
from probes.types import Json
from scenarios.finding import Finding, Remedy


def report(session: Session, recording: str) -> Document:
    """`recording` is the file's name, so that the one who doubts can replay it."""
    sections = [
        Section("Verdict", tuple(_verdicts(session))),
        Section("Findings", tuple(_findings(session))),
        Section("Numbers", tuple(numbers(session))),
        *(
            Section(extra.name.replace("_", " ").capitalize(), _extra(extra.name, extra.value))
            for extra in session.extras.values()
        ),
        Section("What was left out, and what disturbed", tuple(_doubts(session))),
        Section("This host", tuple(_facts(session))),
        Section("What could not be read", tuple(_absent(session))),
        Section("How it was measured", tuple(method(session, recording))),
    ]
    return Document(_title(session), (wording.headline(session),), tuple(s for s in sections if s.parts))


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
    measured = [v for v in session.verdicts.values() if not v.control]
    items: list[Words] = [
        (wording.verdict_sentence(session, v) + ("." if not v.explain else f". {v.explain}"),)
        for v in measured
    ]
    items += [
        (wording.series_sentence(session, s) + ("." if not s.explain else f". {s.explain}"),)
        for s in session.series
    ]
    if items:
        parts.append(Bullets(tuple(items)))
    controls = [v for v in session.verdicts.values() if v.control]
    if controls:
        parts.append(say("Negative control, which must not move:"))
        parts.append(Bullets(tuple((wording.verdict_sentence(session, v),) for v in controls)))
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
    items += [
        (f"{step.title}: {step.state}: {step.reason}",)
        for step in session.steps.values()
        if step.state in ("skipped", "failed")
    ]
    for guard in session.guards:
        where = wording.workload_title(session, guard.workload) if guard.workload else ""
        group = f", group {guard.group}" if guard.group is not None else ""
        words: Words = (
            f"{duration(guard.t)}: {where}{group}: {guard.text}"
            if where
            else f"{duration(guard.t)}: {guard.text}",
        )
        items.append((*words, Mono(guard.culprit)) if guard.culprit else words)
    items += [(f"{duration(note.t)}: {note.text}",) for note in session.notes]
    shown = items[:60]
    if len(items) > len(shown):
        shown.append((f"and {len(items) - 60} more; the recording has them all",))
    return [Bullets(tuple(shown))] if shown else []


def _facts(session: Session) -> list[Part]:
    if not session.facts:
        return []
    rows = tuple(
        (fact.name, Mono(_value(fact.value, fact.unit)), Mono(fact.source)) for fact in session.facts.values()
    )
    return [Table(("fact", "value", "source"), rows)]


def _absent(session: Session) -> list[Part]:
    unread = [check for check in session.checks.values() if check.state == "unreadable"]
    if not session.absent and not unread:
        return []
    rows = [(absent.name, absent.reason) for absent in session.absent.values()]
    rows += [(check.rule, check.reason) for check in unread]
    return [Table(("what", "why"), tuple(rows))]


def _extra(name: str, value: Json) -> tuple[Part, ...]:
    """A scenario's own part: a list of records is a table, anything else is shown as it is."""
    if name == "ledger" and (parts := ledger(value)):
        return parts
    if isinstance(value, list) and value and all(isinstance(row, dict) for row in value):
        records = [row for row in value if isinstance(row, dict)]
        header = tuple(dict.fromkeys(key for row in records for key in row))
        numeric = frozenset(
            n
            for n, key in enumerate(header)
            if all(isinstance(row.get(key), int | float | None) for row in records)
        )
        return (
            Table(header, tuple(tuple(_value(row.get(key)) for key in header) for row in records), numeric),
        )
    if isinstance(value, dict):
        return (Table(("what", "value"), tuple((key, _value(inner)) for key, inner in value.items())),)
    return (say(_value(value)),)


def _value(value: Json, unit: str = "") -> str:
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if unit == "B" and isinstance(value, int) and value >= 1 << 20:
        return f"{size(value)} ({value} B)"
    if isinstance(value, float):
        text = f"{value:.6g}"
    elif isinstance(value, list):
        text = ", ".join(_value(inner) for inner in value)
    elif isinstance(value, dict):
        text = ", ".join(f"{key} {_value(inner)}" for key, inner in value.items())
    else:
        text = str(value)
    return f"{text} {unit}".rstrip()
