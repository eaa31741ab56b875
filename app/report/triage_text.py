"""Triage as lines for a terminal and as markdown for a ticket: findings first, then what is not known."""

from __future__ import annotations

from collections import Counter

from app.recording.session import Session
from app.report import wording
from app.report.confirmation import command
from app.report.markdown import rendered
from probes.units import counted, size
from scenarios import events as ev
from scenarios.finding import Finding, Remedy
from scenarios.results.document import Bullets, Code, Document, Mono, Paragraph, Part, Section, Strong, Words


def told(session: Session, *, facts: bool = False, unknown: bool = False) -> list[tuple[str, str]]:
    """(line, role): the severities as roles, `strong`, `dim`, or nothing."""
    shown = [(f"! {note.text}", "warning") for note in session.notes]
    of = f"{session.began.host}: " if session.began is not None and _captured(session) else ""
    shown.append((of + head(session), "strong"))
    for found in session.worst_first:
        shown += [
            ("", ""),
            (f"{wording.SIGNS[found.severity]} {found.severity}: {found.title}", found.severity),
        ]
        shown += [
            (f"    {one.text}" + (f" [{one.source}]" if one.source else ""), "dim") for one in found.evidence
        ]
        shown += [(line, "") for remedy in found.remedy for line in _remedy(remedy)]
        if found.prove:
            shown.append((f"    {_prove_where(session)}: {command(found, session)}", "strong"))
    silent = [
        check for check in session.checks.values() if check.reason and check.state in ("unreadable", "spoke")
    ]
    if silent and unknown:
        reasons: dict[str, list[str]] = {}  # one thing that is missing leaves many checks without an answer
        for check in silent:
            reasons.setdefault(check.reason, []).append(check.rule)
        for absent in session.absent.values():
            reasons.setdefault(absent.reason, []).append(absent.label)
        shown.append(("", ""))
        shown += [(f"? {', '.join(names)}: {reason}", "unknown") for reason, names in reasons.items()]
    elif silent:
        words = f"? {counted(len(silent), 'check')} could not be answered (--unknown shows why)"
        shown += [("", ""), (words, "unknown")]
    if facts:
        shown += [("", ""), *((f"{fact.label}: {_value(fact)}", "") for fact in session.facts.values())]
    return shown


def head(session: Session) -> str:
    """`3 of 135 checks found something: 1 warning, 2 notices; 90 fine, 30 not applicable, 12 unknown`."""
    checks: Counter[str] = Counter(check.state for check in session.checks.values())
    counted = Counter(found.severity for found in session.worst_first)
    kinds = ", ".join(
        f"{n} {word if n == 1 or word == 'critical' else word + 's'}" for word, n in counted.items()
    )
    rest = ", ".join(
        f"{checks[state]} {word}"
        for state, word in (("ok", "fine"), ("not applicable", "not applicable"), ("unreadable", "unknown"))
        if checks[state]
    )
    total = sum(checks.values())
    found = f": {kinds}" if kinds else ""
    return f"{checks['spoke']} of {total} checks found something{found}" + (f"; {rest}" if rest else "")


def _captured(session: Session) -> bool:
    return session.began is not None and "root" in session.began.options


def _prove_where(session: Session) -> str:
    return "prove it on that host" if _captured(session) else "prove it"


def markdown(session: Session) -> str:
    host = session.began.host if session.began is not None else "unknown host"
    sections = [
        Section(f"{found.severity.capitalize()}: {found.title}", tuple(_parts(found, session)))
        for found in session.worst_first
    ]
    silent = [c for c in session.checks.values() if c.reason and c.state in ("unreadable", "spoke")]
    if silent:
        items: tuple[Words, ...] = tuple((Mono(check.rule), check.reason) for check in silent)
        sections.append(Section("What could not be answered", (Bullets(items),)))
    return rendered(Document(f"{host}: triage", (head(session),), tuple(sections)))


def _parts(found: Finding, session: Session) -> list[Part]:
    items: list[Words] = [(one.text, *((Mono(one.source),) if one.source else ())) for one in found.evidence]
    parts: list[Part] = [Bullets(tuple(items))] if items else []
    for one in found.remedy:
        parts.append(Paragraph((Strong(one.title), *((one.warning,) if one.warning else ()))))
        commands = (*one.commands, *(f"# to make it last: {line}" for line in one.persistent))
        if commands:
            parts.append(Code(commands, "sh"))
    if found.prove:
        where = _prove_where(session).capitalize()
        parts.append(Paragraph((f"{where}:", Mono(command(found, session)))))
    return parts


def _remedy(one: Remedy) -> list[str]:
    """What to do, as it is typed: at once, to make it last, to see it, to take it back."""
    shown = [f"    do: {one.title}", *([f"      beware: {one.warning}"] if one.warning else [])]
    for word, commands in (
        ("", one.commands),
        ("to last: ", one.persistent),
        ("to verify: ", one.verify),
        ("to undo: ", one.undo),
    ):
        shown += [f"      {word}{command}" for command in commands]
    return shown


def _value(fact: ev.FactRead) -> str:
    if fact.unit == "B" and isinstance(fact.value, int) and fact.value >= 1 << 20:
        return size(fact.value)
    text = ", ".join(str(v) for v in fact.value) if isinstance(fact.value, list) else str(fact.value)
    return f"{text} {fact.unit}".rstrip()
