"""What got worse since an earlier state of a host, as a finding: for a run with `--against` and for `checkup`."""

from __future__ import annotations

from probes.units import counted
from scenarios.compare.comparison import ComparedRecordings
from scenarios.compare.effects import Effect, named, size, sized
from scenarios.finding import Evidence, Finding, Remedy

MOST_LOADS = 12  # named in the evidence; `compare` has all of them


def worse(found: ComparedRecordings) -> tuple[Effect, ...]:
    """The loads that are slower on side B, the worst first; a control that lost among them."""
    return tuple(effect for effect in found.effects if effect.slower)


def finding(found: ComparedRecordings, baseline: str, recording: str) -> Finding:
    """`baseline` is the name under which side A was saved, `recording` the name of side B's.

    The finding's id is `storage.worse` for a run of storage.
    """
    lost = worse(found)
    id = f"{', '.join(found.b.scenarios)}.worse"
    command = f"hostdx compare --against {baseline} {recording}"
    if not lost:
        seen = sum(effect.undecided for effect in found.effects)
        unsure = f" ({seen} inconclusive)" if seen else ""
        return Finding(
            id=id,
            severity="ok",
            confidence="measured",
            title=f"none of {len(found.effects)} loads is slower than in the baseline {baseline}{unsure}",
            evidence=(Evidence(_when(found), command), *_better(found), *_changed(found)),
        )
    first = lost[0]
    return Finding(
        id=id,
        severity="warning",
        confidence="measured",
        title=f"{len(lost)} of {len(found.effects)} loads are slower than in the baseline {baseline}, "
        f"most of all {named(first)} ({size(first)})",
        evidence=(
            Evidence(_when(found), command),
            *(Evidence(f"{named(effect)}: {sized(effect)}", command) for effect in lost[:MOST_LOADS]),
            *_better(found),
            *_changed(found),
        ),
        remedy=(Remedy(title="Show every load and every difference", commands=(command,)),),
    )


def _when(found: ComparedRecordings) -> str:
    runs = counted(found.a.runs, "run")
    hosts = "" if found.a.hosts == found.b.hosts else f" of {', '.join(found.a.hosts)} (another host)"
    return f"the baseline has {runs}{hosts}, the last of {found.a.last[:10] or 'an unknown day'}"


def _better(found: ComparedRecordings) -> tuple[Evidence, ...]:
    gained = [effect for effect in found.effects if effect.faster]
    if not gained:
        return ()
    return (Evidence(f"faster: {len(gained)}, most of all {named(gained[-1])} ({size(gained[-1])})"),)


def _changed(found: ComparedRecordings) -> tuple[Evidence, ...]:
    """What of the recorded facts is another than in the baseline, by what a person can change."""
    attribution = found.fingerprints.attribution
    if not attribution.components:
        return ()
    several = "; this cannot be attributed to one of them" if attribution.word == "several" else ""
    return (Evidence(f"changed since: {', '.join(attribution.components)}{several}"),)
