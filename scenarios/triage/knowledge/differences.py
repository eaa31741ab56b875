"""What a difference between two fingerprints is known to move, and the experiment that would change it alone."""

from collections.abc import Iterable
from fnmatch import fnmatchcase
from functools import lru_cache

import msgspec

from hostdx.scenarios.contract.knowledge_file import KnowledgeEntry, LoadedEntries, load_entries

OTHER = "other"  # the component of a fact that nobody knows anything about


class ChangeableComponent(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What can be changed alone, by the experiment `split`. `along`: what changes with it and is no second change."""

    name: str
    split: str
    command: str = ""
    along: tuple[str, ...] = msgspec.field(name="with", default=())


class FactInfluence(KnowledgeEntry, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """`facts`: patterns of "subject/name". `moves`: by group of loads, the largest share that was seen."""

    facts: tuple[str, ...]
    component: str
    why: str
    sources: tuple[str, ...]
    moves: dict[str, float] = {}

    def fits_fact(self, fact: str) -> bool:
        return fits_any(self.facts, fact)


class IgnoredFacts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    facts: tuple[str, ...]


class FactTolerance(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Numbers that count as the same within `share`."""

    facts: tuple[str, ...]
    share: float


def load_components() -> LoadedEntries[ChangeableComponent]:
    return load_entries("differences", "component", ChangeableComponent)


def load_fact_influences() -> LoadedEntries[FactInfluence]:
    return load_entries("differences", "difference", FactInfluence)


@lru_cache(maxsize=1)
def _ignored_patterns() -> tuple[str, ...]:
    return tuple(
        p for entry in load_entries("differences", "ignored", IgnoredFacts).entries for p in entry.facts
    )


def fact_influence_of(fact: str) -> FactInfluence | None:
    """The first entry, a site's own before ours; None where nothing is known."""
    return next((m for m in load_fact_influences().entries if m.fits_fact(fact)), None)


def is_ignored_fact(fact: str) -> bool:
    return fits_any(_ignored_patterns(), fact)


@lru_cache(maxsize=1)
def _fact_tolerances() -> tuple[FactTolerance, ...]:
    return tuple(load_entries("differences", "rounded", FactTolerance).entries)


def are_within_tolerance(fact: str, values: Iterable[object]) -> bool:
    """True where these are numbers that the kernel reckons from others, the same within the known share of this fact;
    False for most facts.
    """
    share = next((entry.share for entry in _fact_tolerances() if fits_any(entry.facts, fact)), 0.0)
    if not share:
        return False
    try:
        numbers = [float(str(value)) for value in values]
    except ValueError:
        return False
    return max(numbers) - min(numbers) <= share * abs(max(numbers))


def fits_any(patterns: Iterable[str], fact: str) -> bool:
    return any(fnmatchcase(fact, pattern) for pattern in patterns)


def component_named(name: str) -> ChangeableComponent | None:
    return next((c for c in load_components().entries if c.name == name), None)


class DifferencePattern(KnowledgeEntry, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What the groups of loads say together."""

    slower: tuple[str, ...]
    equal: tuple[str, ...]
    says: str
    components: tuple[str, ...]
    sources: tuple[str, ...]


def load_difference_patterns() -> LoadedEntries[DifferencePattern]:
    return load_entries("differences", "pattern", DifferencePattern)
