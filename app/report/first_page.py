"""The report's first page: who and when, both sides' numbers, whether to trust them, and what to do."""

from hostdx.app.recordings.session import UNKNOWN_HOST, RunSession
from hostdx.app.report import wording
from hostdx.app.report.figures import latency
from hostdx.app.report.figures.verdict_table import (
    belongs_in_appendix,
    effects_part,
    few_groups_note,
    notes_on_values,
)
from hostdx.app.report.headline import evidence_texts_of_single_variant, list_remarks
from hostdx.app.report.next_steps import list_remedies
from hostdx.app.report.numbers import single_variant_table
from hostdx.app.report.results.finding_parts import checkup_parts
from hostdx.app.report.validity import MARKS, TONES, list_trust_signs
from hostdx.probes.units import format_duration
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.finding import LOUD, Finding
from hostdx.scenarios.contract.results.document import (
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
    split_code,
)

MAX_FINDINGS = 6


def first_page(
    session: RunSession, recording: str, *, narrow: bool = False, title: str = ""
) -> tuple[ReportSection, ...]:
    """`narrow`: for few cells, see verdict_table. `title`: the sentence above it, which is not said again. Who and when
    comes before it, in a report.
    """
    return (
        ReportSection("Result", tuple(_checkup_and_table_parts(session, title, narrow=narrow))),
        ReportSection("Can it be trusted?", tuple(_trust_parts(session))),
        ReportSection("What to do", tuple(_remedy_parts(session, recording))),
        ReportSection("What was found", tuple(_finding_parts(session))),
    )


def describe_run(session: RunSession, recording: str, label: str = "") -> list[Part]:
    began = session.began
    if began is None:
        return _broken_off_parts(session)
    versions_text = (
        f"{began.scenario}, hostdx {began.version}" if began.scenario else f"hostdx {began.version}"
    )
    took = "" if session.scenario_card.role == "import" else f", took {format_duration(session.time)}"
    host = "unknown" if began.host in ("", UNKNOWN_HOST) else began.host
    called = [Strong(f"“{label}”:")] if label else []
    return [
        paragraph_of(
            *called, f"Host {host}, {began.wall}{took}; {versions_text}; recording", Mono(recording)
        ),
        *_broken_off_parts(session),
    ]


def _broken_off_parts(session: RunSession) -> list[Part]:
    ended = session.ended
    if ended is None:
        return [paragraph_of(Strong("This recording has no end: its runner still runs, or was killed."))]
    if ended.status != "done":
        return [paragraph_of(Strong(f"{ended.status.capitalize()}:"), ended.reason or "no reason given")]
    return []


def _checkup_and_table_parts(session: RunSession, title: str, *, narrow: bool) -> list[Part]:
    parts = checkup_parts(session, title)
    compared = [v for v in session.verdicts.values() if not v.control]
    sections = [top for result in session.results.values() if (top := result.section_on_top(session.time))]
    tables = [part for section in sections for part in section.parts if isinstance(part, Table)]
    if not tables and (texts := evidence_texts_of_single_variant(session)):
        parts.append(Bullets(tuple((text,) for text in texts)))
    parts += tables
    if (alone_table := single_variant_table(session)) is not None:
        parts.append(alone_table)
    effects_table = effects_part(session, narrow=narrow)
    if effects_table is not None:
        notes = [note for note in (*notes_on_values(session), few_groups_note(session)) if note]
        parts += [effects_table, *([paragraph_of(*notes)] if notes else ())]
    if (times := latency.latency_table(session)) is not None:
        parts += [times, paragraph_of(latency.MEANING)]
    if compared:
        parts += describe_variants(session)
    lines: list[Words] = [(line,) for line in wording.unmeasured_lines(session, compared)]
    lines += [(_trend_text(session, series),) for series in session.series]
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


def describe_variants(session: RunSession, *, appendix: bool = False) -> list[Part]:
    """The sides whose names do not tell all; `appendix`: of the loads that stand there, the others' else."""
    appendix_ids, front = set[str](), set[str]()
    for verdict in session.verdicts.values():
        (appendix_ids if belongs_in_appendix(session, verdict) else front).update(
            (verdict.baseline, verdict.variant)
        )
    descriptions = {
        v.id: wording.describe_variant(v)
        for v in session.planned_variants
        if (v.id in appendix_ids if appendix else v.id not in appendix_ids - front)
    }
    shown = tuple((Strong(f"{id}:"), words) for id, words in descriptions.items() if words)
    return [Bullets(shown)] if shown else []


def _trend_text(session: RunSession, series: ev.SeriesVerdict) -> str:
    return wording.series_sentence(session, series) + (f". {series.explain}" if series.explain else ".")


def _trust_parts(session: RunSession) -> list[Part]:
    items: list[Words] = [
        (Toned(f"{MARKS[s.state]} {s.text}", TONES[s.state]),) for s in list_trust_signs(session)
    ]
    if more := wording.describe_left_out_events(session):
        items.append((Toned(more, "warning"),))
    return [Bullets(tuple(items))] if items else []


def _remedy_parts(session: RunSession, recording: str) -> list[Part]:
    parts: list[Part] = []
    for remedy in list_remedies(session, recording):
        parts.append(paragraph_of(Strong(f"{remedy.title}.")))
        if remedy.warning:
            parts.append(paragraph_of(Strong("Beware:"), remedy.warning))
        if remedy.commands:
            parts.append(Code(remedy.commands, "sh"))
    return parts


def _finding_parts(session: RunSession) -> list[Part]:
    """Return what speaks against the host, the headline's own finding not once more."""
    loud = list_remarks(session)
    items: list[Words] = [_finding_with_sign(finding) for finding in loud[:MAX_FINDINGS]]
    if len(loud) > MAX_FINDINGS:
        items.append((f"{len(loud) - MAX_FINDINGS} more are listed in the appendix.",))
    return [Bullets(tuple(items))] if items else []


def _finding_with_sign(finding: Finding) -> Words:
    mark = f"{wording.SIGNS[finding.severity]} " if finding.severity in LOUD else ""  # the list has a bullet
    sign = Toned(f"{mark}{finding.severity}:", finding.severity)
    return (sign, *(("a hint:",) if finding.confidence == "hint" else ()), *split_code(finding.title))
