"""The parts of a difference in wall time between two variants, and what was waited for, as they are recorded."""

from __future__ import annotations

import msgspec

from hostdx.scenarios.analysis.profile.results import ComparedSeconds
from hostdx.scenarios.contract import ranges as of


class TimePart(ComparedSeconds, frozen=True, kw_only=True):
    """Of the wall time. `differs`: on logarithms, as waits have long tails. `unmoved`: the sum over all threads moved
    less than half as much: it takes another part of the wall time as less (or more) runs at once.
    """

    name: str
    unmoved: bool = False


class BlockedOn(TimePart, frozen=True, kw_only=True):
    """What is known of the waits: `name` is what was waited for (`waits`), `calls` those that did most.

    `hard`: it divides what was waited in state D; else the rest: asleep, while nothing of the command ran.
    """

    calls: tuple[str, ...]
    hard: bool


class CounterRate(msgspec.Struct, frozen=True, kw_only=True):
    """What the CPU's counters say of a run, as `ComparedSeconds` has it, in `unit` in place of seconds."""

    name: str
    unit: str
    baseline: of.Value
    variant: of.Value
    difference: of.Value
    ci95: tuple[of.Value, of.Value]
    differs: bool


class Split(msgspec.Struct, frozen=True, kw_only=True):
    """`parts`: the whole (`wall`) first, then those that are known and the rest. `unknown`: not told from the rest.

    `waits` divide block I/O, other waits and the rest by samples, the largest difference first; none where they were
    not sampled in every run; `looks`: samples a run, the mean of both sides. `faults`: page faults a run more (variant
    - baseline) where system CPU goes with them.
    """

    baseline: str
    variant: str
    groups: of.Number
    parts: tuple[TimePart, ...]
    unknown: tuple[str, ...]
    waits: tuple[BlockedOn, ...] = ()
    faults: of.Value | None = None
    rates: tuple[CounterRate, ...] = ()
    looks: of.Value | None = None
