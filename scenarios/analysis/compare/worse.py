"""What got worse since an earlier state of a host, as a finding: for a run with `--against` and for `checkup`."""

from hostdx.probes.units import count_noun
from hostdx.scenarios.analysis.compare.comparison import ComparedRecordings
from hostdx.scenarios.analysis.compare.effects import (
    Effect,
    effect_name,
    effect_size_text,
    ratio_text_with_interval,
)
from hostdx.scenarios.contract.finding import Evidence, Finding
from hostdx.scenarios.triage.rules.texts import finding_texts

SAYS = finding_texts("analysis/compare")
MAX_NAMED_LOADS = 12  # named in the evidence; `compare` has all of them


def worse_effects(comparison: ComparedRecordings) -> tuple[Effect, ...]:
    """The loads that are slower on side B, the worst first; a control that lost among them."""
    return tuple(effect for effect in comparison.effects if effect.is_slower)


def worse_finding(comparison: ComparedRecordings, baseline: str, recording: str) -> Finding:
    """`baseline` is the name under which side A was saved, `recording` the name of side B's.

    The finding's id is `storage.worse` for a run of storage.
    """
    lost, loads = worse_effects(comparison), len(comparison.effects)
    id = f"{', '.join(comparison.b.scenarios)}.worse"
    command = f"hostdx compare --against {baseline} {recording}"
    rest = (*_gained_evidence(comparison), *_changed_evidence(comparison))
    if not lost:
        undecided_count = sum(effect.is_undecided for effect in comparison.effects)
        unsure = f" ({undecided_count} inconclusive)" if undecided_count else ""
        evidence = (_baseline_evidence(comparison, command), *rest)
        return SAYS.finding(
            "none-worse", id=id, loads=loads, baseline=baseline, unsure=unsure, evidence=evidence
        )
    named_lost = (
        SAYS.evidence(
            "lost", load=effect_name(lost_effect), size=ratio_text_with_interval(lost_effect), command=command
        )
        for lost_effect in lost[:MAX_NAMED_LOADS]
    )
    return SAYS.finding(
        "worse",
        id=id,
        lost=len(lost),
        loads=loads,
        baseline=baseline,
        recording=recording,
        worst=effect_name(lost[0]),
        size=effect_size_text(lost[0]),
        evidence=(_baseline_evidence(comparison, command), *named_lost, *rest),
    )


def _baseline_evidence(comparison: ComparedRecordings, command: str) -> Evidence:
    hosts = (
        ""
        if comparison.a.hosts == comparison.b.hosts
        else f" of {', '.join(comparison.a.hosts)} (another host)"
    )
    day = comparison.a.last[:10] or "an unknown day"
    return SAYS.evidence(
        "baseline", runs=count_noun(comparison.a.runs, "run"), hosts=hosts, day=day, command=command
    )


def _gained_evidence(comparison: ComparedRecordings) -> tuple[Evidence, ...]:
    gained = [effect for effect in comparison.effects if effect.is_faster]
    if not gained:
        return ()
    return (
        SAYS.evidence(
            "gained", count=len(gained), load=effect_name(gained[-1]), size=effect_size_text(gained[-1])
        ),
    )


def _changed_evidence(comparison: ComparedRecordings) -> tuple[Evidence, ...]:
    """Return what of the recorded facts is another than in the baseline, by what a person can change."""
    attribution = comparison.fingerprints.attribution
    if not attribution.components:
        return ()
    several = "; this cannot be attributed to one of them" if attribution.word == "several" else ""
    return (SAYS.evidence("changed", what=", ".join(attribution.components), several=several),)
