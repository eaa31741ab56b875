"""What got worse since an earlier state of a host, as a finding: for a run with `--against` and for `checkup`."""

from probes.units import counted
from scenarios.compare.comparison import ComparedRecordings
from scenarios.compare.effects import Effect, named, size, sized
from scenarios.finding import Evidence, Finding
from scenarios.rules.texts import texts

SAYS = texts("compare")
MOST_LOADS = 12  # named in the evidence; `compare` has all of them


def worse(found: ComparedRecordings) -> tuple[Effect, ...]:
    """The loads that are slower on side B, the worst first; a control that lost among them."""
    return tuple(effect for effect in found.effects if effect.is_slower)


def finding(found: ComparedRecordings, baseline: str, recording: str) -> Finding:
    """`baseline` is the name under which side A was saved, `recording` the name of side B's.

    The finding's id is `storage.worse` for a run of storage.
    """
    lost, loads = worse(found), len(found.effects)
    id = f"{', '.join(found.b.scenarios)}.worse"
    command = f"hostdx compare --against {baseline} {recording}"
    rest = (*_better(found), *_changed(found))
    if not lost:
        seen = sum(effect.is_undecided for effect in found.effects)
        unsure = f" ({seen} inconclusive)" if seen else ""
        evidence = (_when(found, command), *rest)
        return SAYS.finding(
            "none-worse", id=id, loads=loads, baseline=baseline, unsure=unsure, evidence=evidence
        )
    named_lost = (
        SAYS.evidence("lost", load=named(one), size=sized(one), command=command) for one in lost[:MOST_LOADS]
    )
    return SAYS.finding(
        "worse",
        id=id,
        lost=len(lost),
        loads=loads,
        baseline=baseline,
        recording=recording,
        worst=named(lost[0]),
        size=size(lost[0]),
        evidence=(_when(found, command), *named_lost, *rest),
    )


def _when(found: ComparedRecordings, command: str) -> Evidence:
    hosts = "" if found.a.hosts == found.b.hosts else f" of {', '.join(found.a.hosts)} (another host)"
    day = found.a.last[:10] or "an unknown day"
    return SAYS.evidence("baseline", runs=counted(found.a.runs, "run"), hosts=hosts, day=day, command=command)


def _better(found: ComparedRecordings) -> tuple[Evidence, ...]:
    gained = [effect for effect in found.effects if effect.is_faster]
    if not gained:
        return ()
    return (SAYS.evidence("gained", count=len(gained), load=named(gained[-1]), size=size(gained[-1])),)


def _changed(found: ComparedRecordings) -> tuple[Evidence, ...]:
    """What of the recorded facts is another than in the baseline, by what a person can change."""
    attribution = found.fingerprints.attribution
    if not attribution.components:
        return ()
    several = "; this cannot be attributed to one of them" if attribution.word == "several" else ""
    return (SAYS.evidence("changed", what=", ".join(attribution.components), several=several),)
