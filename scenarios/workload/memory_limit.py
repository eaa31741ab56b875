"""Whether a memory limit is the cause: what a run's group counted at its limit, beside the parts of the wall time.

Reclaim that a command does itself is its own system CPU, and so are the faults that bring back what was taken: the
largest part is then system CPU, which is no cause. The group's memory.events, memory.stat and PSI tell whose it is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec

from scenarios import events as ev
from scenarios.workload.arm import (
    ALL_WAIT,
    BLOCKED,
    HITS,
    MEMORY,
    OTHER_D,
    RECLAIMED,
    REFAULTED,
    SWAPPED_IN,
    SYSTEM,
    USER,
    WAITING,
    WALL,
)
from scenarios.workload.split import REST, Part, groups_of, steady

PAID_IN = (SYSTEM, BLOCKED, MEMORY, OTHER_D)  # what a limit is paid in
ELSEWHERE = (USER, WAITING, REST)
FAR_LESS = 0.1  # the other side meets a limit at most so often
STALLED = 0.1  # of the difference is stalls for memory at least: else it was met, and cheap (old page cache dropped)


class AtLimit(msgspec.Struct, frozen=True, kw_only=True):
    """`side` met its limit `hits` times a run, `other` `other_hits` times; bytes a run of `side`, None: not counted.

    `paid` is the difference (variant - baseline) in all parts that a limit is paid in; `named`: it is the cause of most
    of the difference, and the stalls say so.
    """

    side: str
    other: str
    hits: float
    other_hits: float
    reclaimed_bytes: float | None
    refaulted_bytes: float | None
    swapped_in_bytes: float | None
    all_wait_s: float | None
    paid: Part
    named: bool


def at_limit(blocks: Sequence[ev.Block], baseline: str, variant: str) -> AtLimit | None:
    """None where the slower side did not meet a limit in every run, or the other one met one nearly as often."""
    groups = groups_of(blocks, baseline, variant)
    if groups is None:
        return None
    whole = groups.part(baseline, variant, WALL)
    slow, fast = (variant, baseline) if whole.difference_s > 0 else (baseline, variant)
    runs = {
        side: [b.values for b in steady(blocks, baseline, variant) if b.variant == side]
        for side in (slow, fast)
    }
    if not all(HITS in run for side in runs.values() for run in side):
        return None
    hits, other_hits = (math.fsum(run[HITS] for run in runs[side]) / len(runs[side]) for side in (slow, fast))
    if not all(run[HITS] > 0 for run in runs[slow]) or other_hits > FAR_LESS * hits:
        return None

    def mean(name: str) -> float | None:
        found = [run[name] for run in runs[slow] if name in run]
        return math.fsum(found) / len(found) if len(found) == len(runs[slow]) else None

    paid = groups.part(baseline, variant, *(name for name in PAID_IN if name in groups.known))
    stalled = groups.part(baseline, variant, MEMORY) if MEMORY in groups.known else None
    sign = math.copysign(1.0, whole.difference_s)
    elsewhere = [groups.part(baseline, variant, n) for n in ELSEWHERE if n in groups.known or n == REST]
    named = (
        stalled is not None
        and sure(stalled, sign)
        and sure(paid, sign)
        and sign * stalled.difference_s >= STALLED * abs(whole.difference_s)
        and 2 * sign * paid.difference_s > abs(whole.difference_s)
        and all(sign * paid.difference_s > sign * part.difference_s for part in elsewhere)
    )
    return AtLimit(
        side=slow,
        other=fast,
        hits=hits,
        other_hits=other_hits,
        reclaimed_bytes=mean(RECLAIMED),
        refaulted_bytes=mean(REFAULTED),
        swapped_in_bytes=mean(SWAPPED_IN),
        all_wait_s=mean(ALL_WAIT),
        paid=paid,
        named=named,
    )


def sure(part: Part, sign: float) -> bool:
    """The whole interval lies on that side of 0."""
    return min(sign * end for end in part.ci95_s) > 0
