"""Daemons of storage, clusters, schedulers and fabrics, and the words by which a line of their logs that no rule names
is worth a word.
"""

from functools import lru_cache
from typing import Literal

from hostdx.scenarios.contract.knowledge_file import KnowledgeEntry, load_entries

WordPattern = tuple[str, tuple[str, ...]]  # a pattern, with the words of which a matching line has one


class LoggedDaemon(KnowledgeEntry, frozen=True, forbid_unknown_fields=True):
    """`programs` as the system's log names them; `files` (paths with `*`) belong to the first of them.

    `least`: only where one line came at least so often, numbers apart: a daemon that speaks of its clients' faults.
    `lists_unknown`: whether lines that no rule or entry names are listed.
    """

    programs: tuple[str, ...]
    work: str
    source: str
    files: tuple[str, ...] = ()
    least: int = 0
    lists_unknown: bool = True


class DaemonLinePattern(KnowledgeEntry, frozen=True, forbid_unknown_fields=True):
    """`fault`: a line is taken up; `grave`: work waits, or a part is lost; `alone`: one such line is a warning;
    `over`: a later line that says that the fault has ended; `harmless`: it is not taken up, of `programs` only where
    some are given.
    """

    kind: Literal["fault", "grave", "alone", "over", "harmless"]
    pattern: str
    source: str
    programs: tuple[str, ...] = ()
    pattern_words: tuple[str, ...] = ()  # worked out: probes/reading/patterns.py


def logged_daemons() -> tuple[LoggedDaemon, ...]:
    return load_entries("daemons", "daemon", LoggedDaemon).entries


@lru_cache(maxsize=64)
def daemon_line_patterns(kind: str, program: str = "") -> tuple[WordPattern, ...]:
    entries = load_entries("daemons", "daemon_words", DaemonLinePattern).entries
    return tuple(
        (entry.pattern, entry.pattern_words)
        for entry in entries
        if entry.kind == kind and (not entry.programs or program in entry.programs)
    )
