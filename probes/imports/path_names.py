"""What files are called beside each other: the part of their paths that differs."""

from collections.abc import Sequence
from pathlib import Path


def distinct_short_names(paths: Sequence[str]) -> list[str]:
    """Their last component where no two have the same one; else without the folders, and the ending, that all share.

    `a/1/result.txt`, `a/2/result.txt` → `1`, `2`; with `a/2/old.txt` → `1/result.txt`, `2/result.txt`, `2/old.txt`.
    """
    parts = [Path(path).absolute().parts for path in paths]
    if len({names[-1] for names in parts}) == len({tuple(names) for names in parts}):
        return [names[-1] for names in parts]
    head = _count_shared_beginning(parts)
    tail = _count_shared_beginning([names[head:][::-1] for names in parts])
    return ["/".join(names[head : len(names) - tail]) for names in parts]


def _count_shared_beginning(parts: Sequence[Sequence[str]]) -> int:
    """Return how many components all begin with; of each at least one is left."""
    count = 0
    most = min(len(names) for names in parts) - 1
    while count < most and len({names[count] for names in parts}) == 1:
        count += 1
    return count
