"""What a load loads, how far runs of it usually lie apart, and the scores that are made of several."""

from fnmatch import fnmatchcase
from functools import lru_cache

import msgspec

from hostdx.scenarios.contract.knowledge_file import KnowledgeEntry, LoadedEntries, load_entries


class LoadGroup(KnowledgeEntry, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """`run_to_run`: standard deviation of a single run's result, as a share of it; `in_guest`: in a virtual machine."""

    name: str
    loads: tuple[str, ...]
    run_to_run: float
    in_guest: float | None = None
    sources: tuple[str, ...]

    def run_deviation(self, *, guest: bool) -> float:
        """Of a single run, as a share."""
        return self.in_guest if guest and self.in_guest is not None else self.run_to_run


class CompositeScore(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The geometric mean of `parts`, each the geometric mean of its loads. Only where every load is there.

    `scale`: what the mean in hostdx's units (B/s, operations a second) is divided by to give the score's own.
    """

    name: str
    parts: tuple[tuple[str, ...], ...]
    sources: tuple[str, ...]
    scale: float = 1.0


def list_load_groups() -> LoadedEntries[LoadGroup]:
    """A site's own first; our last one fits every load."""
    return load_entries("loads", "load_group", LoadGroup)


def list_scores() -> LoadedEntries[CompositeScore]:
    return load_entries("loads", "score", CompositeScore)


@lru_cache(maxsize=1024)
def load_group_of(workload: str) -> LoadGroup:
    """By a load's id, or by the group's own name."""
    groups = list_load_groups().entries
    named_group = next((g for g in groups if g.name == workload), None)
    return named_group or next(g for g in groups if any(fnmatchcase(workload, p) for p in g.loads))
