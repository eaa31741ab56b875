"""What differs between the two sides' fingerprints, ranked by what it is known to move, and what can be attributed."""

from collections.abc import Sequence
from typing import Literal

import msgspec

from hostdx.probes.types import Json
from hostdx.scenarios.analysis.compare.effects import Effect
from hostdx.scenarios.analysis.compare.run_summary import FactKey, RunSummary
from hostdx.scenarios.triage.knowledge.differences import (
    OTHER,
    are_within_tolerance,
    component_named,
    fact_influence_of,
    is_ignored_fact,
)

UNMOVED = 0.1  # what is known to move other loads than those that moved here counts so much of it
MAX_SHOWN_VALUES = 4  # of a side, shown
DEVICES = (
    "directory",
    "devices",
)  # kernel names of what the measured directory lies on, the disks among them
# Subjects that tell what was done, not what the host is.
OF_THE_RUN = frozenset({"run", "option", "variant", "job", "workload", "profile", "layer", "tool"})
# Subjects that tell where the measured files lay: with them, another disk that only one side has is no suspect.
PLACES = frozenset({"variant", "directory"})


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """One fact, or a whole subject that one side has and the other has not (`name` is empty then).

    `a` and `b` hold the values that the sides' runs had, none in common. `rank`: the larger, the likelier it matters.
    """

    subject: str
    name: str
    a: tuple[Json, ...]
    b: tuple[Json, ...]
    component: str
    rank: float
    moves: dict[str, float] = {}
    why: str = ""
    sources: tuple[str, ...] = ()


class ComponentExperiment(msgspec.Struct, frozen=True, kw_only=True):
    """What would change the component alone."""

    says: str
    command: str = ""


class Attribution(msgspec.Struct, frozen=True, kw_only=True):
    """`components` that differ, those that only go along with another left out. One: named. Several: nothing is."""

    word: Literal["nothing differs", "one", "several", "no fingerprint"]
    components: tuple[str, ...] = ()
    along: tuple[str, ...] = ()
    experiments: dict[str, ComponentExperiment] = {}  # by component


class Fingerprints(msgspec.Struct, frozen=True, kw_only=True):
    """`varying`: facts that differ within a side as well. `unknown`: read on one side only.

    `of_the_host`: how many of the facts that both sides have, the same or not, are the host's.
    """

    differences: tuple[Difference, ...]
    attribution: Attribution
    same: int = 0
    of_the_host: int = 0
    varying: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()


def compare_fingerprints(
    a: Sequence[RunSummary], b: Sequence[RunSummary], effects: Sequence[Effect]
) -> Fingerprints:
    """Every fact of the two sides, compared."""
    left, right = _spellings_by_fact(a), _spellings_by_fact(b)
    moved = {effect.group for effect in effects if effect.is_different}
    absent = {key for run in (*a, *b) for key in run.absent}
    kinds = [{_subject_kind(subject) for subject, _ in side} for side in (left, right)]
    subjects = [{subject for subject, _ in side} for side in (left, right)]
    differing: dict[FactKey, Difference] = {}
    devices = _measured_devices(left, right)
    varying: list[str] = []
    unknown: list[str] = []
    same = of_the_host = 0
    for key in sorted(left.keys() | right.keys()):
        subject, name = key
        text = f"{subject}/{name}"
        if is_ignored_fact(text):
            continue
        values_a, values_b = left.get(key, {}), right.get(key, {})
        if values_a and values_b:
            of_the_host += _subject_kind(subject) not in OF_THE_RUN
            is_same = values_a.keys() == values_b.keys() and len(values_a) == 1
            if is_same or are_within_tolerance(text, (*values_a, *values_b)):
                same += 1
            elif values_a.keys() & values_b.keys():
                varying.append(text)
            else:
                differing[key] = _fact_difference(key, values_a, values_b, moved, devices)
        elif key in absent or not all(_subject_kind(subject) in names for names in kinds):
            unknown.append(text)
        elif all(subject in names for names in subjects):
            differing[key] = _fact_difference(key, values_a, values_b, moved, devices)
        elif (subject, "") not in differing:
            there: dict[str, Json] = {"": True}
            differing[subject, ""] = _fact_difference(
                key,
                there if values_a else {},
                there if values_b else {},
                moved,
                devices,
                is_whole_subject=True,
            )
    ranked = sorted(differing.values(), key=lambda d: (-d.rank, d.subject, d.name))
    recorded = all(kinds_of - OF_THE_RUN for kinds_of in kinds)
    placed = all(names & PLACES for names in kinds)
    attribution = Attribution(word="no fingerprint")
    if recorded:
        attribution = _attribute_to_components([d for d in ranked if d.name or not placed])
    return Fingerprints(
        differences=tuple(ranked),
        attribution=attribution,
        same=same,
        of_the_host=of_the_host,
        varying=tuple(varying),
        unknown=tuple(unknown),
    )


def _subject_kind(subject: str) -> str:
    return subject.partition(":")[0]


def _spellings_by_fact(runs: Sequence[RunSummary]) -> dict[FactKey, dict[str, Json]]:
    """By fact: the values that it had, each under its spelling."""
    values_by_fact: dict[FactKey, dict[str, Json]] = {}
    for run in runs:
        for key, value in run.facts.items():
            values_by_fact.setdefault(key, {}).setdefault(str(value), value)
    return values_by_fact


def _measured_devices(*sides: dict[FactKey, dict[str, Json]]) -> frozenset[str] | None:
    """Return what the measured directories lie on, on either side; None where a side does not tell."""
    if not all(DEVICES in side for side in sides):
        return None
    lists = [value for side in sides for value in side[DEVICES].values()]
    return frozenset(str(name) for names in lists if isinstance(names, list) for name in names)


def _fact_difference(
    key: FactKey,
    a: dict[str, Json],
    b: dict[str, Json],
    moved: set[str],
    devices: frozenset[str] | None,
    *,
    is_whole_subject: bool = False,
) -> Difference:
    """`is_whole_subject`: one side has the subject and the other has not. What lies elsewhere moved nothing."""
    subject, name = key
    kind, _, which = subject.partition(":")
    elsewhere = devices is not None and (kind == "mount" or (kind in ("disk", "md") and which not in devices))
    # A setting or a vulnerability that one side's kernel does not know of was changed by nobody.
    unknown = not (a and b) and kind in ("sysctl", "mitigation")
    fact = "kernel/config_digest" if unknown else f"{subject}/{name}"
    mover = None if elsewhere else fact_influence_of(fact)
    moves = mover.moves if mover is not None else {}
    return Difference(
        subject=subject,
        name="" if is_whole_subject else name,
        a=tuple(a.values())[:MAX_SHOWN_VALUES],
        b=tuple(b.values())[:MAX_SHOWN_VALUES],
        component=mover.component if mover is not None else OTHER,
        rank=max((size * (1 if group in moved else UNMOVED) for group, size in moves.items()), default=0.0),
        moves=moves,
        why=mover.why if mover is not None else "",
        sources=mover.sources if mover is not None else (),
    )


def _attribute_to_components(ranked: Sequence[Difference]) -> Attribution:
    """Facts of which nothing is known that they move make no second change."""
    names = dict.fromkeys(d.component for d in ranked if d.component != OTHER)
    along: dict[str, None] = {}
    for name in names:
        component = component_named(name)
        along |= dict.fromkeys(other for other in (component.along if component else ()) if other in names)
    components = tuple(name for name in names if name not in along)
    if not components:
        return Attribution(word="nothing differs")
    known_components = [c for name in components if (c := component_named(name)) is not None]
    return Attribution(
        word="one" if len(components) == 1 else "several",
        components=components,
        along=tuple(along),
        experiments={c.name: ComponentExperiment(says=c.split, command=c.command) for c in known_components}
        if len(components) > 1
        else {},
    )
