"""The report: a session as a document that another admin believes. The answer first, the doubts included."""

from collections.abc import Sequence

from hostdx.app.feature import external_sections
from hostdx.app.recordings.answers import ranked_items
from hostdx.app.recordings.session import RunSession
from hostdx.app.report import wording
from hostdx.app.report.figures.tiles import summary_tiles
from hostdx.app.report.figures.verdict_table import effects_part, lacking_values_note
from hostdx.app.report.first_page import describe_run, describe_variants, first_page
from hostdx.app.report.headline import find_headline_answer
from hostdx.app.report.method import method_parts
from hostdx.app.report.numbers import latency_galleries, load_series_galleries, number_parts
from hostdx.app.report.plain_words import plain_answer
from hostdx.app.report.results.command_timeline import command_curve_parts
from hostdx.app.report.results.finding_parts import finding_parts, finding_title
from hostdx.app.report.results.result_parts import result_parts, value_text
from hostdx.app.report.title import rest_of_title, split_title
from hostdx.app.report.unread import missing_parts, unread_parts
from hostdx.probes.units import format_duration
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.results import document as doc


def make_report_document(
    session: RunSession, recording: str, *, label: str = "", with_arguments: bool = False
) -> doc.ReportDocument:
    """`recording` is the file's name, so that the one who doubts can replay it, `label` what somebody calls it.
    `with_arguments`: see method."""
    appendix: tuple[tuple[str, Sequence[doc.Part]], ...] = (
        ("How long operations took", latency_galleries(session)),
        ("Each load over the run", load_series_galleries(session)),
        ("Verdicts in full", _appendix_verdict_parts(session)),
        ("Findings", _findings_parts(session)),
        ("Numbers", number_parts(session)),
        ("Inside a run", command_curve_parts(session)),
        *(
            (result.name.replace("_", " ").capitalize(), result_parts(session, result))
            for result in session.results.values()
        ),
        ("What was left out, and what interfered", _left_out_and_guard_parts(session)),
        ("This host", fact_parts(session)),
        ("What was not looked at", unread_parts(session)),
        ("What this host does not tell", missing_parts(session)),
        ("How it was measured", method_parts(session, recording, with_arguments=with_arguments)),
    )
    title = split_title(find_headline_answer(session).sentence)
    plain = [doc.paragraph_of(words)] if (words := plain_answer(session)) else []
    first, *rest = first_page(session, recording, title=title.text)
    sections = [
        doc.ReportSection(
            first.title,
            (*plain, *summary_tiles(session), *describe_run(session, recording, label), *first.parts),
        ),
        *rest,
        *external_sections(session),
        *(doc.ReportSection(title, tuple(parts), appendix=True) for title, parts in appendix),
    ]
    question = session.plan.question if session.plan is not None else ""
    # a checkup's list has the answer whole
    more = () if ranked_items(session) else rest_of_title(title)
    return doc.ReportDocument(
        title.text,
        (*more, *((question,) if question else ())),
        tuple(s for s in sections if s.parts),
    )


def _appendix_verdict_parts(session: RunSession) -> list[doc.Part]:
    reached_verdicts = [v for v in session.verdicts.values() if wording.is_measured(v)]
    parts: list[doc.Part] = []
    if appendix_effects := effects_part(session, appendix=True):
        note = lacking_values_note(session, appendix=True)
        notes = [doc.paragraph_of(note)] if note else []
        parts = [appendix_effects, *notes, *describe_variants(session, appendix=True)]
    items: list[doc.Words] = [(_explained_sentence(session, v),) for v in reached_verdicts if not v.control]
    if items:
        parts.append(doc.Bullets(tuple(items)))
    controls: list[doc.Words] = [(_explained_sentence(session, v),) for v in reached_verdicts if v.control]
    if controls:
        parts.append(doc.paragraph_of("Negative control, which must not differ:"))
        parts.append(doc.Bullets(tuple(controls)))
    return parts


def _explained_sentence(session: RunSession, verdict: ev.RunVerdict) -> str:
    return f"{wording.verdict_sentence(session, verdict, short=True, explained=True)}."


def _findings_parts(session: RunSession) -> list[doc.Part]:
    parts: list[doc.Part] = []
    for finding in session.worst_first:
        parts.append(doc.Heading(finding_title(finding)))
        parts += finding_parts(finding, session)
    return parts


def _left_out_and_guard_parts(session: RunSession) -> list[doc.Part]:
    left_out = session.plan.left_out if session.plan is not None else ()
    items: list[doc.Words] = [(text,) for text in left_out]
    unfinished = [step for step in session.steps.values() if step.state in ("skipped", "failed")]
    items += [(f"{step.title}: {step.reason or step.state}",) for step in unfinished]
    texts = {words[0] for words in items}
    for guard in session.guards:
        title = wording.workload_title(session, guard.workload) if guard.workload else ""
        group = f", group {guard.group}" if guard.group is not None else ""
        about = f"{title}{group}: " if title else ""
        items.append((f"{format_duration(guard.t)}: {about}{guard.guard_sentence}",))
    items += [
        (f"{format_duration(note.t)}: {note.text}",) for note in session.notes if note.text not in texts
    ]
    shown = items[:60]
    if len(items) > len(shown):
        shown.append((f"and {len(items) - 60} more; the recording has them all",))
    return [doc.Bullets(tuple(shown))] if shown else []


def fact_parts(session: RunSession) -> list[doc.Part]:
    if not session.facts:
        return []
    rows = tuple(
        (fact.label, doc.Mono(value_text(fact.value, fact.unit)), doc.Mono(fact.source))
        for fact in session.facts.values()
    )
    return [doc.Table(("fact", "value", "source"), rows)]
