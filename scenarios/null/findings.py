"""What a null run found out about the host: how small an effect shows in a minute."""

import math
from collections.abc import Sequence

from hostdx.probes.units import smallest_seen_difference_text
from hostdx.scenarios.contract import events as ev
from hostdx.scenarios.contract.finding import Evidence, Finding, Severity
from hostdx.scenarios.experiment.wording import effect_words, groups_words
from hostdx.scenarios.null.results import LeastEffect, NullAnswer, format_left_out
from hostdx.scenarios.triage.rules.texts import finding_texts

SAYS = finding_texts("null")

MINUTE_S = 60.0

# The smallest effect that matters is 5 %: up to there the host can be measured as it is. At three times that, a minute
# still shows a wrong disk class or a missing TRIM; beyond it only what a person would notice without an experiment.
GOOD = 0.05
USABLE = 0.15


def estimate_minute_effect(verdict: ev.RunVerdict, title: str) -> LeastEffect:
    """From the half-width that the run reached: it falls with the root of the seconds spent."""
    smallest = None
    if verdict.smallest_effect is not None and verdict.seconds > 0:
        smallest = verdict.smallest_effect * math.sqrt(verdict.seconds / MINUTE_S)
    return LeastEffect(
        verdict.workload,
        title,
        None if smallest is None else round(smallest, 4),
        verdict.verdict,
        verdict.groups,
        verdict.seconds,
        verdict.reason or "",
    )


def build_findings(
    answer: NullAnswer, verdicts: Sequence[ev.RunVerdict], culprits: Sequence[str]
) -> list[Finding]:
    """Return whether this host can be measured, and what was called different though it was the same."""
    clean = not any(v.is_different for v in verdicts)
    null_findings = [_resolution_finding(answer, culprits, clean)]
    for verdict in verdicts:
        if verdict.is_different:
            null_findings.append(_false_difference_finding(answer, verdict))
    return null_findings


def _resolution_finding(answer: NullAnswer, culprits: Sequence[str], none_different: bool) -> Finding:
    """`none_different`: nothing was called different, so how small an effect shows is the run's answer."""
    evidence = [Evidence(_format_effect(r), source="null") for r in answer.reaches]
    evidence += [Evidence(text, source="guard") for text in culprits]
    worst, reach = answer.coarsest_resolution, answer.coarsest_load
    if worst is None or reach is None:
        return SAYS.finding("no-resolution", subject=answer.directory, evidence=evidence)
    severity: Severity = (
        "ok" if worst <= max(GOOD, answer.margin) else "notice" if worst <= USABLE else "warning"
    )
    answer_text = SAYS.text(
        severity, smallest=smallest_seen_difference_text(worst), margin=answer.margin, measured=reach.seconds
    )
    if answer.unmeasured_loads and severity == "ok":  # half an answer is not "ok"
        severity = "notice"
    return SAYS.finding(
        "resolution",
        severity=severity,
        subject=answer.directory,
        answers=none_different,
        answer=answer_text,
        left_out=format_left_out(answer),
        evidence=evidence,
        remedy=() if severity == "ok" else (SAYS.remedy("quieter"),),
    )


def _false_difference_finding(answer: NullAnswer, verdict: ev.RunVerdict) -> Finding:
    return SAYS.finding(
        "difference",
        subject=f"{answer.directory} {verdict.workload}".strip(),
        load=verdict.workload,
        verdict=verdict.verdict,
        effect=effect_words(verdict),
        groups=groups_words(verdict),
    )


def _format_effect(effect: LeastEffect) -> str:
    if effect.in_a_minute is None:
        return f"{effect.title}: {effect.reason or effect.verdict}"
    return (
        f"{effect.title}: one minute would miss differences below "
        f"{smallest_seen_difference_text(effect.in_a_minute)} "
        f"({effect.verdict} after {effect.groups} groups, {effect.seconds:.0f} s)"
    )
