"""Where the time went: the difference in wall time between two variants, part by part, each with its interval; and
whether a memory limit is the cause: what a run's group counted at its limit, beside these parts.

Reclaim that a command does itself is its own system CPU, and so are the faults that bring back what was taken: the
largest part is then system CPU, which is no cause. The group's memory.events, memory.stat and PSI tell whose it is.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import NamedTuple, TypeAlias

from msgspec.structs import asdict

from probes.bench.profile.symbols import Symbols
from probes.bench.run import perf_events, topdown
from scenarios import events as ev
from scenarios.experiment.statistics.stats import student_interval
from scenarios.where.call_paths import (
    MAX_NODES,
    GroupPaths,
    RunCalls,
    compare_call_paths,
    compare_seconds,
    seconds_by_path,
)
from scenarios.where.locks import lock_table, waits_by_lock
from scenarios.where.results import LockTable, PathTree
from scenarios.where.waits import UNSEEN, Waited, longest_calls
from scenarios.workload.difference import REST
from scenarios.workload.parts import BlockedOn, Rate, Split, TimePart
from scenarios.workload.results import AtLimit
from scenarios.workload.variant_bench import (
    ALL_WAIT,
    BLOCKED,
    HITS,
    LOOKS,
    MEMORY,
    MINOR_FAULTS,
    MUTEX,
    OTHER_D,
    OWN_RECLAIM,
    QUOTA,
    RECLAIMED,
    REFAULTED,
    SWAPPED_IN,
    SYSTEM,
    USER,
    WAITING,
    WALL,
    CommandVariantBench,
)

Waits: TypeAlias = Mapping[tuple[str, float], Sequence[Waited]]
PARTS = (USER, SYSTEM, WAITING, QUOTA, MUTEX, BLOCKED, MEMORY, OTHER_D)
INSTRUCTIONS, PER_CYCLE = "instructions", "instructions per cycle"
CACHE, BRANCH = "last-level cache misses", "branch misses"
RATES = {INSTRUCTIONS: "", PER_CYCLE: "", CACHE: "per 1000 instructions", BRANCH: "per 1000 instructions"}
RATES |= dict.fromkeys(topdown.SHARES, "of the slots")
LEAST_S = 1e-9  # the clock's own step: less is what the division leaves of nothing
PAID_IN = (SYSTEM, BLOCKED, MEMORY, OTHER_D)  # what a limit is paid in
ELSEWHERE = (USER, WAITING, QUOTA, MUTEX, REST)
FAR_LESS = 0.1  # the other side meets a limit at most so often
FAULT_S = 1e-5  # of system CPU a page fault takes at most (0.3 to 4 µs; more in virtual machines that get a page anew)
LEAST_WAIT = 0.002  # of the wall time of a run
MOST_WAITS = 12
STALLED = 0.1  # of the difference is stalls for memory at least: else it was met, and cheap (old page cache dropped)


def rates(values: Mapping[str, float]) -> dict[str, float]:
    """One run's, by the names in RATES; empty where the CPU's counters are missing."""
    found = {name: values[name] for name in topdown.SHARES if name in values}
    cycles, instructions = values.get(perf_events.CYCLES), values.get(perf_events.INSTRUCTIONS)
    if instructions:
        found[INSTRUCTIONS] = instructions
        if cycles:
            found[PER_CYCLE] = instructions / cycles
        for name, event in ((CACHE, perf_events.CACHE_MISSES), (BRANCH, perf_events.BRANCH_MISSES)):
            if event in values:
                found[name] = 1000 * values[event] / instructions
    return found


def divided(values: Mapping[str, float], known: Sequence[str]) -> dict[str, float]:
    """One run's wall time in its parts. They are sums over threads: where several work or wait at once, and the sums
    are more than the wall time, each second of it is divided in the proportion of the sums, and nothing is left over.
    Reclaim of its own is system CPU by the kernel's account (it seldom sleeps): where it is known it counts once.
    """
    wall = values[WALL]
    parts = {name: values[name] for name in known}
    if SYSTEM in parts and MEMORY in parts:
        parts[SYSTEM] = max(0.0, parts[SYSTEM] - values.get(OWN_RECLAIM, 0.0))
    total = math.fsum(parts.values())
    scale = wall / total if total > wall else 1.0
    parts = {name: value * scale for name, value in parts.items()}
    rest = wall - math.fsum(parts.values())
    sums = {_sum(name): values[name] for name in (USER, SYSTEM) if name in parts}
    return {WALL: wall, **parts, REST: rest if rest > LEAST_S else 0.0, **sums}


def _sum(name: str) -> str:
    """Of a part, over all threads."""
    return f"sum {name}"


def blocked(parts: Mapping[str, float], waits: Sequence[Waited]) -> dict[str, float]:
    """One run's waits in seconds of its wall time, by their keys; they divide what is known of its parts, no more."""
    totals = {
        True: math.fsum(parts.get(name, 0.0) for name in (BLOCKED, OTHER_D)),
        False: parts[REST],
    }
    found: dict[str, float] = {}
    for hard, total in totals.items():
        weights = {
            w.cause_id: w.thread_s if hard else w.alone_s
            for w in waits
            if w.hard == hard and w.cause_id != MUTEX
        }
        whole = math.fsum(weights.values())
        if not hard and WAITING not in parts:  # the rest holds what waited for a CPU: not theirs to divide
            found[_key(UNSEEN, hard)] = max(0.0, total - whole)
            total = min(total, whole)
        for what, weight in weights.items():
            if weight > 0:
                found[_key(what, hard)] = total * weight / whole
    return found


def _key(what: str, hard: bool) -> str:
    return f"{'D' if hard else 'S'} {what}"


class Groups(NamedTuple):
    """Groups that count, with every run of either side divided; `known` parts are in all of them.

    `calls` of each wait, by its key, with thread seconds of all runs; empty where some run's waits are not known.
    """

    known: list[str]
    runs: list[dict[str, list[dict[str, float]]]]
    calls: dict[str, dict[str, float]]

    @property
    def lines(self) -> int:
        """Intervals that stand beside each other."""
        rates = sum(name in RATES for name in self.runs[0][next(iter(self.runs[0]))][0])
        return len(self.known) + 1 + len(self.calls) + rates

    def part(self, baseline: str, variant: str, *names: str) -> TimePart:
        """These parts together."""
        one, other = (
            [
                fmean([math.fsum(run.get(name, 0.0) for name in names) for run in sides[side]])
                for sides in self.runs
            ]
            for side in (baseline, variant)
        )
        found = asdict(compare_seconds(one, other, 1))
        found["differs"] = self._differs(one, other, names[0] if names[0] in RATES else WALL)
        unmoved = False
        if names in ((USER,), (SYSTEM,)):
            moved_s = self.part(baseline, variant, _sum(names[0])).difference_s
            unmoved = abs(moved_s) < 0.5 * abs(found["difference_s"])
        return TimePart(**found, name=", ".join(names), unmoved=unmoved)

    def _differs(self, one: Sequence[float], other: Sequence[float], of: str = WALL) -> bool:
        """Beside LEAST_WAIT of a run: what is smaller is no ratio."""
        whole = [run[of] for sides in self.runs for runs in sides.values() for run in runs]
        least = LEAST_WAIT * max(whole, default=1.0) or 1.0
        ratios = [math.log((b + least) / (a + least)) for a, b in zip(one, other, strict=True)]
        wide = student_interval(ratios, 0.05 / self.lines)
        return not wide.low <= 0 <= wide.high

    def rates(self, baseline: str, variant: str) -> tuple[Rate, ...]:
        """Those that every run has."""
        runs = [run for sides in self.runs for runs in sides.values() for run in runs]
        found = []
        for name, unit in RATES.items():
            if all(name in run for run in runs):
                part = asdict(self.part(baseline, variant, name))
                found.append(
                    Rate(
                        **{key.removesuffix("_s"): value for key, value in part.items() if key != "unmoved"}, unit=unit
                    )
                )  # fmt: skip
        return tuple(found)

    def waits(self, baseline: str, variant: str) -> tuple[BlockedOn, ...]:
        """The largest difference first; small ones on both sides are left out."""
        found = []
        for key, calls in self.calls.items():
            part = self.part(baseline, variant, key)
            fields = asdict(part) | {"name": key[2:]}
            found.append(BlockedOn(**fields, calls=longest_calls(calls), hard=key.startswith("D")))
        whole = self.part(baseline, variant, WALL)
        least = LEAST_WAIT * max(whole.baseline_s, whole.variant_s)
        shown = [wait for wait in found if max(wait.baseline_s, wait.variant_s) >= least]
        return tuple(sorted(shown, key=lambda wait: -abs(wait.difference_s))[:MOST_WAITS])


def steady(blocks: Sequence[ev.Block], baseline: str, variant: str) -> list[ev.Block]:
    """The runs of the two that count and were measured."""
    return [
        b for b in blocks if b.variant in (baseline, variant) and b.phase == "steady" and WALL in b.values
    ]


def groups_of(
    blocks: Sequence[ev.Block], baseline: str, variant: str, waits: Waits | None = None
) -> Groups | None:
    """None with fewer than 2. A part that is missing in one run is not known."""
    waits = waits or {}
    both = steady(blocks, baseline, variant)
    known = [name for name in PARTS if all(name in b.values for b in both)]
    told = all((b.variant, b.values[WALL]) in waits for b in both)
    groups: dict[int, dict[str, list[dict[str, float]]]] = {}
    calls: dict[str, dict[str, float]] = {}
    for block in both:
        sides = groups.setdefault(block.group, {baseline: [], variant: []})
        run = divided(block.values, known)
        own = waits[block.variant, block.values[WALL]] if told else ()
        counts = rates(block.values)
        counts |= {name: block.values[name] for name in (MINOR_FAULTS,) if name in block.values}
        sides[block.variant].append({**run, **blocked(run, own), **counts})
        for wait in own if told else ():
            if wait.cause_id == MUTEX:  # it is a part of its own
                continue
            sums = calls.setdefault(_key(wait.cause_id, wait.hard), {})
            for name, seconds in wait.calls.items():
                sums[name] = sums.get(name, 0.0) + seconds
    if told and WAITING not in known:
        calls[_key(UNSEEN, False)] = {}
    whole = [sides for sides in groups.values() if all(sides.values())]
    return Groups(known, whole, calls) if len(whole) >= 2 else None


def split(
    blocks: Sequence[ev.Block], baseline: str, variant: str, waits: Waits | None = None
) -> Split | None:
    """Over the groups that count; None with fewer than 2. `waits` of each run, by its variant and wall time."""
    groups = groups_of(blocks, baseline, variant, waits)
    if groups is None:
        return None
    return Split(
        baseline=baseline,
        variant=variant,
        groups=len(groups.runs),
        parts=tuple(groups.part(baseline, variant, name) for name in (WALL, *groups.known, REST)),
        unknown=tuple(name for name in PARTS if name not in (*groups.known, QUOTA, MUTEX)),
        waits=groups.waits(baseline, variant),
        faults=_faults(groups, baseline, variant),
        rates=groups.rates(baseline, variant),
        looks=fmean(looks) if (looks := [b.values[LOOKS] for b in blocks if LOOKS in b.values]) else None,
    )


def _faults(groups: Groups, baseline: str, variant: str) -> float | None:
    """More (or fewer) page faults a run where they are as many as the difference in system CPU takes; else None."""
    if SYSTEM not in groups.known:
        return None
    faults, system = (groups.part(baseline, variant, name) for name in (MINOR_FAULTS, SYSTEM))
    enough = faults.difference_s * FAULT_S / system.difference_s >= 1 if system.difference_s else False
    return faults.difference_s if faults.differs and system.differs and enough else None


class Profiles(NamedTuple):
    """`groups` in which every run of the two has call chains, of either side."""

    pair: tuple[str, str]
    groups: list[tuple[list[RunCalls], list[RunCalls]]]

    @property
    def runs(self) -> list[RunCalls]:
        return [run for sides in self.groups for side in sides for run in side]

    def tree(self, symbols: Symbols, pairs: int) -> PathTree | None:
        """None with fewer than 2 groups."""
        groups = [
            GroupPaths(*([seconds_by_path(run, symbols) for run in side] for side in sides))
            for sides in self.groups
        ]
        return compare_call_paths(
            *self.pair, groups, [run.calls for run in self.runs], MAX_NODES // max(1, pairs)
        )

    def locks(self, symbols: Symbols) -> LockTable | None:
        """None with fewer than 2 groups, or where a run has none."""
        if any(run.locks is None for run in self.runs):
            return None
        one, other = (
            [[waits_by_lock(run.locks, symbols) for run in sides[n] if run.locks] for sides in self.groups]
            for n in (0, 1)
        )
        lost = sum(run.locks.lost for run in self.runs if run.locks)
        return lock_table(*self.pair, list(zip(one, other, strict=True)), lost)


def profiles(
    blocks: Sequence[ev.Block], benches: Sequence[CommandVariantBench], pair: tuple[str, str]
) -> Profiles:
    runs: dict[int, dict[str, list[RunCalls | None]]] = {}
    chains = {bench.variant: bench.chains for bench in benches}
    for block in steady(blocks, *pair):
        sides = runs.setdefault(block.group, {name: [] for name in pair})
        sides[block.variant].append(chains[block.variant].get(block.values[WALL]))
    baseline, variant = pair
    whole = [
        ([run for run in sides[baseline] if run], [run for run in sides[variant] if run])
        for sides in runs.values()
        if all(sides[name] and None not in sides[name] for name in pair)
    ]
    return Profiles(pair, whole)


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


def sure(part: TimePart, sign: float) -> bool:
    """The whole interval lies on that side of 0."""
    return min(sign * end for end in part.ci95_s) > 0
