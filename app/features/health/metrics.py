"""Findings and effects of a recording for node_exporter: `hostdx report --format openmetrics`."""

from hostdx.app.recordings.session import RunSession
from hostdx.app.report.forms.openmetrics import Sample, gauge_lines, gauges_text
from hostdx.scenarios.contract.finding import SEVERITIES


def openmetrics_of_session(session: RunSession, _recording: str) -> str:
    scenario = session.began.scenario if session.began is not None else ""
    findings = list(session.findings.values())
    counts: list[Sample] = [
        ({"scenario": scenario, "severity": word}, sum(finding.severity == word for finding in findings))
        for word in SEVERITIES
    ]
    single: dict[tuple[str, ...], Sample] = {
        (finding.id, finding.subject): (
            {"id": finding.id, "severity": finding.severity, "subject": finding.subject},
            1,
        )
        for finding in findings
    }
    judged = [verdict for verdict in session.verdicts.values() if verdict.ratio is not None]
    labels = [
        {"load": v.workload, "metric": v.metric, "baseline": v.baseline, "variant": v.variant} for v in judged
    ]
    effects: list[Sample] = [(own, v.ratio or 0.0) for own, v in zip(labels, judged, strict=True)]
    slower: list[Sample] = [(own, int(v.is_slower)) for own, v in zip(labels, judged, strict=True)]
    lines = (
        *gauge_lines("hostdx_findings", "Findings of the run by severity.", counts),
        *gauge_lines("hostdx_finding", "A finding of the run.", list(single.values())),
        *gauge_lines("hostdx_effect_ratio", "Variant over baseline; under 1 is slower.", effects),
        *gauge_lines("hostdx_effect_slower", "The variant is slower.", slower),
    )
    return gauges_text(lines)
