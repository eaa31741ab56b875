"""Lines of the kernel's log that no rule names: which of them are worth a word, and which are harmless."""

from functools import lru_cache
from typing import Literal

from hostdx.scenarios.contract.knowledge_file import KnowledgeEntry, load_entries


class KernelLinePattern(KnowledgeEntry, frozen=True, forbid_unknown_fields=True):
    """Words by which a line is taken up (`late`: long after the start only), or by which it is grave."""

    kind: Literal["fault", "limit", "late", "grave"]
    pattern: str
    source: str
    pattern_words: tuple[str, ...] = ()  # worked out: probes/reading/patterns.py


class HarmlessKernelLine(KnowledgeEntry, frozen=True, forbid_unknown_fields=True):
    """Lines that say nothing of a fault."""

    pattern: str
    why: str
    source: str
    pattern_words: tuple[str, ...] = ()


@lru_cache(maxsize=1)
def harmless_line_patterns() -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return each pattern with the words of which a matching line has one."""
    entries = load_entries("kernel_lines", "harmless", HarmlessKernelLine).entries
    return tuple((entry.pattern, entry.pattern_words) for entry in entries)


def kernel_line_patterns(*kinds: str) -> list[tuple[str, tuple[str, ...]]]:
    """Return the patterns of these kinds, as `harmless_line_patterns` does."""
    return [
        (entry.pattern, entry.pattern_words)
        for entry in load_entries("kernel_lines", "words", KernelLinePattern).entries
        if entry.kind in kinds
    ]
