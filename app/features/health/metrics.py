"""Gauges in the text form that node_exporter's textfile collector reads: no units, no times."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TypeAlias

from app.recordings.session import RunSession
from scenarios.contract.finding import SEVERITIES

Sample: TypeAlias = tuple[dict[str, str], float]
_FORBIDDEN = re.compile(r"[\x00-\x1f\x7f]")


def gauge_lines(name: str, help_text: str, samples: Sequence[Sample]) -> Iterator[str]:
    """Yield a gauge with its samples; nothing where there are none."""
    if samples:
        yield f"# HELP {name} {help_text}"
        yield f"# TYPE {name} gauge"
    for labels, value in samples:
        pairs = ",".join(f'{label}="{_escape_label(text)}"' for label, text in labels.items())
        yield f"{name}{{{pairs}}} {value!r}" if pairs else f"{name} {value!r}"


def _escape_label(text: str) -> str:
    """Names come from hosts and foreign recordings."""
    safe = _FORBIDDEN.sub(" ", text)[:200].encode("utf-8", "replace").decode()
    return safe.replace("\\", r"\\").replace('"', r"\"")


def metrics_of_session(session: RunSession, recording: str) -> str:
    """Return findings and effects of a recording: `hostdx report --format openmetrics`."""
    scenario = session.began.scenario if session.began is not None else ""
    findings = list(session.findings.values())
    counts: list[Sample] = [
        (
            {"scenario": scenario, "severity": severity},
            sum(finding.severity == severity for finding in findings),
        )
        for severity in SEVERITIES
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
    return "\n".join((*lines, "# EOF", ""))
