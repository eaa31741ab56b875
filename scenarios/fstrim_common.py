"""How much of the load's ups and downs the reference shares: so much of it is divided out, and no more.

A reference on the same noisy host takes the host's part out; one that wanders by itself would only add its own noise.
In an emulated guest, whose reads scattered by a factor of two, plain division hid a loss of 4 % a round.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import pairwise

Steps = list[tuple[float, float]]  # from one to the next: of the load, of the reference; logarithms


def steps(values: Sequence[float], references: Sequence[float], skipped: Iterable[int] = ()) -> Steps:
    """Without those that end at `skipped`, where something else happened; a trend hardly shows in them."""
    left_out = frozenset(skipped)
    pairs = list(zip(values, references, strict=True))
    if any(not (v > 0 and r > 0 and math.isfinite(v) and math.isfinite(r)) for v, r in pairs):
        return []
    logs = [(math.log(v), math.log(r)) for v, r in pairs]
    return [(b[0] - a[0], b[1] - a[1]) for i, (a, b) in enumerate(pairwise(logs), 1) if i not in left_out]


def shared(moves: Steps) -> float:
    """0 (nothing in common) to 1 (all of it): the slope of the load's steps on the reference's."""
    if len(moves) < 2:
        return 1.0
    middle = [math.fsum(column) / len(moves) for column in zip(*moves, strict=True)]
    both = math.fsum((v - middle[0]) * (r - middle[1]) for v, r in moves)
    own = math.fsum((r - middle[1]) ** 2 for _, r in moves)
    return min(1.0, max(0.0, both / own)) if own > 0 else 0.0


def weakened(references: Sequence[float], share: float) -> list[float]:
    """The reference as far as it is shared: to be divided by."""
    return [r**share if r > 0 and math.isfinite(r) else r for r in references]
