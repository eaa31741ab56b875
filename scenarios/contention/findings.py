"""What the curves come to: what does not scale, in what it waits, and what to do."""

from collections.abc import Sequence

from hostdx.probes import units
from hostdx.scenarios.analysis.profile.call_paths import PLUMBING
from hostdx.scenarios.contention.plan import CONTROL
from hostdx.scenarios.contention.results import ScalingCurve
from hostdx.scenarios.contract.finding import Evidence, Finding
from hostdx.scenarios.triage.rules.texts import finding_texts

SAYS = finding_texts("contention")


def contention_findings(curves: Sequence[ScalingCurve], *, memory: bool, longer: str) -> list[Finding]:
    """One, which answers the question where anything was decided. `longer`: the command of a longer run."""
    judged = [curve for curve in curves if curve.load != CONTROL]
    stopped = worst_curve_first([curve for curve in judged if curve.stops_after is not None])
    most = curves[0].steps[-1].workers
    scaling_curves = [curve for curve in judged if curve.scales_to == most]
    control = next((curve for curve in curves if curve.load == CONTROL), curves[0])
    evidence = [_curve_evidence(c, control) for c in (*stopped, *(c for c in judged if c not in stopped))]
    evidence += [line for curve in stopped for line in _usl_and_lock_evidence(curve)]
    if memory:
        evidence.append(SAYS.evidence("memory"))
    if stopped:
        return [_stops_scaling_finding(stopped, judged, evidence)]
    if len(scaling_curves) == len(judged):
        gains = sorted(curve.total_gain for curve in scaling_curves)
        least, greatest = f"{gains[0]:.2g}", f"{gains[-1]:.2g}"
        return [SAYS.finding("scales", most=most, least=least, greatest=greatest, evidence=evidence)]
    rest = [curve for curve in judged if curve not in scaling_curves]
    reason = next((step.reason for curve in rest for step in curve.steps if step.reason), "not decided")
    return [
        SAYS.finding(
            "open", count=len(rest), all=len(judged), reason=reason, evidence=evidence, longer=longer
        )
    ]


def worst_curve_first(stopped: Sequence[ScalingCurve]) -> list[ScalingCurve]:
    """Return the curves; what the kernel serialises by design comes last, because it does so on every host."""
    return sorted(stopped, key=lambda curve: (curve.serial, curve.total_gain))


def _stops_scaling_finding(
    stopped: Sequence[ScalingCurve], judged: Sequence[ScalingCurve], evidence: Sequence[Evidence]
) -> Finding:
    worst = stopped[0]
    private = [c for c in judged if c.load == "private" and c.side == worst.side and c.scales_to]
    assert worst.stops_after is not None
    rest = (
        SAYS.text("private", gain=f"{private[0].total_gain:.2g}")
        if private
        else SAYS.text("rest", count=len(stopped), all=len(judged))
    )
    return SAYS.finding(
        "stops",
        load=worst.name,
        beyond=units.count_noun(worst.stops_after, "worker"),
        waits=_waits_text(worst) or SAYS.text("spins"),
        rest=rest,
        subject=worst.side,
        severity="notice" if worst.serial else "warning",
        evidence=evidence,
        remedy=[SAYS.remedy(f"load-{load}") for load in dict.fromkeys(curve.load for curve in stopped)],
    )


def _waits_text(curve: ScalingCurve) -> str:
    if not curve.waits:
        return ""
    first = curve.waits[0]
    return SAYS.text("waits", place=first.place, what=first.what, share=first.share)


def _curve_evidence(curve: ScalingCurve, control: ScalingCurve) -> Evidence:
    waits = f"; {waits_text}" if (waits_text := _waits_text(curve)) else ""
    return SAYS.evidence(
        "curve",
        load=curve.name,
        answer=curve.answer_text,
        gain=f"{curve.total_gain:.2g}",
        most=curve.max_judged_workers,
        control=f"{control.speedup_at(curve.max_judged_workers):.2g}",
        waits=waits,
    )


def _usl_and_lock_evidence(curve: ScalingCurve) -> list[Evidence]:
    reasons: list[Evidence] = []
    if curve.usl is not None:
        contention, *rest = curve.usl.coefficient_texts
        coherence = f", coherence {rest[0]}" if rest else ""
        reasons.append(SAYS.evidence("usl", load=curve.name, contention=contention, coherence=coherence))
    if curve.waits and curve.waits[0].stack:
        stack = [name for name in curve.waits[0].stack if name not in PLUMBING]
        holder = " < ".join(curve.waits[0].holder)
        holder_text = f"; who had the lock before: {holder}" if holder else ""
        reasons.append(SAYS.evidence("stack", load=curve.name, stack=" < ".join(stack), holder=holder_text))
    return reasons
