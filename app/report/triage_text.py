"""Triage as a document, for a terminal and for a ticket: findings first, then what is not known."""

from collections import Counter

from hostdx.app.recordings.session import RunSession
from hostdx.app.report.forms.cells import run_end_lines
from hostdx.app.report.results.finding_parts import finding_parts, finding_title
from hostdx.app.report.unread import group_unread, may_ask_programs
from hostdx.app.terminal.lines import Line, clean_line
from hostdx.probes.units import count_noun
from hostdx.scenarios.contract.finding import severity_count_text
from hostdx.scenarios.contract.results.document import (
    Bullets,
    Mono,
    ReportDocument,
    ReportSection,
    Table,
    Toned,
    Words,
)

_WHOLE = 1 << 16  # cells: a line is not folded, as it may be searched for


def triage_lines(session: RunSession, *, facts: bool = False, unknown: bool = False) -> list[Line]:
    lines: list[Line] = [[(f"! {note.text}", "warning")] for note in session.notes]
    of = f"{session.began.host}: " if session.began is not None and session.is_captured else ""
    document = triage_document(session, facts=facts, unanswered=unknown)
    return [
        *lines,
        clean_line([(f"{of}{headline_text(session)}", "strong")]),
        *run_end_lines(document.sections, _WHOLE),
    ]


def triage_document(session: RunSession, *, facts: bool = False, unanswered: bool = True) -> ReportDocument:
    """`unanswered`: name each check that could not be answered, else say how many."""
    host = session.began.host if session.began is not None else "unknown host"
    sections = [
        ReportSection(finding_title(finding), tuple(finding_parts(finding, session)), role=finding.severity)
        for finding in session.worst_first
    ]
    silent = [c for c in session.checks.values() if c.reason and c.state in ("unreadable", "spoke")]
    items: tuple[Words, ...] = tuple(
        (Mono(", ".join(group.names)), group.reason, *((f"({group.remedy})",) if group.remedy else ()))
        for group in (group_unread(session) if silent else ())
    )
    if silent and not unanswered:
        items = ((Toned(f"? {count_noun(len(silent), 'check')} (--unknown shows why)", "unknown"),),)
    if may_ask_programs(session):
        asks = "asks programs of this host, too (zpool, lvs, smartctl, ipmitool, nvidia-smi, ceph, ...)"
        items = (*items, (Mono("hostdx triage --programs"), asks))
    if items:
        sections.append(ReportSection("What could not be answered", (Bullets(items),), role="unknown"))
    if facts and session.facts:
        from hostdx.app.report.results.result_parts import value_text

        rows = [(fact.label, Mono(value_text(fact.value, fact.unit))) for fact in session.facts.values()]
        sections.append(ReportSection("This host", (Table(("fact", "value"), tuple(rows)),)))
    return ReportDocument(f"{host}: triage", (headline_text(session),), tuple(sections))


def headline_text(session: RunSession) -> str:
    """`3 of 135 checks found something: 1 warning, 2 notices; 90 fine, 30 not applicable, 12 unknown`."""
    checks: Counter[str] = Counter(check.state for check in session.checks.values())
    counted = Counter(summary.severity for summary in session.worst_first)
    kinds = ", ".join(severity_count_text(severity, count) for severity, count in counted.items())
    rest = ", ".join(
        f"{checks[state]} {word}"
        for state, word in (("ok", "fine"), ("not applicable", "not applicable"), ("unreadable", "unknown"))
        if checks[state]
    )
    total = sum(checks.values())
    summary = f": {kinds}" if kinds else ""
    return f"{checks['spoke']} of {total} checks found something{summary}" + (f"; {rest}" if rest else "")
