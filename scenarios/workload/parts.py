"""The parts of a difference in wall time between two variants, and what was waited for, as they are recorded."""

from __future__ import annotations

import msgspec

from scenarios import ranges as of


class TimePart(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds of wall time a run: mean of either side, difference (variant - baseline) with its 95 % interval.

    `differs`: on logarithms, as waits have long tails, an interval that is adjusted for the number of all parts and
    waits does not hold 0. `unmoved`: the sum over all threads moved less than half as much: it takes another part of
    the wall time as less (or more) runs at once.
    """

    name: str
    baseline_s: of.Value
    variant_s: of.Value
    difference_s: of.Value
    ci95_s: tuple[of.Value, of.Value]
    differs: bool = False
    unmoved: bool = False


class BlockedOn(TimePart, frozen=True, kw_only=True):
    """What is known of the waits: `name` is what was waited for (`scenarios.where.waits`), `calls` those that did most.

    `hard`: it divides what was waited in state D; else the rest: asleep, while nothing of the command ran.
    """

    calls: tuple[str, ...]
    hard: bool


class Rate(msgspec.Struct, frozen=True, kw_only=True):
    """What the CPU's counters say of a run, as `TimePart` has it, in `unit`."""

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
    not sampled in every run. `faults`: page faults a run more (variant - baseline) where system CPU goes with them.
    """

    baseline: str
    variant: str
    groups: of.Number
    parts: tuple[TimePart, ...]
    unknown: tuple[str, ...]
    waits: tuple[BlockedOn, ...] = ()
    faults: of.Value | None = None
    rates: tuple[Rate, ...] = ()
