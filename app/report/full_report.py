"""The report: a session as a document that another admin believes. The answer first, the doubts included."""

from collections.abc import Sequence

from app.recording.session import Session
from app.report import wording
from app.report.figures.tiles import tiles
from app.report.figures.verdict_table import effects
from app.report.first_page import described, first_page, who
from app.report.headline import answer
from app.report.method import method
from app.report.numbers import by_latency, numbers, over_the_run
from app.report.results.command_timeline import inside
from app.report.results.finding_parts import finding_parts, finding_title
from app.report.results.result_parts import result_parts, value_text
from probes.units import duration
from scenarios import events as ev
from scenarios.results import document as doc


def report(
    session: Session, recording: str, *, label: str = "", with_arguments: bool = False
) -> doc.ReportDocument:
    """`recording` is the file's name, so that the one who doubts can replay it, `label` what somebody calls it.
    `with_arguments`: see method."""
    appendix: tuple[tuple[str, Sequence[doc.Part]], ...] = (
        ("How long operations took", by_latency(session)),
        ("Each load over the run", over_the_run(session)),
        ("Verdicts in full", _verdicts(session)),
        ("Findings", _findings(session)),
        ("Numbers", numbers(session)),
        ("Inside a run", inside(session)),
        *(
            (found.name.replace("_", " ").capitalize(), result_parts(session, found))
            for found in session.results.values()
        ),
        ("What was left out, and what disturbed", _doubts(session)),
        ("This host", _facts(session)),
        ("What could not be read", _absent(session)),
        ("How it was measured", method(session, recording, with_arguments=with_arguments)),
    )
    first, *rest = first_page(session, recording)
    sections = [
        doc.ReportSection(first.title, (*tiles(session), *who(session, recording, label), *first.parts)),
        *rest,
        *(doc.ReportSection(title, tuple(parts), appendix=True) for title, parts in appendix),
    ]
    return doc.ReportDocument(
        _title(session), (answer(session).sentence,), tuple(s for s in sections if s.parts)
    )


def _title(session: Session) -> str:
    began, question = session.began, session.plan.question if session.plan is not None else ""
    about = question or (began.scenario if began is not None else "hostdx")
    return f"{began.host if began is not None else 'unknown host'}: {about}"


def _verdicts(session: Session) -> list[doc.Part]:
    told = [v for v in session.verdicts.values() if wording.measured(v)]
    apart = effects(session, appendix=True)
    parts = [] if apart is None else [apart, *described(session, appendix=True)]
    items: list[doc.Words] = [(_explained(session, v),) for v in told if not v.control]
    if items:
        parts.append(doc.Bullets(tuple(items)))
    controls: list[doc.Words] = [(_explained(session, v),) for v in told if v.control]
    if controls:
        parts.append(doc.paragraph_of("Negative control, which must not differ:"))
        parts.append(doc.Bullets(tuple(controls)))
    return parts


def _explained(session: Session, verdict: ev.RunVerdict) -> str:
    return f"{wording.verdict_sentence(session, verdict, short=True, explained=True)}."


def _findings(session: Session) -> list[doc.Part]:
    parts: list[doc.Part] = []
    for found in session.worst_first:
        parts.append(doc.Heading(finding_title(found)))
        parts += finding_parts(found, session)
    return parts


def _doubts(session: Session) -> list[doc.Part]:
    left_out = session.plan.left_out if session.plan is not None else ()
    items: list[doc.Words] = [(text,) for text in left_out]
    unfinished = [step for step in session.steps.values() if step.state in ("skipped", "failed")]
    items += [(f"{step.title}: {step.reason or step.state}",) for step in unfinished]
    said = {words[0] for words in items}
    for guard in session.guards:
        where = wording.workload_title(session, guard.workload) if guard.workload else ""
        group = f", group {guard.group}" if guard.group is not None else ""
        about = f"{where}{group}: " if where else ""
        items.append((f"{duration(guard.t)}: {about}{guard.guard_sentence}",))
    items += [(f"{duration(note.t)}: {note.text}",) for note in session.notes if note.text not in said]
    shown = items[:60]
    if len(items) > len(shown):
        shown.append((f"and {len(items) - 60} more; the recording has them all",))
    return [doc.Bullets(tuple(shown))] if shown else []


def _facts(session: Session) -> list[doc.Part]:
    if not session.facts:
        return []
    rows = tuple(
        (fact.label, doc.Mono(value_text(fact.value, fact.unit)), doc.Mono(fact.source))
        for fact in session.facts.values()
    )
    return [doc.Table(("fact", "value", "source"), rows)]


def _absent(session: Session) -> list[doc.Part]:
    unread = [check for check in session.checks.values() if check.state == "unreadable"]
    if not session.absent and not unread:
        return []
    rows = [(absent.label, absent.reason) for absent in session.absent.values()]
    rows += [(check.rule, check.reason) for check in unread]
    return [doc.Table(("what", "why"), tuple(rows))]
