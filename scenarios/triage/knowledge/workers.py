"""Daemons with a limit of their own for threads or processes, and the setting that is this limit."""

from typing import Literal

from hostdx.scenarios.contract.knowledge_file import KnowledgeEntry, load_entries


class WorkerLimit(KnowledgeEntry, frozen=True, forbid_unknown_fields=True):
    """`limit`: a pattern on `files`, its first group the number. `usual`: where no file sets one; 0: not known.

    `effect`: what a daemon at its limit does; `advice` goes into the title of the remedy.
    """

    program: str
    of: Literal["threads", "processes"]
    files: tuple[str, ...]
    limit: str
    usual: int
    setting: str
    effect: str
    advice: str
    source: str


def worker_limits() -> tuple[WorkerLimit, ...]:
    return load_entries("workers", "worker_limit", WorkerLimit).entries
