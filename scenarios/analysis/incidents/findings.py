"""Incidents as findings: when, what, how much, by which process."""

from collections.abc import Iterator
from datetime import datetime, timedelta

from hostdx.probes import units
from hostdx.probes.imports.numbers import imported_text
from hostdx.probes.imports.sample_series import SampleTimes
from hostdx.scenarios.analysis.incidents.incidents import WAITS, Culprit, Incident, Symptom, Timeline
from hostdx.scenarios.contract.finding import Evidence, Finding
from hostdx.scenarios.triage.rules.texts import finding_texts

SAYS = finding_texts("analysis/incidents")

INCIDENT, QUIET = "import.incident-", "import.quiet"  # ids, the first followed by the cause
MAX_FINDINGS = 8
_SECONDS_BELOW_S = 600  # an incident shorter than this is told with seconds


def incident_or_quiet_findings(timeline: Timeline, name: str) -> list[Finding]:
    """Return one an incident, the worst first; without any one that says so."""
    if not timeline.incidents:
        return [SAYS.finding("quiet", id=QUIET, subject=name, span=_length_text(timeline))]
    return [_incident_finding(incident, timeline, name) for incident in timeline.incidents[:MAX_FINDINGS]]


def _incident_finding(incident: Incident, timeline: Timeline, file_name: str) -> Finding:
    evidence = [
        SAYS.evidence(
            "symptom",
            what=symptom_text(symptom),
            peak=_figure_text(symptom.peak, symptom.unit),
            file=file_name,
        )
        for symptom in incident.symptoms
    ]
    return SAYS.finding(
        incident.cause, id=f"{INCIDENT}{incident.cause}", subject=file_name,
        when=period_text(incident, timeline.times), what=symptom_text(incident.symptoms[0]),
        evidence=[*evidence, *_culprit_evidence(incident, timeline, file_name)],
    )  # fmt: skip


def _culprit_evidence(incident: Incident, timeline: Timeline, file_name: str) -> Iterator[Evidence]:
    """A job's own file has no others who could have done it."""
    culprit = incident.culprit
    if culprit is not None:
        waited = culprit.metric == WAITS
        words = {
            "process": culprit.name,
            "share": _share_with_interval(culprit),
            "metric": culprit.metric,
            "file": file_name,
        }
        yield SAYS.evidence("waiter", **words) if waited else SAYS.evidence("culprit", **words)
    elif (suspect := incident.suspect) is not None:
        yield SAYS.evidence(
            f"suspect-{suspect.reason}",
            process=suspect.name,
            share=units.format_percent(suspect.share),
            metric=suspect.metric,
            file=file_name,
        )
    elif incident.cause != "job":
        yield SAYS.evidence("no-culprit" if timeline.names_processes else "no-processes", file=file_name)


def _share_with_interval(culprit: Culprit) -> str:
    """`82 % (95 % CI 70 to 93 %)`."""
    interval = (
        f" (95 % CI {units.format_percent_interval(*culprit.ci95)})" if culprit.ci95 is not None else ""
    )
    return f"{units.format_percent(culprit.share)}{interval}"


def symptom_text(symptom: Symptom) -> str:
    """`disk sda: utilisation 99 %, otherwise 12 %`."""
    subject = symptom.subject.replace(":", " ", 1).strip()
    level, quiet = (_figure_text(value, symptom.unit) for value in (symptom.level, symptom.quiet))
    return f"{subject}: {symptom.metric} {level}, otherwise {quiet}"


def _figure_text(value: float, unit: str) -> str:
    """A share with two digits: samples are no exacter."""
    return f"{units.format_number(value, 2)} %" if unit == "%" else imported_text(value, unit)


def period_text(incident: Incident, times: SampleTimes) -> str:
    """`2026-11-22 02:20 to 02:40 (host's time)`; without a clock by the samples' numbers."""
    if not times.first:
        return f"samples {incident.began_s:.0f} to {incident.ended_s:.0f}"
    began, ended = (clock_text(times, at_s, long=True) for at_s in (incident.began_s, incident.ended_s))
    if incident.ended_s - incident.began_s >= _SECONDS_BELOW_S:
        began, ended = began.removesuffix(":00"), ended.removesuffix(":00")
    if began.rpartition(" ")[0] == ended.rpartition(" ")[0]:
        ended = ended.rpartition(" ")[2]
    zone = times.zone or "host's time"
    return f"{began} to {ended} ({zone})"


def clock_text(times: SampleTimes, at_s: float, *, long: bool = False) -> str:
    """The clock time of a sample: `02:20`, long `2026-11-22 02:20:00`; without a clock the sample's number."""
    if not times.first:
        return f"{at_s:.0f}"
    has_date = "T" in times.first
    try:
        first = datetime.fromisoformat(times.first if has_date else f"2000-01-01T{times.first}")
        when = first + timedelta(seconds=at_s)
    except (ValueError, OverflowError):  # of a foreign recording
        return f"{at_s:.0f}"
    if not long:
        return f"{when:%H:%M}"
    return f"{when:%Y-%m-%d %H:%M:%S}" if has_date else f"{when:%H:%M:%S}"


def _length_text(timeline: Timeline) -> str:
    if timeline.times.unit == "samples":
        return units.count_noun(timeline.samples, "sample")
    return units.format_duration(timeline.seconds)
