"""Slab caches of the kernel that grow when something is wrong, and who owns them."""

from hostdx.probes.reading.patterns import matches_glob
from hostdx.scenarios.contract.knowledge_file import KnowledgeEntry, load_entries


class SlabOwner(KnowledgeEntry, frozen=True, forbid_unknown_fields=True):
    """`cause` is a sentence, `advice` a remedy's title; `names` are patterns, `*` for any letters."""

    names: tuple[str, ...]
    owner: str
    cause: str
    advice: str
    source: str


def slab_owner(name: str) -> SlabOwner | None:
    """None for a slab of nobody that is known."""
    entries = load_entries("slabs", "slab", SlabOwner).entries
    return next((entry for entry in entries if any(matches_glob(name, n) for n in entry.names)), None)
