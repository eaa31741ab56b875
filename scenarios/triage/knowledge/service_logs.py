"""Files of their own that daemons log to, beside the system's log."""

from functools import lru_cache

from hostdx.scenarios.contract.knowledge_file import KnowledgeEntry, load


class ServiceLog(KnowledgeEntry, frozen=True, forbid_unknown_fields=True):
    """`files`: paths, with `*`, that this program writes to."""

    program: str
    files: tuple[str, ...]
    source: str


@lru_cache(maxsize=1)
def files_by_program() -> dict[str, tuple[str, ...]]:
    """Return the files of each program that has some."""
    return {entry.program: entry.files for entry in load("service_logs", "service_log", ServiceLog).entries}
