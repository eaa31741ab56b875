"""How many operations a worker finished in each step of a block: where it paused shows there. Standard library only."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate, pairwise, zip_longest

STEP_NS = 2_000_000


def completions_by_step(parts: Sequence[tuple[int, array[int]]]) -> list[int]:
    """By step of STEP_NS since the start. `parts`: what each took in ns, and its operations' latencies in their order.

    What lies between the operations (our own time) is spread over them evenly.
    """
    ends: list[float] = []
    began = 0
    for ns, latencies in parts:
        longer = ns / max(1, sum(latencies))
        ends += [began + end * longer for end in accumulate(latencies)]
        began += ns
    edges = range(0, began + STEP_NS, STEP_NS)
    places = [bisect_left(ends, edge) for edge in edges[:-1]] + [len(ends)]
    return [last - first for first, last in pairwise(places)]


def sum_steps_of_workers(workers: Sequence[Sequence[int]]) -> list[int]:
    """Of all workers that began at the same moment."""
    return [sum(step) for step in zip_longest(*workers, fillvalue=0)]
