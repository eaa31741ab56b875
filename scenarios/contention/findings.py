"""What the curves come to: what does not scale, in what it waits, and what to do."""

from collections.abc import Sequence

from probes import units
from scenarios.contention.plan import CONTROL
from scenarios.contention.results import Curve
from scenarios.finding import Evidence, Finding
from scenarios.rules.texts import texts
from scenarios.where.call_paths import PLUMBING

SAYS = texts("contention")


def findings(curves: Sequence[Curve], *, memory: bool, longer: str) -> list[Finding]:
    """One, which answers the question where anything was decided. `longer`: the command of a longer run."""
    judged = [curve for curve in curves if curve.load != CONTROL]
    stopped = worst_first([curve for curve in judged if curve.stops_after is not None])
    most = curves[0].steps[-1].workers
    whole = [curve for curve in judged if curve.scales_to == most]
    control = next((curve for curve in curves if curve.load == CONTROL), curves[0])
    evidence = [_curve(curve, control) for curve in (*stopped, *(c for c in judged if c not in stopped))]
    evidence += [line for curve in stopped for line in _why(curve)]
    if memory:
        evidence.append(SAYS.evidence("memory"))
    if stopped:
        return [_stops(stopped, judged, evidence)]
    if len(whole) == len(judged):
        gains = sorted(curve.gain for curve in whole)
        least, greatest = f"{gains[0]:.2g}", f"{gains[-1]:.2g}"
        return [SAYS.finding("scales", most=most, least=least, greatest=greatest, evidence=evidence)]
    rest = [curve for curve in judged if curve not in whole]
    reason = next((step.reason for curve in rest for step in curve.steps if step.reason), "not decided")
    return [
        SAYS.finding(
            "open", count=len(rest), all=len(judged), reason=reason, evidence=evidence, longer=longer
        )
    ]


def worst_first(stopped: Sequence[Curve]) -> list[Curve]:
    """What the kernel serialises by design comes last: it is so on every host."""
    return sorted(stopped, key=lambda curve: (curve.serial, curve.gain))


def _stops(stopped: Sequence[Curve], judged: Sequence[Curve], evidence: Sequence[Evidence]) -> Finding:
    worst = stopped[0]
    private = [c for c in judged if c.load == "private" and c.side == worst.side and c.scales_to]
    assert worst.stops_after is not None
    rest = (
        SAYS.text("private", gain=f"{private[0].gain:.2g}")
        if private
        else SAYS.text("rest", count=len(stopped), all=len(judged))
    )
    return SAYS.finding(
        "stops",
        load=worst.name,
        beyond=units.counted(worst.stops_after, "worker"),
        waits=_waits(worst) or SAYS.text("spins"),
        rest=rest,
        subject=worst.side,
        severity="notice" if worst.serial else "warning",
        evidence=evidence,
        remedy=[SAYS.remedy(f"load-{load}") for load in dict.fromkeys(curve.load for curve in stopped)],
    )


def _waits(curve: Curve) -> str:
    if not curve.waits:
        return ""
    first = curve.waits[0]
    return SAYS.text("waits", place=first.place, what=first.what, share=first.share)


def _curve(curve: Curve, control: Curve) -> Evidence:
    waits = f"; {told}" if (told := _waits(curve)) else ""
    return SAYS.evidence(
        "curve", load=curve.name, answer=curve.answer, gain=f"{curve.gain:.2g}", most=curve.judged,
        control=f"{control.at(curve.judged):.2g}", waits=waits,
    )  # fmt: skip


def _why(curve: Curve) -> list[Evidence]:
    found: list[Evidence] = []
    if curve.usl is not None:
        contention, *rest = curve.usl.words
        coherence = f", coherence {rest[0]}" if rest else ""
        found.append(SAYS.evidence("usl", load=curve.name, contention=contention, coherence=coherence))
    if curve.waits and curve.waits[0].stack:
        stack = [name for name in curve.waits[0].stack if name not in PLUMBING]
        holder = " < ".join(curve.waits[0].holder)
        taken = f"; who had the lock before: {holder}" if holder else ""
        found.append(SAYS.evidence("stack", load=curve.name, stack=" < ".join(stack), holder=taken))
    return found
