"""What a trim offers and what `fstrim -v` prints, by file system and kernel (trims.toml)."""

from hostdx.scenarios.contract.knowledge_file import KnowledgeEntry, load_entries
from hostdx.scenarios.triage.knowledge.kernels import release_numbers


class TrimBehaviour(KnowledgeEntry, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """For upstream kernels from `since` on and before `before`. `waits` is about how it goes on, `repeats` why the
    number can be the same at every trim; both where known."""

    file_systems: tuple[str, ...]
    memory: str
    says: str
    zero: str
    source: str
    since: str = ""
    before: str = ""
    waits: str = ""
    repeats: str = ""


def load_trim_behaviours() -> tuple[TrimBehaviour, ...]:
    return load_entries("trims", "trim", TrimBehaviour).entries


def trim_behaviour_of(fstype: str, release: str) -> TrimBehaviour | None:
    """None for a file system nothing is known about; an unreadable release counts as the newest."""
    own = release_numbers(release)[:2]
    for entry in load_trim_behaviours():
        if fstype not in entry.file_systems:
            continue
        if own and entry.since and own < release_numbers(entry.since):
            continue
        if own and entry.before and own >= release_numbers(entry.before):
            continue
        return entry
    return None
