"""What the incident book says, as a document: the time axis, then each incident with its evidence and what to do."""

import os
from collections.abc import Iterator, Sequence

from hostdx.app.features.watch.incidents.answer import BookAnswer
from hostdx.app.report.figures.timeline import timeline_lines, timeline_svg
from hostdx.app.report.results.finding_parts import incident_parts
from hostdx.probes.units import count_noun, format_duration
from hostdx.scenarios.analysis.incidents.findings import period_text
from hostdx.scenarios.analysis.incidents.incidents import Incident
from hostdx.scenarios.contract.finding import Finding
from hostdx.scenarios.contract.results import document as doc

PICTURE_CELLS, SCREEN_CELLS = 100, 76  # of a document, and of the narrowest screen
METHOD = (
    "Each metric is compared with its own quiet level, the median of the looks. An incident lies above it by six "
    "robust standard deviations and by a fixed amount, and lasts at least three minutes, or 2 % of a shorter book. A "
    "process is named if it did at least half of what all processes did more than at other times."
)


def incident_document(
    answer: BookAnswer,
    chosen: Sequence[tuple[Incident, Finding]],
    minute: str | None,
    *,
    cells: int = PICTURE_CELLS,
) -> doc.ReportDocument:
    """`minute`: the minute that was asked for. `cells`: the width of the picture."""
    timeline = answer.timeline
    picture: tuple[doc.Part, ...] = ()
    if timeline is not None and timeline.rows and timeline.seconds > 0:
        picture = (doc.Picture(tuple(timeline_lines(timeline, cells)), timeline_svg(timeline)),)
    sections = (
        doc.ReportSection("Over time", picture),
        *(
            doc.ReportSection(
                period_text(incident, answer.timeline.times)
                if answer.timeline is not None
                else finding.title,
                tuple(_title_and_incident_parts(finding)),
                role=finding.severity,
            )
            for incident, finding in chosen
        ),
        doc.ReportSection("The book", (doc.Bullets(tuple(_book_extent_lines(answer))),), appendix=True),
        doc.ReportSection("How it is judged", (doc.paragraph_of(METHOD),), appendix=True),
    )
    return doc.ReportDocument(
        _answer_text(chosen, minute),
        (f"{os.uname().nodename}: incidents.",),
        tuple(section for section in sections if section.parts),
    )


def _answer_text(chosen: Sequence[tuple[Incident, Finding]], at: str | None) -> str:
    if chosen:
        return chosen[0][1].title
    return f"No incident at {at}." if at is not None else "No incident."


def _title_and_incident_parts(finding: Finding) -> Iterator[doc.Part]:
    yield doc.paragraph_of(doc.Strong(finding.title))
    yield from incident_parts(finding)


def _book_extent_lines(answer: BookAnswer) -> Iterator[doc.Words]:
    timeline = answer.timeline
    span = f" over {format_duration(timeline.seconds)}" if timeline is not None else ""
    yield (f"{count_noun(answer.looks, 'look')}{span}, in ", doc.Mono(answer.folder))
    if answer.unreadable:
        yield (f"{count_noun(answer.unreadable, 'line')} could not be read and is left out",)
